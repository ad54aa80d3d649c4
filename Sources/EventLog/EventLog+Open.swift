package import EventModel
internal import LMDB
package import Logging
internal import Platform

extension EventLog {
    /// - Parameters:
    ///   - judge: for a node: refuses frames that register something that no program could read.
    ///   - keeper: for a node: keeps the events that a cut of the cluster log takes off; without it they are lost.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, storeDamaged, unsafePermissions, unsafeFileSystem,
    ///   otherLMDB, locked, readOnly.
    package static func open(
        at store: String, options: Options, readOnly: Bool = false, logger: Logger? = nil, judging judge: CatalogueValidator? = nil,
        keepingTails keeper: TailKeeper? = nil
    ) throws -> EventLog {
        do {
            let logger = logger ?? silent
            let (access, presence) = try openFiles(store, options, readOnly: readOnly, logger)
            let log: EventLog
            do {
                if !readOnly { try StoreLocation.sweepStore(store) }
                var context = LogContext(path: store, access: access, options: options, logger: logger)
                (context.judge, context.tailKeeping) = (judge, keeper.map(WeakTailKeeper.init))
                try access.environment.read { transaction in
                    context.membership = try StateRows.node(transaction, access.tables)?.membership
                    context.isReplica = try StateRows.replica(transaction, access.tables) != nil
                }
                if !readOnly, let node = context.membership { context.order = try order(context, of: node) }
                log = try EventLog(context, readOnly: readOnly, presence)
            } catch {
                access.environment.close()
                throw error
            }
            // From here on the log closes the files, whatever fails.
            try log.start()
            if !readOnly {
                try log.settleLayout()
                // A disk without room for the ballast does not keep the store from opening.
                do { try log.ballast.fill(isKnown: false) } catch { log.warn("the ballast of \(store)", error) }
            }
            return log
        } catch { throw storeError(error, store, doing: "opening \(store)") }
    }

    private static func order(_ context: LogContext, of node: ClusterMembership) throws -> any CommitOrder {
        guard let source = context.options.ordering as? any CommitOrderSource else { return UnavailableOrder(node) }
        return try source.order(context, as: node)
    }

    /// Opens the log's files and takes the presence lock, after all checks of an opening have passed. The caller closes the environment,
    /// and then releases the lock.
    private static func openFiles(_ store: String, _ options: Options, readOnly: Bool, _ logger: Logger) throws -> (LogAccess, HeldLock) {
        // Order: checked before any recovery, which writes.
        try LMDBLibrary.require()
        let storeID = try Manifest.identity(at: store).id
        let ballast = Ballast(store, options)
        try StoreFiles.check(store)
        try StoreFiles.checkPlace(store, options, logger)
        let presence = try ballast.lent {
            if !readOnly { try StoreOpening.upgradeFormat(store, storeID, options) }
            return try StoreOpening.enter(store, storeID, options)
        }
        let identity = try Manifest.identity(at: store)
        // Order: the presence lock is taken first, since no key is retired while another process holds it.
        let keys = try StoreKeys.open(at: store, identity, options)
        // Order: the anchor is read before the log, which may grow meanwhile but never shrinks.
        let anchor = try Anchor.newest(at: store)
        let environment = try openEnvironment(store, options, readOnly: readOnly) { logger.warning("\($0)") }
        do {
            let access = try LogAccess(environment, of: identity, keys)
            try check(access, anchor, store)
            return (access, presence)
        } catch {
            environment.close()
            throw error
        }
    }

    /// Reads the numbers of a store. Waits only where another process recovers the store after a crash.
    package static func peek(at store: String) throws -> StoreState { try peek(at: store).state }

    /// Reads a replica's mark in the same way; nil where the store is no replica.
    package static func replica(at store: String) throws -> ReplicaMark? { try peek(at: store).replica }

    /// Reads the store's membership in a cluster log, and whether it is still joining; nil where it belongs to none.
    package static func node(at store: String) throws -> (membership: ClusterMembership, isJoining: Bool)? {
        let found: Peeked = try peek(at: store)
        return found.membership.map { ($0, found.isJoining) }
    }

    private struct Peeked {
        var state: StoreState
        var replica: ReplicaMark?
        var membership: ClusterMembership?
        var isJoining: Bool
    }

    private static func peek(at store: String) throws -> Peeked {
        do {
            try LMDBLibrary.require()
            let identity = try Manifest.identity(at: store)
            try StoreFiles.check(store)
            let presence = try StoreOpening.enter(store, identity.id, Options())
            // Order: the lock is held until the log is closed, since a process that finds it free relies on that.
            let found = try readState(store, identity)
            try presence.release()
            guard found.state.storeID == identity.id else {
                throw EvstoreError.storeDamaged(path: store, reason: "the log belongs to another store")
            }
            return found
        } catch { throw storeError(error, store, doing: "reading \(store)") }
    }

