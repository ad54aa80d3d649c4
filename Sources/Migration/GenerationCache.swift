internal import EventModel
internal import Platform
internal import Projections

/// Keeps generations open while a migration reads them repeatedly: opening one maps a file.
final class GenerationCache: Sendable {
    private let known = Monitor<[String: Generation]>([:])

    func get(_ path: String, or open: () throws(EvstoreError) -> Generation) throws(EvstoreError) -> Generation {
        if let generation = known.withLock({ $0[path] }) { return generation }
        let generation = try open()
        known.withLock { $0[path] = generation }
        return generation
    }

    /// Closes the generation of a name: a crash left it, it is deleted, and another one gets the name.
    func forget(_ path: String) { known.withLock { $0[path] = nil } }
}
