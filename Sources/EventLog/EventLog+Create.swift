package import EventModel
internal import LMDB
package import Logging
internal import Platform

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
    package static func make(at store: String, _ options: Options, _ fill: (String) throws -> Void) throws {
        do {
            // Order: checked before a byte is written.
            try LMDBLibrary.require()
            let (place, owned) = try takePlace(store, options)
            defer { withExtendedLifetime(owned) {} }
            let made = owned.path
            do {
                try fill(made)
                try requireOpening(made, options)
                try Directory.sync(made + "/log")
                try Directory.sync(made)
                try place.move(made)
            } catch {
                try Directory.remove(made, overwriting: KeyedFiles.isOne)
                throw error
            }
        } catch { throw storeError(error, store, doing: "making \(store)") }
    }

    /// Where to make a store, and a new directory for it there.
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
