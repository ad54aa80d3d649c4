internal import EventLog
internal import EventModel
internal import Hashing
public import Logging
internal import Migration
internal import Platform
public import Projections
public import SchemaEvolution

extension EventStore {
    /// Creates a store whose floor, live and top are `version` (the newest of `schemas` where nil), and opens it.
    ///
    /// A later replay registers the versions above. Waits while the files are written, some milliseconds.
    /// - Throws: `EvstoreError`: storeExists, schemaInvalid, unknownVersion, usage where there is no directory to make it in, misuse where
    ///   two steps have one id, unsafeFileSystem, unsafePermissions, diskFull.
    public static func create(
        _ path: String, schemas: Schemas?, version: SchemaVersion? = nil, steps: [any SwiftStep] = [],
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
        let errors = definitions.errors(in: history, taking: history.versions, isSealed: options.secret != nil)
        if !errors.isEmpty { throw .schemaInvalid(errors) }
        let logger = logger ?? .silent
        let log = try await StoreThreads.run { () async throws(EvstoreError) in
            try converting(at: path) {
                try EventLog.create(at: path, options: options, logger: logger) { update in
                    (update.state.floor, update.state.live, update.state.top) = (version, version, version)
                    try RegisteredRows.register(&update, versions: history.versions, definitions: definitions)
                }
            }
        }
        let evolving = VersionedLog(log, swiftProjections: projections, swiftSteps: steps, logger: logger)
        let store = EventStore(evolving, version: nil, policy: .require, schemas: schemas)
        if options.followsInBackground { store.background.start(store) }
        return store
    }

