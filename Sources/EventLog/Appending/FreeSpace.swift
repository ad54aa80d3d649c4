internal import Bytes
internal import EventModel
internal import Platform

/// Whether the disk has room for appends. Asks the disk only now and then if it has far more than is needed.
struct FreeSpace {
    private let path: String
    private let floorBytes: Int
    /// The free bytes when the disk was last asked, less those appended since.
    private var known: (bytes: UInt64, asked: ContinuousClock.Instant)?
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
