internal import EventLog
internal import EventModel
internal import Hashing
public import Logging
internal import Migration
public import Projections
public import SchemaEvolution

extension EventStore {
    /// Makes a store whose floor, live and top are `version` (the newest of `schemas` where nil), and opens it.
    ///
    /// Versions above are registered by a replay.
    public static func create(
        at path: String, schemas: Schemas?, at version: SchemaVersion? = nil, steps: [any SwiftStep] = [],
        projections: [any SwiftProjection] = [],
        options: Options = .init(), logger: Logger? = nil
    ) async throws(EvstoreError) -> EventStore {
        let steps = try SwiftSteps(steps)
        let schemas = schemas?.with(steps)
        let all = schemas?.history ?? .empty
        let version = version ?? all.head
        guard version.rawValue >= 1, version <= all.head else {
            throw .unknownVersion(version.description, known: all.versions.map(\.number.description))
        }
        let history = all.through(version)
        let definitions = (schemas?.definitions ?? .empty).adding(projections).through(version)
        let errors = (history.check() + definitions.check(against: history)).filter { $0.severity == .error }
        if !errors.isEmpty { throw .schemaInvalid(errors) }
        let logger = logger ?? .silent
        let log = try converting(at: path) {
            try EventLog.create(at: path, options: options, logger: logger) { update in
                (update.state.floor, update.state.live, update.state.top) = (version, version, version)
                try RegisteredRows.register(&update, versions: history.versions, definitions: definitions)
            }
        }
        let evolving = EvolvingLog(log, swiftProjections: projections, swiftSteps: steps, logger: logger)
        let store = EventStore(evolving, version: nil, policy: .require, schemas: schemas)
        if options.followsInBackground { store.follower.start(store) }
        return store
    }

    /// Opens a store to work at `version` (the live one where nil), as `policy` says where that is not the live one.
    ///
    /// A process may have it open several times. Who opens it for writing comes before who opens it for reading only: a file that
    /// LMDB has mapped for reading alone is not mapped for writing as well, and that is `EvstoreError.misuse`.
    public static func open(
        at path: String, version: SchemaVersion? = nil, policy: Policy = .require, schemas: Schemas? = nil,
        steps: [any SwiftStep] = [], projections: [any SwiftProjection] = [], readOnly: Bool = false, options: Options = .init(),
        logger: Logger? = nil
    ) async throws(EvstoreError) -> EventStore {
        let steps = try SwiftSteps(steps)
        let logger = logger ?? .silent
        let log = try converting(at: path) { try EventLog.open(at: path, options: options, readOnly: readOnly, logger: logger) }
        let evolving = EvolvingLog(log, swiftProjections: projections, swiftSteps: steps, logger: logger)
        let store = EventStore(evolving, version: version, policy: policy, schemas: schemas?.with(steps))
        do {
            try await store.settle()
        } catch {
            try await store.close()
            throw error
        }
        if options.followsInBackground, !readOnly { store.follower.start(store) }
        return store
    }

    /// Reads a store's four numbers without a lock.
    public static func versions(at path: String) throws(EvstoreError) -> StoreVersions {
        try converting(at: path) { StoreVersions(try EventLog.peek(at: path)) }
    }
}

extension EventStore {
    /// Applies the policy to the version that the program works at.
    private func settle() async throws(EvstoreError) {
        guard let version = programVersion else { return }
        let evolution = try evolving.current()
        let state = evolution.state
        try compareSchemas(evolution)
        if version == state.live { return }
        logger.warning(
            "the program works at another version than the store is live at",
            metadata: [
                "store": "\(path)", "program": "\(version)", "floor": "\(state.floor)", "live": "\(state.live)", "top": "\(state.top)",
                "head": "\(state.head)",
            ])
        switch (policy, version) {
        case (.observe, _):
            // What the store does not know must be known to the program.
            _ = try history(serving: version, evolution.history)
        case (_, ..<state.floor):
            throw .policyRefused(
                program: version, live: state.live, command: "update the program: the store has promised nothing below \(state.floor)")
        case (_, ...state.top): return
        case (.require, _):
            throw .policyRefused(program: version, live: state.live, command: "evstore --store \(path) replay --to \(version)")
        case (.migrate(let when, let onError, let keepWindow), _):
            try await migrate(to: version, when, onError, keepWindow)
        }
    }

    /// The program's files must be those that the store has registered, as far as both know them and none may change.
    private func compareSchemas(_ evolution: Evolution) throws(EvstoreError) {
        guard let own = schemas?.history else { return }
        for (file, stored) in zip(own.versions, evolution.history.versions) where file.digest != stored.digest {
            if stored.isReleased || stored.number <= evolution.state.top {
                throw .versionDiffers(file.number, file: file.digest.hex, stored: stored.digest.hex)
            }
        }
    }

    private func migrate(
        to version: SchemaVersion, _ when: Policy.MigrateWhen, _ onError: Policy.MigrateOnError, _ keepWindow: Policy.WindowPolicy
    ) async throws(EvstoreError) {
        let live = try evolving.current().state.live
        if try await !mayMigrate(to: version, when) {
            throw .policyRefused(program: version, live: live, command: "evstore --store \(path) replay --to \(version)")
        }
        do {
            let report = try await replay(to: version, options: ReplayOptions(onError: onError == .quarantine ? .quarantine : .stop))
            logger.notice(
                "replayed at opening",
                metadata: ["from": "\(report.from)", "to": "\(report.to)", "quarantined": "\(report.quarantined)"])
            if case .releases(let count) = keepWindow, version.number - live.number >= count {
                _ = try await Finalize.run(site(again: "open the store again"), version, floor: live)
            }
        } catch {
            guard onError == .openAnyway else { throw error }
            logger.error("the replay at opening failed; read models stay as they are", metadata: ["error": "\(error.message)"])
            return
        }
    }

    private func mayMigrate(to version: SchemaVersion, _ when: Policy.MigrateWhen) async throws(EvstoreError) -> Bool {
        switch when {
        case .always: return true
        case .atMost(let events): return try last().position.rawValue <= events
        case .lossless:
            let plan = try await plan(to: version)
            return plan.oneWay.isEmpty && plan.loss.allSatisfy { $0.declared || $0.count == 0 }
        }
    }
}

extension Logger {
    /// Says nothing: for a program that gives no logger of its own.
    fileprivate static var silent: Logger { Logger(label: "evstore") { _ in SwiftLogNoOpLogHandler() } }
}
