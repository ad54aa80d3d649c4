package import EventModel
internal import Hashing
internal import LMDB
package import Logging
internal import Platform

extension EventLog {
    /// Makes a store: whole at its path, or not at all. `first` sets its numbers in its first transaction.
    /// - Throws: `EvstoreError.storeExists` where there is anything but an empty directory.
    package static func create(
        at store: String, options: Options, logger: Logger? = nil, _ first: (inout LogUpdate) throws -> Void
    ) throws -> EventLog {
        try create(at: store, options: options, logger: logger, TableDescriptor.log, first)
    }

    /// - Parameter tables: every table that the log has.
    static func create(
        at store: String, options: Options, logger: Logger? = nil, _ tables: [TableDescriptor], _ first: (inout LogUpdate) throws -> Void
    ) throws -> EventLog {
        try make(at: store, options, tables) { made in
            let access = try lay(made, StoreID.make(), options, options.secret.map { .made($0) }, tables)
            defer { access.environment.close() }
            try access.update(first)
        }
        return try open(at: store, options: options, logger: logger, tables)
    }

    /// Runs `fill` on a new directory, opens what it has made as every store is opened, and gives it its path (`StorePlace`): the one way in
    /// which a store comes to be.
    /// - Parameter options: those of the new store, which open it.
    /// - Throws: `EvstoreError`: storeExists, otherLMDB, unsafeFileSystem, unsafePermissions, usage, and what `fill` throws.
    package static func make(at store: String, _ options: Options, _ fill: (String) throws -> Void) throws {
        try make(at: store, options, TableDescriptor.log, fill)
    }

    private static func make(
        at store: String, _ options: Options, _ tables: [TableDescriptor], _ fill: (String) throws -> Void
    ) throws {
        do {
            // Order: before a byte is written.
            try Library.require()
            let place = try StorePlace(store)
            try place.check(options)
            try place.sweep()
            let owned = try OwnedDirectory(place.prefix)
            defer { withExtendedLifetime(owned) {} }
            let made = owned.path
            do {
                try fill(made)
                try requireOpening(made, options, tables)
                try Directory.sync(made + "/log")
                try Directory.sync(made)
                try place.move(made)
            } catch {
                try Directory.remove(made, overwriting: KeyedFiles.isOne)
                throw error
            }
        } catch { throw storeError(error, store, doing: "making \(store)") }
    }

    /// Whether a store can be made at a path: nothing is there, or a directory that holds nothing.
    package static func isFree(_ path: String) throws -> Bool {
        do { return try StorePlace.isFree(path) } catch { throw storeError(error, path, doing: "looking at \(path)") }
    }

    /// Removes a store that this process alone has open; nobody finds it from here on.
    /// - Parameter keepsDirectory: leaves the directory, which was there before the store.
    package static func discard(_ path: String, keepsDirectory: Bool) throws {
        do { try StorePlace(path).discard(keepsDirectory: keepsDirectory) } catch {
            throw storeError(error, path, doing: "removing \(path)")
        }
    }

    /// Makes the files of a store without events; the caller closes the environment.
    package static func lay(
        _ store: String, _ storeID: StoreID, _ options: Options, _ newKeys: NewKeys?, _ tables: [TableDescriptor] = TableDescriptor.log
    ) throws -> LogAccess {
        let keys = try newKeys?.lay(store, storeID)
        let identity = try Manifest.write(storeID, keys, at: store)
        try File(store + StoreLock.fileName, .createNew).reserve(4_096)
        if options.ballastBytes > 0 { try File(store + "/ballast", .createNew).reserve(options.ballastBytes) }
        try Directory.create(store + "/log")
        let environment = try Environment.open(
            directory: store + "/log", tables.configuration(options, readOnly: false, creating: true))
        let access = try LogAccess(environment, of: identity, keys, tables)
        try environment.writeOwned { transaction in
            var transaction = transaction
            let state = StoreState(
                storeID: storeID, format: StateRows.format, epoch: .first, numbers: .none, history: .zero, generations: [:],
                indexed: .start)
            try StateRows.put(state, &transaction, access.tables)
            for index in access.tables.positionIndexes { try index.put(mark: .start, &transaction) }
        }
        return access
    }
}
