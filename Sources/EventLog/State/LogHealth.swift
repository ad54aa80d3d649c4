internal import EventModel
internal import LMDB
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
    /// The number of the newest commit.
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

    /// Whether the files at the path are those that are open.
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
