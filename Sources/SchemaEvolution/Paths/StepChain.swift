internal import EventModel
internal import Synchronization

/// The steps of a history, compiled on first use and cached.
final class StepChain: Sendable {
    private let versions: [VersionFile]
    private let swiftSteps: SwiftSteps
    /// Whether findings that only repeat others are reported too.
    let isWhole: Bool
    private let compiled: Mutex<CompiledChain?>

    /// - Parameter steps: steps that are already compiled; nil compiles them from the files.
    init(_ versions: [VersionFile], _ swiftSteps: SwiftSteps, steps: [CompiledStep]? = nil, isWhole: Bool = false) {
        (self.versions, self.swiftSteps, self.isWhole) = (versions, swiftSteps, isWhole)
        compiled = Mutex(steps.map(CompiledChain.init))
    }

    /// The steps to each version from 2 on, in order.
    var steps: [CompiledStep] { whole.steps }

    /// The changes of stream names by all steps, in order.
    var rekeys: [(step: SchemaVersion, rekey: BoundRekey)] { whole.rekeys }

    private var whole: CompiledChain {
        compiled.withLock { compiled in
            if let compiled { return compiled }
            let made = CompiledChain(
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

    func steps(from: SchemaVersion, to: SchemaVersion) -> ArraySlice<CompiledStep> {
        let chain = whole
        return chain.steps[chain.range(from, to)]
    }

    func opClass(from: SchemaVersion, to: SchemaVersion) -> OpClass {
        let chain = whole
        // By index, since a step is large and would be copied.
        return chain.range(from, to).reduce(into: .iso) { $0.formUnion(chain.steps[$1].opClass) }
    }

    /// What a path between two versions crosses, in its order.
    func crossings(from: SchemaVersion, to: SchemaVersion) -> ArraySlice<Crossing> {
        let chain = whole
        let range = chain.range(from, to)
        let (low, high) = (chain.ends[range.lowerBound], chain.ends[range.upperBound])
        return from < to ? chain.up[low ..< high] : chain.down[chain.down.count - high ..< chain.down.count - low]
    }
}

/// A stage of a step, as a path crosses it.
final class Crossing: Sendable {
    let stage: CompiledStep.Stage
    let step: CompiledStep
    /// Whether this is the last stage of its step on the path.
    let isLast: Bool

    private init(_ stage: CompiledStep.Stage, of step: CompiledStep, isLast: Bool) {
        (self.stage, self.step, self.isLast) = (stage, step, isLast)
    }

    fileprivate static func all(of step: CompiledStep, _ direction: Direction) -> [Crossing] {
        // A step with an empty list still ends a version, where narrowed types are validated.
        let stages = step.stages.isEmpty ? [.payload([:])] : step.stages
        let ordered = direction == .up ? stages : stages.reversed()
        return ordered.indices.map { Crossing(ordered[$0], of: step, isLast: $0 == ordered.count - 1) }
    }
}

private struct CompiledChain {
    let steps: [CompiledStep]
    let rekeys: [(step: SchemaVersion, rekey: BoundRekey)]
    /// What the way up crosses from the first step on, and the way down from the last step on.
    let up, down: [Crossing]
    /// The number of crossings before each step and behind the last one.
    let ends: [Int]

    init(_ steps: [CompiledStep]) {
        self.steps = steps
        rekeys = steps.flatMap { step in step.rekeys.map { (step.version, $0) } }
        up = steps.flatMap { Crossing.all(of: $0, .up) }
        down = steps.reversed().flatMap { Crossing.all(of: $0, .down) }
        ends = [0] + up.indices.filter { [up] in up[$0].isLast }.map { $0 + 1 }
    }

    /// The indices of the steps between two versions, given in either order.
    func range(_ from: SchemaVersion, _ to: SchemaVersion) -> Range<Int> {
        let low = min(from, to).number - 1
        return (low ..< max(low, max(from, to).number - 1)).clamped(to: steps.indices)
    }
}
