package import EventModel
internal import LMDB
package import Logging

extension EventLog {
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, storeDamaged, unsafePermissions,
    ///   locked, readOnly.
    package static func open(
        at store: String, options: Options, readOnly: Bool = false, logger: Logger? = nil
    ) throws -> EventLog {
        do {
            let storeID = try Manifest.read(at: store)
            try checkPermissions(store)
            let presence = try StoreEntrance.enter(store, storeID, options)
            // Order: the anchor before the log, which may grow meanwhile but never shrinks.
            let anchor = try Anchor.read(at: store)
            let environment = try openEnvironment(store, options, readOnly: readOnly)
            do {
                let access = LogAccess(environment: environment, tables: try Tables(environment), names: TypeNames(), storeID: storeID)
                try check(access, anchor, store)
                return try EventLog(path: store, access, options, readOnly: readOnly, presence, logger ?? silent)
            } catch {
                environment.close()
                throw error
            }
        } catch { throw storeError(error, store, doing: "opening \(store)") }
    }

    /// The numbers of a store, without waiting for anyone but who puts it right after a crash.
    package static func peek(at store: String) throws -> StoreState {
        do {
            let storeID = try Manifest.read(at: store)
            let presence = try StoreEntrance.enter(store, storeID, Options())
            // Order: whoever finds the store's lock free may rely on nobody having the log open.
            let state = try readState(store)
            try presence.release()
            guard state.storeID == storeID else { throw EvstoreError.storeDamaged(path: store, reason: "the log belongs to another store") }
            return state
        } catch { throw storeError(error, store, doing: "reading \(store)") }
    }

    private static func readState(_ store: String) throws -> StoreState {
        let environment = try openEnvironment(store, Options(), readOnly: true)
        defer { environment.close() }
        let tables = try Tables(environment)
        return try environment.read { try StateRows.state($0, tables) }
    }

    static var silent: Logger { Logger(label: "evstore", factory: { _ in SwiftLogNoOpLogHandler() }) }

    static func openEnvironment(_ store: String, _ options: Options, readOnly: Bool) throws -> Environment {
        do throws(LMDBError) {
            return try Environment.open(directory: store + "/log", Tables.configuration(options, readOnly: readOnly))
        } catch {
            guard error.isNotFound else { throw error }
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
            let last = Checkpoint(epoch: state.epoch, position: try Blocks.last(transaction, access))
            try anchor?.check(last, transaction, access, store)
        }
    }

    /// What others can change can't be trusted.
    private static func checkPermissions(_ store: String) throws {
        let names = [
            "", "/log", "/log/data.mdb", "/log/lock.mdb", "/" + Manifest.name, StoreLock.fileName, Anchor.fileName, WriteAhead.fileName,
        ]
        for name in names where try Directory.status(store + name)?.isWritableByOthers == true {
            throw EvstoreError.unsafePermissions(path: store, reason: "\(name.isEmpty ? store : store + name) is writable by others")
        }
    }
}