    private static func readState(_ store: String, _ identity: StoreIdentity) throws -> Peeked {
        let environment = try openEnvironment(store, Options(), readOnly: true)
        defer { environment.close() }
        let tables = try Tables(environment, of: identity)
        return try environment.read { transaction in
            let state = try StateRows.state(transaction, tables)
            try StateRows.check(state.epoch, state.numbers)
            return Peeked(
                state: state, replica: try StateRows.replica(transaction, tables),
                membership: try StateRows.node(transaction, tables)?.membership, isJoining: try StateRows.isJoining(transaction, tables))
        }
    }

    package static var silent: Logger { Logger(label: "evstore", factory: { _ in SwiftLogNoOpLogHandler() }) }

    static func openEnvironment(
        _ store: String, _ options: Options, readOnly: Bool, _ notice: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> Environment {
        do {
            var configuration = TableDescriptor.log.configuration(options, readOnly: readOnly)
            configuration.notice = notice
            return try Ballast(store, options).opening(store + "/log", configuration)
        } catch let error as StorageError where error.isMissing {
            throw EvstoreError.storeDamaged(path: store, reason: "its log is missing or incomplete: \(error.message)")
        }
    }

    private static func check(_ access: LogAccess, _ anchor: Anchor?, _ store: String) throws {
        try access.environment.read { transaction in
            let state = try StateRows.state(transaction, access.tables)
            guard state.format <= StateRows.format else {
                throw EvstoreError.storeNewer(path: store, format: state.format, known: StateRows.format)
            }
            guard state.storeID == access.storeID else {
                throw EvstoreError.storeDamaged(path: store, reason: "the log belongs to another store than evstore.json names")
            }
            for (id, name) in try Indexes.types(transaction, access.tables) { access.names.learn(id, name) }
            let last = try Blocks.end(transaction, access)
            try StateRows.numbers(transaction, access.tables).check(last.position)
            try anchor?.check(last, transaction, access, store)
        }
    }
}

extension EventLog {
    /// Makes a store: whole at its path, or not at all. `first` sets its numbers in the first transaction.
    /// - Throws: `EvstoreError.storeExists` where there is anything but an empty directory.
    package static func create(
        at store: String, options: Options, logger: Logger? = nil, _ first: (inout LogUpdate) throws -> Void
    ) throws -> EventLog {
        try make(at: store, options) { made in
            let builder = try LogBuilder(at: made, .make(), options, options.secret.map { .made($0) })
            defer { builder.close() }
            try builder.update(first)
        }
        return try open(at: store, options: options, logger: logger)
    }

    /// Runs `fill` on a new directory, opens the result like any other store, and moves it to its path (`StoreLocation`). Every new store
    /// is made this way.
    /// - Parameter options: the options of the new store, which also open it.
    /// - Throws: `EvstoreError`: storeExists, otherLMDB, unsafeFileSystem, unsafePermissions, usage, and what `fill` throws.
    package static func make<R>(at store: String, _ options: Options, _ fill: (String) throws -> R) throws -> R {
        do {
            // Order: checked before a byte is written.
            try LMDBLibrary.require()
            let (place, owned) = try takePlace(store, options)
            defer { withExtendedLifetime(owned) {} }
            let made = owned.path
            do {
                let result = try fill(made)
                // Opened like any other store, and closed.
                let (access, presence) = try openFiles(made, options, readOnly: true, silent)
                access.environment.close()
                try presence.release()
                try Directory.sync(made + "/log")
                try Directory.sync(made)
                try place.move(made)
                return result
            } catch {
                try Directory.remove(made, overwriting: KeyedFiles.isOne)
                throw error
            }
        } catch { throw storeError(error, store, doing: "making \(store)") }
    }

    private static func takePlace(_ store: String, _ options: Options) throws -> (StoreLocation, OwnedDirectory) {
        while true {
            let place = try StoreLocation(store)
            do {
                try place.check(options)
                try place.sweep()
                return (place, try OwnedDirectory(place.prefix))
            } catch {
                // Another process has removed the directory since it was seen, with a store that was never completed.
                guard try place.isGone else { throw error }
            }
        }
    }

    /// Whether a store can be made at a path: nothing is there, or an empty directory.
    package static func isFree(_ path: String) throws -> Bool {
        do { return try StoreLocation.isFree(path) } catch { throw storeError(error, path, doing: "looking at \(path)") }
    }

    /// Removes a store that only this process has open; from here on nobody can find it.
    /// - Parameter keepsDirectory: whether the directory stays, since it was there before the store.
    package static func discard(_ path: String, keepsDirectory: Bool) throws {
        do { try StoreLocation(path).discard(keepsDirectory: keepsDirectory) } catch {
            throw storeError(error, path, doing: "removing \(path)")
        }
    }
}
