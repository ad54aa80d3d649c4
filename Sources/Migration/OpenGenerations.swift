internal import EventModel
internal import Platform
internal import Projections

/// Generations that stay open while a migration looks at them again and again: opening one maps a file.
final class OpenGenerations: Sendable {
    private let known = Monitor<[String: Generation]>([:])

    func get(_ path: String, or open: () throws(EvstoreError) -> Generation) throws(EvstoreError) -> Generation {
        if let generation = known.withLock({ $0[path] }) { return generation }
        let generation = try open()
        known.withLock { $0[path] = generation }
        return generation
    }

    /// Closes the generation of a name: it was left by a crash and is deleted, and another one gets its name.
    func forget(_ path: String) { known.withLock { $0[path] = nil } }
}
