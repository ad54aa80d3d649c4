internal import EventModel
internal import Synchronization

/// The steps of a history, compiled on first use and cached.
final class StepChain: Sendable {
    private let versions: [VersionFile]
    private let swiftSteps: SwiftSteps
    /// Whether findings that only repeat others are reported too.
    let isWhole: Bool
    private let compiled: Mutex<[CompiledStep]?>

    /// - Parameter steps: steps that are already compiled; nil compiles them from the files.
    init(_ versions: [VersionFile], _ swiftSteps: SwiftSteps, steps: [CompiledStep]? = nil, isWhole: Bool = false) {
        (self.versions, self.swiftSteps, self.isWhole) = (versions, swiftSteps, isWhole)
        compiled = Mutex(steps)
    }

    /// The steps to each version from 2 on, in order.
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

    /// The step from the previous version to the given one.
    func step(to version: SchemaVersion) -> CompiledStep? {
        version.number >= 2 && version.number <= versions.count ? steps[version.number - 2] : nil
    }
}
