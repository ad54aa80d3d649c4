package import EventLog
package import EventModel
internal import LMDB
package import Logging
internal import Platform
package import SchemaEvolution

/// A snapshot of a store: its version numbers, its history, and its registered projections.
package struct SchemaSnapshot: Sendable {
    package var state: StoreState
    package var last: Checkpoint
    package let history: History
    /// The registered definitions; this program's own definitions replace those of equal name and `since`.
    package let definitions: DefinitionSet
    /// The definitions that were looked up, so that queries need not hash them again.
    private let found = Monitor<[FoundKey: Definition]>([:])

    private struct FoundKey: Hashable {
        let name: String
        let version: SchemaVersion
    }

    /// One definition for each projection that exists at the version.
    package func definitions(at version: SchemaVersion) throws(EvstoreError) -> [Definition] {
        try definitions.definitions(at: version, history)
    }

    /// - Throws: `EvstoreError.unknownProjection`.
    package func definition(named name: String, at version: SchemaVersion) throws(EvstoreError) -> Definition {
        let key = FoundKey(name: name, version: version)
        if let definition = found.withLock({ $0[key] }) { return definition }
        let definition = try definitions.definition(named: name, at: version, history)
        found.withLock { $0[key] = definition }
        return definition
    }

    /// The index of the events' tags at a version; nil if no type has tags there.
    package func tagIndex(at version: SchemaVersion) -> Definition? {
        let key = FoundKey(name: Definition.tagIndexName, version: version)
        if let definition = found.withLock({ $0[key] }) { return definition }
        let definition = DefinitionSet.tagIndex(at: version, history)
        if let definition { found.withLock { $0[key] = definition } }
        return definition
    }
}

/// The log together with its history: provides the store's history and projections, read again when a registration has changed them.
package final class VersionedLog: Sendable {
    package let log: EventLog
    package let swiftProjections: [any SwiftProjection]
    package let swiftSteps: SwiftSteps
    package let logger: Logger
    /// The last snapshot, with the id of the LMDB transaction that produced it. Until the next transaction, nothing in it changes except
    /// the log's end, since only events may be ahead of LMDB.
    private let known = Monitor<(evolution: SchemaSnapshot, transaction: UInt)?>(nil)

    /// A history and definitions that are used in place of the registered ones.
    private let assumed: (history: History, definitions: DefinitionSet)?

    package init(
        _ log: EventLog, swiftProjections: [any SwiftProjection] = [], swiftSteps: SwiftSteps = .none,
        logger: Logger = Logger(label: "evstore"), assuming assumed: (history: History, definitions: DefinitionSet)? = nil
    ) {
        (self.log, self.swiftProjections, self.swiftSteps) = (log, swiftProjections, swiftSteps)
        (self.logger, self.assumed) = (logger, assumed)
    }

    /// This log as it would be read after these were registered.
    package func assuming(history: History, definitions: DefinitionSet) -> VersionedLog {
        VersionedLog(
            log, swiftProjections: swiftProjections, swiftSteps: swiftSteps, logger: logger, assuming: (history, definitions))
    }

    package var options: Options { log.options }

    /// The current snapshot. Costs a read of LMDB's header if nobody has written to the store since the last call, a read of the store's
    /// state if nothing was registered, and otherwise a read of all versions.
    package func current() throws(EvstoreError) -> SchemaSnapshot {
        try converting("reading what \(log.path) has registered", at: log.path) { try log.read { reader in try current(reader) } }
    }

    /// The snapshot as seen by a read that is in progress.
    package func current(_ reader: borrowing LogReader) throws -> SchemaSnapshot {
        let transaction = reader.transaction.id
        let last = known.withLock(\.self)
        if var evolution = last?.evolution, last?.transaction == transaction, assumed == nil {
            evolution.last = reader.last
            return evolution
        }
        let state = try reader.state
        let (numbers, versions) = (state.numbers, try reader.count(.schemas))
        // Numbers that refer to unregistered versions are refused: iterating over them would take very long and find nothing.
        guard numbers.fit(versions) else {
            throw EvstoreError.storeDamaged(
                path: log.path, reason: "its numbers are \(numbers), and it has \(versions) registered versions")
        }
        if let assumed {
            return SchemaSnapshot(state: state, last: reader.last, history: assumed.history, definitions: assumed.definitions)
        }
        if var evolution = last?.evolution, evolution.state.history == state.history {
            (evolution.state, evolution.last) = (state, reader.last)
            keep(evolution, transaction)
            return evolution
        }
        let history = try RegisteredRows.history(try reader.rows(.schemas), in: log.path).with(swiftSteps)
        let definitions = try RegisteredRows.definitions(try reader.rows(.definitions))
        let evolution = SchemaSnapshot(
            state: state, last: reader.last, history: history, definitions: definitions.adding(swiftProjections))
        keep(evolution, transaction)
        return evolution
    }

    /// Keeps a snapshot, unless another thread has stored a later one in the meantime.
    private func keep(_ evolution: SchemaSnapshot, _ transaction: UInt) {
        known.withLock { known in
            if known.map({ $0.transaction <= transaction }) ?? true { known = (evolution, transaction) }
        }
    }

    /// Only the history, as seen by a read that is in progress; does not read the rest of the store's state.
    package func history(_ reader: borrowing LogReader) throws -> History {
        if let assumed { return assumed.history }
        let digest = reader.stamp.history
        if let history = known.withLock({ $0?.evolution.state.history == digest ? $0?.evolution.history : nil }) { return history }
        return try current(reader).history
    }

    package var history: History { get throws(EvstoreError) { try current().history } }
}
