internal import EventModel
internal import LMDB
internal import Platform

/// Where a store is made, and how it gets to its path: completely or not at all, even if the process is killed at any moment.
///
/// If nothing is at the path, the store is made beside it and renamed in one step. An existing directory may not be renamable: it may be a
/// mount point, the target of a link, or have an owner who may not write around it. In that case the store is made in a directory within
/// it, and its names are then moved up one after the other. `evstore.json` comes last, and makes the directory a store.
///
///     PATH.new-<16 hex>    beside the path: a store that is being made
///     PATH/.new-<16 hex>   within it: the same
///     PATH/.evstore-moving within it: a completed store whose names are being moved up; one maker at a time has that name
///
/// Each has its maker's lock (`OwnedDirectory`), so that the next maker can recognize leftovers and remove them.
struct StoreLocation {
    private static let made = ".new-"
    private static let moving = ".evstore-moving"
    /// A directory at the root of some kinds of file systems.
    private static let lostAndFound = "lost+found"
    /// The names that are moved up before the one that makes it a store, in this order. Every store has the first one: until it has moved,
    /// nothing has.
    private static let movedNames = StoreFiles.names.filter { $0 != Manifest.name }

    private let path: String
    private let isThere: Bool

    /// - Throws: `EvstoreError.usage` where a link leads nowhere.
    init(_ store: String) throws {
        path = Directory.trimmed(store)
        isThere = try Directory.status(path) != nil
        if !isThere, try Directory.ownStatus(path) != nil {
            throw EvstoreError.usage("\(path) is a link that leads to no directory", fix: "make that directory, or name another path")
        }
    }

    /// Whether a path lies in a directory that is to become the store, or is that directory.
    static func isMade(_ path: String, for store: String) -> Bool { path.hasPrefix(Directory.trimmed(store) + made) }

    /// The beginning of a new directory's name.
    var prefix: String { isThere ? "\(path)/\(Self.made)" : path + Self.made }

    /// Whether the directory existed and does not exist any more.
    var isGone: Bool { get throws { try isThere && Directory.status(path) == nil } }

    /// Whether a store can be made there: nothing is there, or a directory that has only leftovers of makers.
    static func isFree(_ path: String) throws -> Bool {
        guard let status = try Directory.status(path) else { return true }
        guard status.isDirectory else { return false }
        let names = try Directory.names(path)
        guard names.contains(moving) else { return names.allSatisfy(isLeft) }
        return try isMakers("\(path)/\(moving)") && names.allSatisfy { isLeft($0) || movedNames.contains($0) }
    }

    /// Whether the directory under the name that makers use belongs to a maker: a directory of somebody else has other names in it.
    private static func isMakers(_ moving: String) throws -> Bool {
        guard try Directory.ownStatus(moving)?.isDirectory == true else { return false }
        return try StoreFiles.namesLeft(in: moving).allSatisfy(StoreFiles.names.contains)
    }

    private static func isLeft(_ name: String) -> Bool {
        name == moving || name == lostAndFound || OwnedDirectory.isMade(name, behind: made)
    }

    /// - Throws: `EvstoreError`: unsafeFileSystem, unsafePermissions, usage, storeExists.
    func check(_ options: Options) throws {
        guard isThere else { return try StoreFiles.checkPlace(Directory.parent(of: path), options, EventLog.silent) }
        try sweepMoved()
        guard try Self.isFree(path) else { throw EvstoreError.storeExists(path: path) }
        try StoreFiles.checkPlace(path, options, EventLog.silent)
        try StoreFiles.checkOwn(path)
    }

    /// Removes the leftovers of makers that were killed.
    func sweep() throws {
        if isThere { try sweepMoved() }
        try OwnedDirectory.sweep(prefix, overwriting: KeyedFiles.isOne)
    }

    /// Removes from a store the leftovers of a maker that was killed after its last step, or that lost to another one.
    static func sweepStore(_ store: String) throws {
        let names = try Directory.names(store)
        guard names.contains(where: { $0 != lostAndFound && isLeft($0) }) else { return }
        try StoreLocation(store).sweep()
    }

    private func sweepMoved() throws {
        guard try Self.isMakers(own(Self.moving)) else { return }
        _ = try OwnedDirectory.withAbandoned(own(Self.moving)) { () throws(StorageError) in try takeBack(movedUp()) }
    }

    private func own(_ name: String) -> String { "\(path)/\(name)" }

    /// Moves a store that was made under a name with the prefix to its path.
    func move(_ made: String) throws {
        guard isThere else {
            do throws(StorageError) { try Directory.rename(made, to: path) } catch { throw taken(error) }
            return try Directory.sync(Directory.parent(of: path))
        }
        do throws(StorageError) { try Directory.rename(made, to: own(Self.moving)) } catch { throw taken(error) }
        var moved: [String] = []
        do {
            // Order: checked after the rename, since from there on no other maker moves anything up.
            guard try Directory.names(path).allSatisfy(Self.isLeft) else { throw EvstoreError.storeExists(path: path) }
            let names = try Directory.names(own(Self.moving))
            for name in Self.movedNames where names.contains(name) {
                try moveUp(name)
                moved.append(name)
            }
            // Order: all other names are durable before the one that makes it a store.
            try Directory.sync(path)
            try moveUp(Manifest.name)
        } catch {
            try takeBack(moved)
            throw error
        }
        try Directory.removeEmpty(own(Self.moving))
        try Directory.sync(path)
        try Directory.syncName(of: path)
    }

    /// Moves a name up, but never over something that was put there meanwhile.
    private func moveUp(_ name: String) throws {
        guard try Directory.ownStatus(own(name)) == nil else { throw EvstoreError.storeExists(path: path) }
        try Directory.rename(own("\(Self.moving)/\(name)"), to: own(name))
    }

    private func taken(_ error: StorageError) -> any Error {
        error.name == "ENOTEMPTY" || error.name == "EEXIST" ? EvstoreError.storeExists(path: path) : error
    }

    /// The names that a maker had moved up when it was killed before its last step.
    private func movedUp() throws(StorageError) -> [String] {
        let left = try Directory.names(own(Self.moving))
        guard left.contains(Manifest.name), try Directory.ownStatus(own(Manifest.name)) == nil else { return [] }
        return Array(Self.movedNames.prefix { !left.contains($0) })
    }

    /// Removes the names that were moved up, and everything else of the store.
    private func takeBack(_ moved: [String]) throws(StorageError) {
        for name in moved { try Directory.remove(own(name), overwriting: KeyedFiles.isOne) }
        let moving = own(Self.moving)
        // Order: renamed in one step, since another maker may use a name once nothing is left under it.
        let left = own(Self.made) + OwnedDirectory.number()
        try Directory.rename(moving, to: left)
        try Directory.remove(left, overwriting: KeyedFiles.isOne)
        try Directory.sync(path)
    }

    /// Removes a store that only this process has open. From the first step on it is no store, and if the process is killed, it leaves what
    /// a killed maker leaves.
    /// - Parameter keepsDirectory: whether the directory stays, since it was there before the store.
    func discard(keepsDirectory: Bool) throws {
        let owned = try OwnedDirectory(own(Self.made))
        defer { withExtendedLifetime(owned) {} }
        try Directory.rename(owned.path, to: own(Self.moving))
        try Directory.rename(own(Manifest.name), to: own("\(Self.moving)/\(Manifest.name)"))
        try takeBack(Self.movedNames)
        if !keepsDirectory { try Directory.removeEmpty(path) }
    }
}