    /// Opens a store to work at `version` (the live one where nil). `policy` decides what happens where that is not the live version.
    ///
    /// A process may open a store several times. It has to open it for writing before it opens it for reading only: LMDB can't map a file
    /// for writing that the process has mapped for reading, which is `EvstoreError.misuse`.
    ///
    /// Takes about 2 ms on the store's own threads, about 50 ms after a `kill -9` of a large store, and a walk over all pages of the log
    /// after a power cut; with `Policy.migrate` also the time of the replay.
    ///
    /// - Parameters:
    ///   - path: the path of the store's directory; `storeNotFound` is thrown where nothing is, or an empty directory.
    ///   - schemas: the program's version files and projections, which a replay registers; nil works with those of the store. With
    ///     `version`, a registered version that may not change has to be equal in them (`versionDiffers`).
    ///   - version: the version that this handle works at; where nil, it follows the live version, through flips and rollbacks.
    ///   - policy: what happens where `version` is not the live one; it has no effect where `version` is nil.
    ///   - steps: the code of the version files' `swift` ops; an event that needs one which is missing throws `programNeeded`.
    ///   - projections: the program's projections in Swift, each of which replaces a registered one of its name and `since`; this handle
    ///     can build no others in Swift.
    ///   - readOnly: whether the handle only reads: what writes throws `readOnly`, and a query gives the rows that others have built,
    ///     however far they lag (`QueryNote.lag`).
    ///   - options: limits, deadlines, and the secret of a sealed store; they belong to this handle, and are not stored.
    ///   - logger: gets warnings, and what migrations do; nil logs nothing.
    ///   - progress: is called during a migration of `Policy.migrate`, and during the wait for another process's, with the step `wait`.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, otherLMDB, storeDamaged, keysRefused, unsafeFileSystem,
    ///   unsafePermissions, readOnly, locked, deadlinePassed, diskFull, misuse (also where two steps have one id), versionDiffers,
    ///   unknownVersion, policyRefused, interrupted, and with `Policy.migrate` what `migrate` and `finalize` throw.
    public static func open(
        _ path: String, schemas: Schemas? = nil, version: SchemaVersion? = nil, policy: Policy = .require,
        steps: [any SwiftStep] = [], projections: [any SwiftProjection] = [], readOnly: Bool = false, options: Options = .init(),
        logger: Logger? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> EventStore {
        let steps = try SwiftSteps(steps)
        let logger = logger ?? .silent
        let log = try await StoreThreads.run { () async throws(EvstoreError) in
            try await caughtUp(readOnly, options.catchUpLimit?.bounded, logger) { readOnly throws(EvstoreError) in
                try converting(at: path) {
                    try EventLog.open(
                        at: path, options: options, readOnly: readOnly, logger: logger, judging: RegisteredRows.judge
                    ) { log, cut, last in
                        let evolving = VersionedLog(log, swiftProjections: projections, swiftSteps: steps, logger: logger)
                        return try Archive.keepTail(cut, through: last, of: evolving)
                    }
                }
            }
        }
        let evolving = VersionedLog(log, swiftProjections: projections, swiftSteps: steps, logger: logger)
        let store = EventStore(evolving, version: version, policy: policy, schemas: schemas?.with(steps))
        do {
            try await store.applyPolicy(progress)
        } catch {
            try await store.close()
            throw error
        }
        if options.followsInBackground, !readOnly { store.background.start(store) }
        return store
    }

    /// Opens the store at `path`. Where there is none, it first creates one with the versions of `schemas` up to `version`.
    ///
    /// A service calls this whenever it starts. Several processes may do so at once; one of them creates the store.
    ///
    /// - Parameters:
    ///   - path: the path of the store's directory; a store is created where nothing is, or an empty directory.
    ///   - schemas: the program's version files and projections, which a new store is created with, and which a replay registers. With
    ///     `version`, a registered version that may not change has to be equal in them (`versionDiffers`).
    ///   - version: the version that a new store is created at and this handle works at. Where nil, a new store is created at the newest of
    ///     `schemas`, and the handle follows the live version.
    ///   - policy: what happens where `version` is not the live one; it has no effect where `version` is nil.
    ///   - steps: the code of the version files' `swift` ops; an event that needs one which is missing throws `programNeeded`.
    ///   - projections: the program's projections in Swift, each of which replaces a registered one of its name and `since`; this handle
    ///     can build no others in Swift.
    ///   - options: limits, deadlines, and the secret of a sealed store; they belong to this handle, and are not stored.
    ///   - logger: gets warnings, and what migrations do; nil logs nothing.
    ///   - progress: is called during a migration of `Policy.migrate`, and during the wait for another process's, with the step `wait`.
    /// - Throws: `EvstoreError`: the errors of `create` and of the other `open`, except storeExists and storeNotFound.
    public static func open(
        _ path: String, creatingWith schemas: Schemas, version: SchemaVersion? = nil, policy: Policy = .require,
        steps: [any SwiftStep] = [], projections: [any SwiftProjection] = [], options: Options = .init(), logger: Logger? = nil,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> EventStore {
        while true {
            do throws(EvstoreError) {
                return try await open(
                    path, schemas: schemas, version: version, policy: policy, steps: steps, projections: projections, options: options,
                    logger: logger, progress: progress)
            } catch .storeNotFound {}
            do throws(EvstoreError) {
                // Order: the store is created, closed, then opened, so that the first start gets the same handle as every later one.
                let made = try await create(
                    path, schemas: schemas, version: version, steps: steps, projections: projections, options: options, logger: logger)
                try await made.close()
            } catch .storeExists {
                // Another process created it first; an import that appended nothing may have removed it again.
                if Task.isCancelled { throw .interrupted(again: "open \(path) again") }
            }
        }
    }

    /// Whether a store can be created at a path: the path does not exist, or is an empty directory.
    package static func isFree(_ path: String) throws(EvstoreError) -> Bool { try converting(at: path) { try EventLog.isFree(path) } }

    /// Reads a store's four version numbers without a lock and without its keys: those of a sealed store are not verified.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, storeDamaged.
    ///
    /// Blocks the calling thread for one short read.
    public static func versions(_ path: String) throws(EvstoreError) -> StoreVersions {
        try converting(at: path) { StoreVersions(try EventLog.peek(at: path)) }
    }

    /// Applies the policy where the program's version is not the live one.
    private func applyPolicy(_ progress: ProgressHandler?) async throws(EvstoreError) {
        guard let version = programVersion else { return }
        let evolution = try evolving.current()
        try noteOtherProjections(evolution)
        let state = evolution.state
        try compareSchemas(evolution)
        if version == state.live { return }
        logger.warning(
            "the program works at another version than the store is live at",
            metadata: [
                "store": "\(path)", "program": "\(version)", "floor": "\(state.floor)", "live": "\(state.live)", "top": "\(state.top)",
                "head": "\(state.head)",
            ])
        let isDue = try isDue(version, state)
        switch (policy, version) {
        case (.observe, _):
            // The program must know a version that the store does not know.
            _ = try history(serving: version, evolution.history)
        case (_, ...state.top) where !isDue: try requirePromised(version, state)
        case (.require, _):
            throw .policyRefused(
                program: version, live: state.live,
                how: "make it live first, by another program: \(.replay(to: version)); or let this one do so: Policy.migrate")
        case (.migrate(let when, let onError, let keepWindow, let yes), _):
            if try await !mayMigrate(to: version, when) {
                throw .policyRefused(
                    program: version, live: state.live,
                    how: "the policy's `when` does not allow it: see \(.plan(to: version)), and make it live: \(.replay(to: version))")
            }
            do {
                let options = MigrationOptions(onError: onError == .quarantine ? .quarantine : .stop, yes: yes)
                try await migrate(to: version, options, keepWindow, progress)
            } catch {
                guard onError == .openAnyway, error.code != "interrupted" else { throw error }
                logger.error(
                    "the replay at opening failed; read models stay as they are", metadata: ["error": .stringConvertible(error.advised)])
            }
        }
    }

    private func requirePromised(_ version: SchemaVersion, _ state: StoreState) throws(EvstoreError) {
        guard version < state.floor else { return }
        throw .policyRefused(
            program: version, live: state.live, how: "update the program: the store has promised nothing below \(state.floor)")
    }

    /// Requires that the program's version files match those that the store has registered, where both have a version that may not change.
    private func compareSchemas(_ evolution: SchemaSnapshot) throws(EvstoreError) {
        guard let own = schemas?.history else { return }
        for (file, stored) in zip(own.versions, evolution.history.versions) where file.digest != stored.digest {
            if stored.isReleased || stored.number <= evolution.state.top {
                throw .versionDiffers(file.number, file: file.digest.hex, stored: stored.digest.hex)
            }
        }
    }

    /// Warns where the projection files of a program that names its version differ from the store's at the live version: opening never
    /// changes the store's.
    private func noteOtherProjections(_ evolution: SchemaSnapshot) throws(EvstoreError) {
        let live = evolution.state.live
        guard let schemas, live.rawValue > 0, live <= schemas.history.head else { return }
        let own = try schemas.definitions.definitions(at: live, schemas.history)
        let registered = try evolution.definitions(at: live).map(\.fingerprint)
        let others = own.filter { !registered.contains($0.fingerprint) }.map(\.name)
        if others.isEmpty { return }
        logger.warning(
            "the program's projection files differ from the store's: a replay to the live version takes them in",
            metadata: ["store": "\(path)", "live": "\(live)", "projections": "\(others.joined(separator: ", "))"])
    }

    /// Whether `.migrate` makes a version live: where the store has not promised it yet. On a node of a cluster log also where other nodes
    /// have promised it, unless this node was rolled back from it.
    private func isDue(_ version: SchemaVersion, _ state: StoreState) throws(EvstoreError) -> Bool {
        guard case .migrate = policy else { return false }
        if version > state.top { return true }
        guard log.membership != nil, version > state.live else { return false }
        return try maintenance.journal().last { [.flip, .rollback, .cut].contains($0.kind) }.map { $0.kind == .flip } ?? true
    }

    /// Replays to a version that is due, unless another process has done so meanwhile.
    private func migrate(
        to version: SchemaVersion, _ options: MigrationOptions, _ keepWindow: Policy.WindowPolicy, _ progress: ProgressHandler?
    ) async throws(EvstoreError) {
        let live = try evolving.current().state.live
        try await waitingForOthers(progress) { () async throws(EvstoreError) in
            let state = try self.evolving.current().state
            if try !self.isDue(version, state) { return try self.requirePromised(version, state) }
            let report = try await self.migrate(to: version, options: options, progress: progress)
            self.logger.notice(
                "replayed at opening",
                metadata: ["from": "\(report.from)", "to": "\(report.to)", "quarantined": "\(report.quarantined)"])
        }
        guard case .releases(let count) = keepWindow, version.number - live.number >= count else { return }
        try await waitingForOthers(progress) { () async throws(EvstoreError) in
            let state = try self.evolving.current().state
            guard state.live == version else { return }
            // The window stays open for consumers that see events at an older version, and for nodes that work at one.
            let nodes = try self.log.reading { try $0.nodes().map(\.live) }
            let oldest = try (self.consumers().map(\.version) + nodes).filter { $0 >= state.floor }.min()
            let floor = min(live, oldest ?? live)
            _ = try await Finalize.run(self.context(Job("open the store")), version, floor: floor)
        }
    }

    /// Repeats work that only one process can do at a time until the lock is free or the deadline has passed.
    private func waitingForOthers(
        _ progress: ProgressHandler?, _ work: () async throws(EvstoreError) -> Void
    ) async throws(EvstoreError) {
        let deadline = Instant.within(options.migrationDeadline)
        while true {
            do { return try await work() } catch {
                guard case .migrationInProgress(let holder) = error, Instant.now < deadline else { throw error }
                progress?(ProgressEvent(step: "wait", note: "for the migration of \(holder)"))
            }
            do { try await Task.sleep(for: options.pollInterval.bounded) } catch {
                throw .interrupted(again: "open the store again")
            }
        }
    }

    private func mayMigrate(to version: SchemaVersion, _ when: Policy.MigrateWhen) async throws(EvstoreError) -> Bool {
        switch when {
        case .always: return true
        case .atMost(let events): return try last().position.rawValue <= events
        case .lossless:
            let plan = try await plan(to: version)
            return plan.oneWay.isEmpty && plan.appendsRefused.isEmpty && plan.loss.allSatisfy { !$0.asks || $0.count == 0 }
        }
    }
}

extension Logger {
    fileprivate static var silent: Logger { Logger(label: "evstore") { _ in SwiftLogNoOpLogHandler() } }
}
