internal import EventModel
internal import Synchronization

/// The steps of a history, compiled when they are first asked for and kept with it.
final class Chain: Sendable {
    private let versions: [VersionFile]
    private let swiftSteps: SwiftSteps
    /// Whether findings that only repeat others are said too.
    let isWhole: Bool
    private let compiled: Mutex<[CompiledStep]?>

    /// - Parameter steps: where they are not to be compiled from the files.
    init(_ versions: [VersionFile], _ swiftSteps: SwiftSteps, steps: [CompiledStep]? = nil, isWhole: Bool = false) {
        (self.versions, self.swiftSteps, self.isWhole) = (versions, swiftSteps, isWhole)
        compiled = Mutex(steps)
    }

    /// The step to each version from 2 on, in order.
    var steps: [CompiledStep] {
        compiled.withLock { steps in
            if let steps { return steps }
            let made = versions.indices.dropFirst().map {
                StepCompiler.compile(versions[$0], after: versions[$0 - 1], swiftSteps, isWhole: isWhole)
            }
            steps = made
            return made
        }
    }

    /// The step that leads to a version from the one before.
    func step(to version: SchemaVersion) -> CompiledStep? {
        version.number >= 2 && version.number <= versions.count ? steps[version.number - 2] : nil
    }
}
