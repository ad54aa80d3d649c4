package import EventModel
internal import LMDB
internal import Logging
internal import System

/// `ballast`: a file that only keeps room, for what leads out of a full disk.
struct Ballast: Sendable {
    private static let fileName = "/ballast"
    private let store: String
    private let bytes: Int
    private let floorBytes: Int

    init(_ store: String, _ options: Options) {
        (self.store, bytes, floorBytes) = (store, options.ballastBytes, options.freeDiskFloorBytes)
    }

    /// Takes its room where there is enough beside it.
    /// - Parameter isKnown: whether the file was filled before, so that its size tells; a copy of it may be all holes.
    func fill(isKnown: Bool = true) throws {
        let status = try Directory.status(store + Self.fileName)
        guard bytes > 0, isKnown ? status?.bytes ?? 0 < bytes : min(status?.bytes ?? 0, status?.bytesOnDisk ?? 0) < bytes,
            try Directory.freeBytes(store) >= UInt64(floorBytes) + UInt64(bytes)
        else { return }
        try File(store + Self.fileName, .create).reserve(bytes)
    }

    /// The room that it keeps now.
    var bytesKept: UInt64 {
        get throws { UInt64(try Directory.status(store + Self.fileName)?.bytesOnDisk ?? 0) }
    }

    /// Gives its room back to the disk; false where it has none.
    func lend() throws -> Bool {
        guard Guard.ballast.isOn, try Directory.status(store + Self.fileName)?.bytes ?? 0 > 0 else { return false }
        let file = try File(store + Self.fileName, .write)
        try file.truncate(to: 0)
        // Some file systems give the room back with the next sync.
        try file.sync()
        return true
    }

    /// Runs `body`, and where the disk is full once more, with the ballast's room. `body` leaves nothing half done.
    func lent<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            guard Self.isFullDisk(error), try lend() else { throw error }
            return try body()
        }
    }

    static func isFullDisk(_ error: any Error) -> Bool {
        if case EvstoreError.diskFull = error { return true }
        return (error as? StorageError)?.isDiskFull(below: Options().freeDiskFloorBytes) ?? false
    }
}

extension EventLog {
    /// A disk without that much room is no reason not to open.
    func fillBallast() {
        do { try ballast.fill(isKnown: false) } catch { logger.warning("the ballast of \(path): \(error)") }
    }

    /// The same for a command that leads out of a full disk. Appends and replays never take that room.
    package func withBallast<R>(_ body: () async throws(EvstoreError) -> R) async throws(EvstoreError) -> R {
        do { return try await body() } catch {
            guard !isReadOnly, isOfThisProcess, Ballast.isFullDisk(error) else { throw error }
            do { guard try ballast.lend() else { throw error } } catch { throw storeError(error, path, doing: "making room") }
            logger.warning("the disk of \(path) is full: the ballast's \(options.ballastBytes) bytes are given up for this")
            return try await body()
        }
    }
}
