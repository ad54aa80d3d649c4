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
        do { try StoreFiles.checkPlace(Directory.parent(of: store), options, silent) } catch {
            throw storeError(error, store, doing: "making \(store)")
        }
        try make(at: store) { made in
            let access = try lay(made, StoreID.make(), options, options.secret.map { .made($0) }, tables)
            defer { access.environment.close() }
            try access.update(first)
        }
        return try open(at: store, options: options, logger: logger, tables)
    }

    /// Runs `fill` on a new directory, which is at `store` when it is whole.
    package static func make(at store: String, _ fill: (String) throws -> Void) throws {
        do {
            if try Directory.status(store) != nil, try !Directory.isEmpty(store) { throw EvstoreError.storeExists(path: store) }
            try OwnedDirectory.sweep(store + suffix, overwriting: KeyedFiles.isOne)
            let owned = try OwnedDirectory(store + suffix)
            defer { withExtendedLifetime(owned) {} }
            let made = owned.path
            do {
                try fill(made)
                try Directory.sync(made + "/log")
                try Directory.sync(made)
                try moveIntoPlace(made, store)
            } catch {
                try Directory.remove(made, overwriting: KeyedFiles.isOne)
                throw error
            }
        } catch { throw storeError(error, store, doing: "making \(store)") }
    }

    private static let suffix = ".new-"

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

    /// The name appears when everything below it is durable.
    private static func moveIntoPlace(_ made: String, _ store: String) throws {
        do throws(StorageError) {
            try Directory.rename(made, to: store)
        } catch {
            throw error.name == "ENOTEMPTY" || error.name == "EEXIST" ? EvstoreError.storeExists(path: store) : error
        }
        try Directory.sync(Directory.parent(of: store))
    }
}
