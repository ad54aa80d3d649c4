package import EventLog
package import EventModel
internal import LMDB
package import Logging
internal import Platform
package import SchemaEvolution

/// What a store is at one moment: its numbers, and its events' history and projections as registered.
package struct Evolution: Sendable {
    package var state: StoreState
    /// The last event when this was read.
    package var last: Checkpoint
    package let history: History
    /// The registered definitions, replaced by this program's own where it has some.
    package let definitions: DefinitionSet
    private let found = FoundDefinitions()

    package init(state: StoreState, last: Checkpoint, history: History, definitions: DefinitionSet) {
        (self.state, self.last, self.history, self.definitions) = (state, last, history, definitions)
    }

    /// One definition for each projection that exists at the version.
    package func definitions(at version: SchemaVersion) throws(EvstoreError) -> [Definition] {
        try definitions.definitions(at: version, history)
    }

    /// - Throws: `EvstoreError.unknownProjection`.
    package func definition(named name: String, at version: SchemaVersion) throws(EvstoreError) -> Definition {
        let key = FoundDefinitions.Key(name: name, version: version)
        if let definition = found.known.withLock({ $0[key] }) { return definition }
        let definition = try definitions.definition(named: name, at: version, history)
        found.known.withLock { $0[key] = definition }
        return definition
    }
}

/// The definitions that were asked for of one history, which no query has to hash again.
private final class FoundDefinitions: Sendable {
    struct Key: Hashable {
        let name: String
        let version: SchemaVersion
    }

    let known = Monitor<[Key: Definition]>([:])
}

/// The log read through the history: the history and the projections are those of the store, read anew
/// when what is registered has changed.
package final class EvolvingLog: Sendable {
    package let log: EventLog
    package let swiftProjections: [any SwiftProjection]
    package let swiftSteps: SwiftSteps
    package let logger: Logger
    /// The store as it was read last, and the transaction of LMDB whose result that was: until the next one, nothing of it changes but the
    /// log's end, since events alone may be ahead of LMDB.
    private let known = Monitor<(evolution: Evolution, transaction: UInt)?>(nil)

    /// A history and definitions that are used instead of the registered ones.
    private let assumed: (history: History, definitions: DefinitionSet)?

    package convenience init(
        _ log: EventLog, swiftProjections: [any SwiftProjection] = [], swiftSteps: SwiftSteps = .none,
        logger: Logger = Logger(label: "evstore")
    ) {
        self.init(log, swiftProjections, swiftSteps, logger, assumed: nil)
    }

    private init(
        _ log: EventLog, _ swiftProjections: [any SwiftProjection], _ swiftSteps: SwiftSteps, _ logger: Logger,
        assumed: (history: History, definitions: DefinitionSet)?
    ) {
        (self.log, self.swiftProjections, self.swiftSteps) = (log, swiftProjections, swiftSteps)
        (self.logger, self.assumed) = (logger, assumed)
    }

    /// This log as it is read once these are registered.
    package func assuming(history: History, definitions: DefinitionSet) -> EvolvingLog {
        EvolvingLog(log, swiftProjections, swiftSteps, logger, assumed: (history, definitions))
    }

    package var options: Options { log.options }

    /// The store as it is now. Costs a look at LMDB's header where nobody has written to it since the last time, a look at the store's
    /// state where nothing was registered, and else all versions.
    package func current() throws(EvstoreError) -> Evolution {
        try converting("reading what \(log.path) has registered") { try log.read { reader in try current(reader) } }
    }

    /// The store as of a read that is under way.
    package func current(_ reader: borrowing LogReader) throws -> Evolution {
        let transaction = reader.transaction.id
        let last = known.withLock(\.self)
        if var evolution = last?.evolution, last?.transaction == transaction, assumed == nil {
            evolution.last = reader.last
            return evolution
        }
        let state = try reader.state
        try requireFitting(state.numbers, try reader.count(.schemas))
        if let assumed {
            return Evolution(state: state, last: reader.last, history: assumed.history, definitions: assumed.definitions)
        }
        if var evolution = last?.evolution, evolution.state.history == state.history {
            (evolution.state, evolution.last) = (state, reader.last)
            keep(evolution, transaction)
            return evolution
        }
        let history = try RegisteredRows.history(try reader.rows(.schemas), in: log.path).with(swiftSteps)
        let definitions = try RegisteredRows.definitions(try reader.rows(.definitions))
        let evolution = Evolution(
            state: state, last: reader.last, history: history, definitions: definitions.adding(swiftProjections))
        keep(evolution, transaction)
        return evolution
    }

    /// Another thread may have read what came later meanwhile.
    private func keep(_ evolution: Evolution, _ transaction: UInt) {
        known.withLock { known in
            if known.map({ $0.transaction <= transaction }) ?? true { known = (evolution, transaction) }
        }
    }

    /// Refuses numbers that name versions which nobody has registered: going through them would take ever so long, and find nothing.
    private func requireFitting(_ numbers: VersionNumbers, _ versions: Int) throws(EvstoreError) {
        if numbers.fit(versions) { return }
        throw .storeDamaged(path: log.path, reason: "its numbers are \(numbers), and it has \(versions) registered versions")
    }

    /// The history alone, in a read that is under way: does not read the rest of the store's state.
    package func history(_ reader: borrowing LogReader) throws -> History {
        if let assumed { return assumed.history }
        let digest = reader.stamp.history
        if let history = known.withLock({ $0?.evolution.state.history == digest ? $0?.evolution.history : nil }) { return history }
        return try current(reader).history
    }

    package var history: History { get throws(EvstoreError) { try current().history } }

    package var definitions: DefinitionSet { get throws(EvstoreError) { try current().definitions } }
}
