internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// How much space a log takes, and who reads it.
package struct LogUsage: Hashable, Sendable {
    /// A process with an open read transaction, and how many commits were made since the one that it reads.
    package struct Reader: Hashable, Sendable {
        package var process: Int32
        package var commitsBehind: UInt64
    }

    package var bytes: UInt64
    package var readers: Int
    package var readersMax: Int
    /// The reader of the oldest commit; nil where there is no reader.
    package var oldestReader: Reader?
    package var transaction: UInt64
    /// The number of events whose index entries are only in memory.
    package var overlayEvents: UInt64
    /// The free bytes on the disk, and the bytes that the ballast reserves there.
    package var freeBytes: UInt64
    package var ballastBytes: UInt64
    /// Why the files will not stay where they are; nil where they will.
    package var passingPlace: String?
}

extension EventLog {
    /// Why appends are refused for lack of space; nil where there is enough.
    package var roomComplaint: String? {
        let free = freeBytes(path)
        if free >= UInt64(clamping: options.freeDiskFloorBytes) { return nil }
        return "the disk has \(free) bytes free, and appends are refused below \(options.freeDiskFloorBytes)"
    }

    package var isInPlace: Bool {
        do throws(StorageError) { try access.environment.checkInPlace() } catch { return false }
        return true
    }

    /// How much space the log takes, and who reads it.
    package var usage: LogUsage {
        get throws {
            do {
                let usage = try access.environment.usage
                let oldest = try access.environment.oldestReader.map { reader in
                    // The transaction may have begun since.
                    let behind = UInt64(usage.transaction) - UInt64(min(reader.transaction, usage.transaction))
                    return LogUsage.Reader(process: reader.process, commitsBehind: behind)
                }
                return LogUsage(
                    bytes: UInt64(usage.pages * usage.pageBytes), readers: usage.readers, readersMax: usage.readersMax,
                    oldestReader: oldest,
                    transaction: UInt64(usage.transaction), overlayEvents: try read { $0.moment.overlay.events },
                    freeBytes: freeBytes(path), ballastBytes: try ballast.bytesKept,
                    passingPlace: isInPlace ? try StoreFiles.passingPlace(path) : nil)
            } catch { throw storeError(error, path, doing: "asking the store for its size") }
        }
    }
}

/// Checks an open log every few seconds, even while it is not used: frees the slots of dead readers, notices files that were replaced, and
/// refills the ballast.
final class HealthMonitor: Sendable {
    private static let milliseconds = 5_000
    private let environment: Environment
    private let ballast: Ballast?
    private let logger: Logger
    private let isEnding = Monitor(false)
    private let isLooking = Monitor(false)

    /// - Parameter ballast: nil where this process only reads the store.
    init(_ environment: Environment, _ ballast: Ballast?, _ logger: Logger) {
        (self.environment, self.ballast, self.logger) = (environment, ballast, logger)
    }

    func start() throws { _ = try WorkerThread.start("evstore-watch") { self.run() } }

    /// Stops the checks; returns when their thread has ended.
    func end() {
        isEnding.change { $0 = true }
        isLooking.wait(until: { !$0 }, { _ in })
    }

    private func run() {
        var said = ""
        while !isEnding.wait(milliseconds: Self.milliseconds, until: { $0 }) {
            isLooking.change { $0 = true }
            defer { isLooking.change { $0 = false } }
            if isEnding.withLock({ $0 }) { return }
            do {
                try Environment.clearAllStaleReaders()
                try environment.checkInPlace()
                try ballast?.fill()
                said = ""
            } catch {
                // Each error is logged once, and not every few seconds.
                if error.advised.description != said {
                    logger.error("looking after \(environment.directory)", metadata: ["error": .stringConvertible(error.advised)])
                }
                said = error.advised.description
            }
        }
    }
}
