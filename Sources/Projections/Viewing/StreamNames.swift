package import EventLog
package import EventModel
internal import Platform
package import SchemaEvolution

/// The names of streams by id, also as they are at other versions. Caches names, up to a limit and until a cut, after which an id may
/// belong to another stream. Used by one thread.
package final class StreamNames {
    fileprivate struct Stored: Sendable {
        var name: StreamName
        /// The birth version of the stream's first event, which determines the form of the name.
        var born: SchemaVersion
    }

    private struct Shown: Hashable {
        var stream: UInt64
        var version: SchemaVersion
    }

    private let log: EventLog
    private let history: History
    private let rekeys: Bool
    private var epoch = Epoch.first
    private var stored: [UInt64: Stored] = [:]
    private var last: (stream: UInt64, stored: Stored)?
    private var shown: [Shown: StreamName] = [:]
    /// The renaming between the versions that were used last.
    private var renaming: (from: SchemaVersion, to: SchemaVersion, names: StreamRenaming)?
    private let shared: SharedStreamNames?
    private static let keptMax = 1 << 18

    /// - Parameter shared: a cache of names that is shared with other readers of the log.
    package init(_ log: EventLog, _ history: History, sharing shared: SharedStreamNames? = nil) {
        (self.log, self.history, self.shared) = (log, history, shared)
        rekeys = history.rekeysStreams
    }

    /// The name of an event's stream at a version.
    /// - Parameter reader: lends the event.
    /// - Throws: `EvstoreError.noImage` if a rekey can't convert the name.
    package func name(of record: borrowing RecordView, at version: SchemaVersion, _ reader: borrowing LogReader) throws -> StreamName {
        if reader.last.epoch != epoch {
            removeAll()
            epoch = reader.last.epoch
        }
        let stored = try stored(record, reader)
        guard rekeys, stored.born != version else { return stored.name }
        let renaming = renaming(from: stored.born, to: version)
        if renaming.isEmpty { return stored.name }
        let key = Shown(stream: record.streamID, version: version)
        if let known = shown[key] { return known }
        let name: StreamName
        do { name = try renaming.name(of: stored.name) } catch EvstoreError.noImage(var failure) {
            (failure.type, failure.born, failure.position) = (log.name(ofType: record.type), record.born, record.position)
            throw EvstoreError.noImage(failure)
        }
        if shown.count >= Self.keptMax { shown.removeAll(keepingCapacity: true) }
        shown[key] = name
        return name
    }

    private func renaming(from: SchemaVersion, to: SchemaVersion) -> StreamRenaming {
        if let renaming, renaming.from == from, renaming.to == to { return renaming.names }
        let names = history.renaming(from: from, to: to)
        renaming = (from, to, names)
        return names
    }

    func removeAll() { (last, stored, shown) = (nil, [:], [:]) }

    private func stored(_ record: borrowing RecordView, _ reader: borrowing LogReader) throws -> Stored {
        let id = record.streamID
        if let last, last.stream == id { return last.stored }
        let found = try find(record, id, reader)
        last = (id, found)
        return found
    }

    private func find(_ record: borrowing RecordView, _ id: UInt64, _ reader: borrowing LogReader) throws -> Stored {
        if let known = stored[id] { return known }
        let found: Stored
        if let name = record.streamName {
            found = Stored(name: name, born: record.born)
            shared?.add(found, id, epoch)
        } else if let known = shared?.name(id, epoch) {
            found = known
        } else {
            let name = try reader.name(ofStream: id)
            found = Stored(name: name, born: rekeys ? try reader.birth(ofStream: id) : SchemaVersion(0))
            shared?.add(found, id, epoch)
        }
        if stored.count >= Self.keptMax { stored.removeAll(keepingCapacity: true) }
        stored[id] = found
        return found
    }
}

/// The names that the threads of one build or query have found, in the latest epoch. Looking up a name in the log takes as long as writing
/// ten events, since its block is verified.
package final class SharedStreamNames: Sendable {
    private let state = Monitor<(epoch: Epoch, names: [UInt64: StreamNames.Stored])>((.first, [:]))
    private static let keptMax = 1 << 19

    package init() {}

    fileprivate func name(_ stream: UInt64, _ epoch: Epoch) -> StreamNames.Stored? {
        state.withLock { $0.epoch == epoch ? $0.names[stream] : nil }
    }

    fileprivate func add(_ name: StreamNames.Stored, _ stream: UInt64, _ epoch: Epoch) {
        state.withLock { state in
            // A thread may still use a read that began before the cut.
            if epoch < state.epoch { return }
            if epoch > state.epoch || state.names.count >= Self.keptMax { state.names.removeAll(keepingCapacity: true) }
            state.epoch = epoch
            state.names[stream] = name
        }
    }
}

extension History {
    /// The name under which the log stores the stream that has this name at a version, newest form first; nil if there is no such stream.
    package func storedName(of stream: StreamName, at version: SchemaVersion, _ reader: borrowing LogReader) throws -> StreamName? {
        guard rekeysStreams else { return stream }
        for spelling in spellings(of: stream, at: version) {
            guard let born = try reader.birth(ofStream: spelling.name) else { continue }
            if spelling.versions.contains(born) { return spelling.name }
        }
        return nil
    }
}
