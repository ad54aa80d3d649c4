internal import EventModel
internal import System

/// Doors between appends. One that has been overtaken is found out by the log, which asks to check again.
final class DoorPool: Sendable {
    private let idle = Monitor<[Door]>([])

    /// One that is there, or one made now where there is none, or a fresh one is asked for: then those that were made for
    /// an earlier state are forgotten.
    func take(isFresh: Bool, or make: () throws(EvstoreError) -> Door) throws(EvstoreError) -> Door {
        if !isFresh, let door = idle.withLock({ $0.popLast() }) { return door }
        let door = try make()
        idle.withLock { $0.removeAll { $0.stamp != door.stamp } }
        return door
    }

    func give(_ door: Door) {
        idle.withLock { doors in
            if doors.count < Self.keptMax, doors.allSatisfy({ $0.stamp == door.stamp }) { doors.append(door) }
        }
    }

    private static let keptMax = 16
}
