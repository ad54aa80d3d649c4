internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// An append whose streams have the names that the log holds them by.
struct ResolvedAppend {
    var events: [StoredEvent]
    var conditions: [StreamCondition]
    /// Other names of streams that the append creates: no stream may be created under them meanwhile.
    var guarded: Set<StreamName> = []
    /// The names as the caller gave them, by those in the log.
    var given: [StreamName: StreamName] = [:]
    /// The errors of events whose streams can't be begun, by the events' indices.
    var refused: [Int: EvstoreError] = [:]
    /// Names that were already looked up.
    private var found: [NameAtVersion: StreamName] = [:]

    init(events: [StoredEvent], conditions: [StreamCondition]) { (self.events, self.conditions) = (events, conditions) }

    /// Translates a failed condition to the caller's names. Nil where another program has just created the stream under another of its
    /// names: then the names have to be resolved again.
    func failure(_ error: EvstoreError) -> EvstoreError? {
        guard case .expectationFailed(let stream, let expected, let actual) = error else { return error }
        if guarded.contains(stream) { return nil }
        return .expectationFailed(stream: given[stream] ?? stream, expected: expected, actual: actual)
    }
}

extension EventStore {
    /// Resolves the streams of an append. A stream that exists keeps its name; a new one is created under its name at the event's birth
    /// version.
    func resolved(
        _ events: [StoredEvent], _ conditions: [StreamCondition] = [], at version: SchemaVersion, _ history: History
    ) throws(EvstoreError) -> ResolvedAppend {
        var result = ResolvedAppend(events: events, conditions: conditions)
        guard history.rekeysStreams else { return result }
        try log.reading { reader in
            for index in events.indices {
                do {
                    result.events[index].stream = try result.find(
                        events[index].stream, at: events[index].born, isMade: true, history, reader)
                } catch EvstoreError.noImage(let failure) { result.refused[index] = .noImage(failure) }
            }
            for index in conditions.indices {
                result.conditions[index].stream = try result.find(conditions[index].stream, at: version, isMade: false, history, reader)
            }
        }
        return result
    }
}

extension ResolvedAppend {
    fileprivate struct NameAtVersion: Hashable {
        var name: StreamName
        var version: SchemaVersion
    }

    fileprivate mutating func find(
        _ name: StreamName, at version: SchemaVersion, isMade: Bool, _ history: History, _ reader: borrowing LogReader
    ) throws -> StreamName {
        if let known = found[NameAtVersion(name: name, version: version)] { return known }
        let known = try history.storedName(of: name, at: version, reader)
        let stored = known ?? name
        given[stored] = name
        found[NameAtVersion(name: name, version: version)] = stored
        guard known == nil else { return stored }
        if try reader.head(of: name) != nil {
            guard isMade else { return stored }
            found[NameAtVersion(name: name, version: version)] = nil
            throw try Self.otherName(of: name, at: version, history, reader)
        }
        for spelling in history.spellings(of: name, at: version) {
            for other in spelling.versions { found[NameAtVersion(name: spelling.name, version: other)] = stored }
            guard spelling.name != name, try reader.head(of: spelling.name) == nil else { continue }
            guarded.insert(spelling.name)
            conditions.append(StreamCondition(spelling.name, .noStream))
        }
        return stored
    }

    /// The error for an event that would create a stream under a name that the log gives to another one.
    private static func otherName(
        of name: StreamName, at version: SchemaVersion, _ history: History, _ reader: borrowing LogReader
    ) throws -> EvstoreError {
        var found = quoted(name.text)
        if let born = try reader.birth(ofStream: name) {
            do { found += ", which is \(quoted(try history.streamName(name, from: born, to: version).text)) at \(version)" } catch {}
        }
        return .noImage(
            ImageFailure(
                type: "the stream", born: version, target: version, step: version, op: "rekey", pointer: ImageFailure.streamName,
                expected: "a name under which no other stream lies in the log", found: found))
    }
}
