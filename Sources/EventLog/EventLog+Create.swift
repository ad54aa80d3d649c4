package import EventModel
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
            let builder = try LogBuilder(at: made, .make(), options, options.secret.map { .made($0) }, tables)
            defer { builder.close() }
            try builder.update(first)
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
            let (place, owned) = try takePlace(store, options)
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

    /// Where to make a store, and a directory of its own there.
    private static func takePlace(_ store: String, _ options: Options) throws -> (StorePlace, OwnedDirectory) {
        while true {
            let place = try StorePlace(store)
            do {
                try place.check(options)
                try place.sweep()
                return (place, try OwnedDirectory(place.prefix))
            } catch {
                // Another process has removed the directory since it was seen, with a store of which nothing came.
                guard try place.isGone else { throw error }
            }
        }
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
}
