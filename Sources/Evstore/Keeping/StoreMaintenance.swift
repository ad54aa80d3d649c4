package import EventLog
package import EventModel
internal import FoundationEssentials
public import LogKeeping
internal import Platform

/// The operator's view of a store, apart from what a service does: backups, replicas, keys, salvage, drills, and its place in a cluster
/// log.
///
///     try await store.maintenance.drill()
///     try await StoreMaintenance.restore(from: "backups", into: "shop-restored")
///
/// Besides the errors that a method names, each may throw those that ``EventStore`` names for all methods. A method that makes a store may
/// also throw `unsafeFileSystem`, `unsafePermissions`, and `usage` where there is no directory to make it in.
public struct StoreMaintenance: Sendable {
    package let store: EventStore

    package var log: EventLog { store.log }
    package var path: String { store.path }
}

extension EventStore {
    /// The operator's view of this store.
    public var maintenance: StoreMaintenance { StoreMaintenance(store: self) }
}

extension StoreMaintenance {
    /// Creates a store at the path `target` from the whole blocks of a damaged one, completely or not at all. The damaged store is read,
    /// never opened, and no process may have it open.
    ///
    /// A salvage finds the log's blocks by their own headers and checksums, and copies those that later blocks link to. Where no event is
    /// missing between others, the new store continues the old one, in an epoch of its own. Otherwise the events are appended anew, in
    /// their order, to a store with another id. Waits while all bytes of the files are searched.
    ///
    /// - Parameters:
    ///   - source: the path of a store's directory, or of a `data.mdb` alone.
    ///   - target: the path of the new store; `storeExists` is thrown unless nothing is there, or an empty directory.
    ///   - schemas: the version files, for a store that has lost its own.
    ///   - options: the limits that hold meanwhile. Where the damaged store is sealed, `secret` has to open its keys; otherwise it has to
    ///     be nil (`keysRefused`).
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing. `done` counts bytes in the step
    ///     `scan`, and then events or blocks.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeExists, locked, nothingToSalvage, keysRefused, storeDamaged where the file
    ///   `keys` of a sealed store is missing or not its own; usage where the target lies in the source, or the version files are lost and
    ///   `schemas` lacks what the events need; diskFull, interrupted.
    public static func salvage(
        _ source: String, into target: String, schemas: Schemas? = nil, options: Options = Options(),
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> SalvageReport {
        try TargetPath.require(target, outside: source)
        return try await working("salvage \(source)", progress) { (job) async throws(EvstoreError) in
            try SalvageRun.run(at: source, into: target, options, history: schemas?.history, definitions: schemas?.definitions, job)
        }
    }

    /// Reports the damage of a store that does not open, and how many events a salvage would copy; changes nothing.
    ///
    /// Waits while all bytes of the files are read.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, interrupted.
    public static func examine(_ path: String, progress: ProgressHandler? = nil) async throws(EvstoreError) -> VerifyReport {
        try await working("examine \(path)", progress) { (job) async throws(EvstoreError) in try SalvageRun.examine(path, job) }
    }
}

/// Where a command writes what it makes of a store.
package enum TargetPath {
    /// Requires a path outside the store's own directory, where the next program would take it for a part of the store.
    /// - Throws: `EvstoreError.usage`.
    package static func require(_ path: String, outside store: String) throws(EvstoreError) {
        guard !path.isEmpty else { throw .usage("the path is empty: name a directory") }
        guard !isInside(path, store) else {
            throw .usage("\(path) lies in the directory of the store \(store): name a place outside it")
        }
    }

    /// Whether a path is one below a directory, with links resolved.
    static func isInside(_ path: String, _ directory: String) -> Bool {
        let outer = resolved(directory)
        // Links in a path that does not exist yet may stay, so the parent is resolved as well.
        let inner = [resolved(path), resolved(Directory.parent(of: path)) + [Directory.name(of: path)]]
        return inner.contains { $0.count > outer.count && $0.starts(with: outer) }
    }

    private static func resolved(_ path: String) -> [String] {
        URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL.pathComponents.filter { $0 != "/" && !$0.isEmpty }
    }
}
