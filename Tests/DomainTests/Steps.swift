import Synchronization

/// The steps that a migration reported.
final class Steps: Sendable {
    private let steps = Mutex<[String]>([])

    var all: [String] { steps.withLock { $0 } }

    func add(_ step: String) { steps.withLock { $0.append(step) } }
}
