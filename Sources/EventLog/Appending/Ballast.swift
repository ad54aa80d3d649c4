internal import Bytes
package import EventModel
package import LMDB
internal import Logging
internal import Platform

/// `ballast`: a file that reserves room on the disk for the operations that lead out of a full disk, such as a rollback.
struct Ballast: Sendable {
    private static let fileName = "/ballast"
    private let store: String
    private let bytes: Int
    private let floorBytes: Int

    init(_ store: String, _ options: Options) {
        (self.store, bytes, floorBytes) = (store, options.ballastBytes, options.freeDiskFloorBytes)
    }

    /// Fills the file where enough room is left beside it.
    /// - Parameter isKnown: whether this process has filled the file before, so that its size is reliable; a copy of the file may be all
    ///   holes.
    func fill(isKnown: Bool = true) throws {
        let status = try Directory.status(store + Self.fileName)
        guard bytes > 0, isKnown ? status?.bytes ?? 0 < bytes : min(status?.bytes ?? 0, status?.bytesOnDisk ?? 0) < bytes,
            try Directory.freeBytes(store) >= UInt64(floorBytes) + UInt64(bytes)
        else { return }
        try File(store + Self.fileName, .create).reserve(bytes)
    }

    var bytesKept: UInt64 {
        get throws { UInt64(try Directory.status(store + Self.fileName)?.bytesOnDisk ?? 0) }
    }

    /// Frees the file's room, or so many bytes of it; returns how many bytes the file had, nil where it had none.
    func lend(part: Int = .max) throws -> Int? {
        guard Guard.ballast.isOn, let kept = try Directory.status(store + Self.fileName)?.bytes, kept > 0 else { return nil }
        let file = try File(store + Self.fileName, .write)
        try file.truncate(to: max(kept - part, 0))
        // Some file systems free the room only with the next sync.
        try file.sync()
        return kept
    }

    /// Takes back the room of a file that had so many bytes, since what it was lent for has failed nevertheless. Where others have used the
    /// room meanwhile, the file stays as it is, until there is enough to fill it.
    func takeBack(_ kept: Int) {
        do throws(StorageError) { try File(store + Self.fileName, .write).reserve(kept) } catch {}
    }

    /// Runs `body`; if the disk is full, frees the ballast, or a part of it, and runs `body` once more. It must be safe to repeat `body`.
    /// - Parameter lacksRoom: whether the room would help against an error.
    func lent<R>(part: Int = .max, where lacksRoom: (any Error) -> Bool = Self.isFullDisk, _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            guard lacksRoom(error), let kept = try lend(part: part) else { throw error }
            do { return try body() } catch {
                takeBack(kept)
                throw error
            }
        }
    }

    /// Much more than the blocks of `lock.mdb` and `turn`, which need room where a copy has made them holes, or has left them out.
    private static let locksBytes = 1 << 20

    /// Opens an environment of the store. Even a reader writes to its files of locks: where they have no room, the ballast gives them some.
    func opening(_ directory: String, _ configuration: Environment.Configuration) throws -> Environment {
        func lacksRoom(_ error: any Error) -> Bool {
            guard let error = error as? StorageError else { return false }
            // A missing file is made under a name that only begins so.
            let isOfLocks = error.path.map { Directory.name(of: $0).hasPrefix("lock.mdb") } ?? false
            return isOfLocks && Self.isFullDisk(error) && !error.lacksInodes
        }
        return try lent(part: Self.locksBytes, where: lacksRoom) { try Environment.open(directory: directory, configuration) }
    }

    static func isFullDisk(_ error: any Error) -> Bool {
        if case EvstoreError.diskFull = error { return true }
        return (error as? StorageError)?.isDiskFull(below: Options().freeDiskFloorBytes) ?? false
    }
}

extension EventLog {
    /// Opens an environment whose files lie in the store; where its files of locks have no room, they get some of the ballast's.
    package func opening(_ directory: String, _ configuration: Environment.Configuration) throws -> Environment {
        try ballast.opening(directory, configuration)
    }

    /// Runs an operation that leads out of a full disk, with the ballast's room if it needs that. Appends and replays never use it.
    package func withBallast<R>(_ body: () async throws(EvstoreError) -> R) async throws(EvstoreError) -> R {
        do { return try await body() } catch {
            guard !isReadOnly, isOfThisProcess, Ballast.isFullDisk(error) else { throw error }
            let kept: Int
            do {
                guard let lent = try ballast.lend() else { throw error }
                kept = lent
            } catch { throw storeError(error, path, doing: "making room") }
            logger.warning("the disk of \(path) is full: the ballast's \(options.ballastBytes) bytes are given up for this")
            do { return try await body() } catch {
                ballast.takeBack(kept)
                throw error
            }
        }
    }
}

/// Whether the disk has room for appends. Asks the disk only now and then if it has far more than is needed.
struct FreeSpace {
    private let path: String
    private let floorBytes: Int
    /// The free bytes when the disk was last asked, less those appended since.
    private var known: (bytes: UInt64, asked: Instant)?
    private static let interval = Duration.milliseconds(100)

    init(_ path: String, floorBytes: Int) { (self.path, self.floorBytes) = (path, floorBytes) }

    /// - Throws: `EvstoreError.diskFull` where less than the floor would be left.
    mutating func check(_ appends: [CommitQueue.Append]) throws {
        let wanted = UInt64(appends.sum { 2 * $0.request.payloadBytes })
        let needed = UInt64(floorBytes) + wanted
        if let known, known.bytes / 2 >= needed, known.asked.duration(to: .now) < Self.interval {
            self.known?.bytes -= wanted
            return
        }
        let free = freeBytes(path)
        known = (free - min(free, wanted), .now)
        if free < needed, Guard.floor.isOn { throw EvstoreError.diskFull(path: path, freeBytes: free, neededBytes: needed) }
    }
}
