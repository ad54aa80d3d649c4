internal import EventModel
internal import Synchronization

/// The steps of a history, compiled on first use and cached.
final class StepChain: Sendable {
    private let versions: [VersionFile]
    private let swiftSteps: SwiftSteps
    /// Whether findings that only repeat others are reported too.
    let isWhole: Bool
    private let compiled: Mutex<Compiled?>

    private struct Compiled {
        let steps: [CompiledStep]
        let rekeysStreams: Bool

        init(_ steps: [CompiledStep]) { (self.steps, rekeysStreams) = (steps, steps.contains { !$0.rekeys.isEmpty }) }
    }

    /// - Parameter steps: steps that are already compiled; nil compiles them from the files.
    init(_ versions: [VersionFile], _ swiftSteps: SwiftSteps, steps: [CompiledStep]? = nil, isWhole: Bool = false) {
        (self.versions, self.swiftSteps, self.isWhole) = (versions, swiftSteps, isWhole)
        compiled = Mutex(steps.map(Compiled.init))
    }

    /// The steps to each version from 2 on, in order.
    var steps: [CompiledStep] { whole.steps }

    /// Whether any step renames streams.
    var rekeysStreams: Bool { whole.rekeysStreams }

    private var whole: Compiled {
        compiled.withLock { compiled in
            if let compiled { return compiled }
            let made = Compiled(
                versions.indices.dropFirst().map {
                    StepCompiler.compile(versions[$0], after: versions[$0 - 1], swiftSteps, isWhole: isWhole)
                })
            compiled = made
            return made
        }
    }

    /// The step from the previous version to the given one.
    func step(to version: SchemaVersion) -> CompiledStep? {
        version.number >= 2 && version.number <= versions.count ? steps[version.number - 2] : nil
    }
}
