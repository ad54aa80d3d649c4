package import EventModel

/// The steps in Swift that a program has, by id.
package struct SwiftSteps: Sendable {
    package static let none = SwiftSteps()

    private var steps: [String: any SwiftStep] = [:]

    private init() {}

    /// - Throws: `EvstoreError.misuse` where two have one id.
    package init(_ list: [any SwiftStep]) throws(EvstoreError) {
        for step in list where steps.updateValue(step, forKey: step.id) != nil {
            throw .misuse("the step \(step.id) is registered twice")
        }
    }

    package var isEmpty: Bool { steps.isEmpty }

    subscript(_ id: String) -> (any SwiftStep)? { steps[id] }
}

extension History {
    /// The same versions with the code of a program behind their `swift` ops.
    package func with(_ steps: SwiftSteps) -> History {
        steps.isEmpty ? self : History(versions: versions, warnings: warnings, swiftSteps: steps)
    }

    /// - Throws: `EvstoreError.programNeeded` with the first step up to a version that this program can't run.
    package func requireSwiftSteps(through version: SchemaVersion) throws(EvstoreError) {
        for step in chain.steps where step.version <= version {
            if let missing = step.missingSwiftSteps.first { throw .programNeeded(what: missing) }
        }
    }

    /// The steps in Swift between two versions that this program can't run, in words.
    package func missingSwiftSteps(from: SchemaVersion, to: SchemaVersion) -> [String] {
        steps(from: from, to: to).flatMap(\.missingSwiftSteps)
    }

    /// The steps in Swift between two versions, in words and in their order, each with the types of the versions `floor` … `to` - 1
    /// whose events come up through it: those that a program without the step can't append once `to` is live.
    package func typesUpThroughSwift(
        from: SchemaVersion, to: SchemaVersion, floor: SchemaVersion
    ) throws(EvstoreError) -> [(step: String, types: [String])] {
        let steps = steps(from: from, to: to).filter(\.hasSwiftSteps)
        if steps.isEmpty || from >= to { return [] }
        var found: [String: Set<String>] = [:]
        for born in floor.through(to.previous) {
            for type in types(at: born) {
                let path = try path(type: type, born: born, to: to)
                for step in path.swiftStepsUp(from: from) { found[step, default: []].insert(type) }
            }
        }
        return Self.words(of: steps).compactMap { step in found[step].map { (step, $0.sorted()) } }
    }

    /// The steps in Swift between two versions, in words and in their order, each with the types of the versions above `to` whose events
    /// come down through its code alone: a program without it can't read them at `to`. No shadow keeps their images there.
    package func typesDownThroughSwift(
        from: SchemaVersion, to: SchemaVersion
    ) throws(EvstoreError) -> [(step: String, types: [TypeAtVersion])] {
        let steps = steps(from: from, to: to).filter(\.hasSwiftSteps)
        if steps.isEmpty || from <= to { return [] }
        var found: [String: [TypeAtVersion]] = [:]
        for file in versions where to < file.number && file.number <= from {
            for type in file.types {
                let path = try path(type: type, born: file.number, to: to)
                for step in path.swiftStepsDown { found[step, default: []].append(TypeAtVersion(type: type, version: file.number)) }
            }
        }
        return Self.words(of: steps).compactMap { step in found[step].map { (step, $0) } }
    }

    private static func words(of steps: [CompiledStep]) -> [String] {
        steps.flatMap(\.boundSwiftSteps).map(\.words).reduce(into: []) { words, one in if !words.contains(one) { words.append(one) } }
    }
}

extension CompiledStep {
    /// Whether it runs code of the application.
    var hasSwiftSteps: Bool { !boundSwiftSteps.isEmpty }

    var missingSwiftSteps: [String] {
        boundSwiftSteps.compactMap(\.missing).reduce(into: []) { words, one in if !words.contains(one) { words.append(one) } }
    }

    var boundSwiftSteps: [BoundSwiftStep] {
        stages.flatMap { stage -> [BoundSwiftStep] in
            guard case .payload(let entries) = stage else { return [] }
            return entries.sortedNames.flatMap { entries[$0] ?? [] }.compactMap { $0.op as? BoundSwiftStep }
        }
    }
}

extension Path {
    /// The steps in Swift above a version that run on the way up.
    fileprivate func swiftStepsUp(from: SchemaVersion) -> Set<String> {
        var found: Set<String> = []
        root.visit { segment in
            for op in segment.ops where op.direction == .up && op.step > from {
                if let bound = op.op as? BoundSwiftStep { found.insert(bound.words) }
            }
        }
        return found
    }

    /// The steps in Swift that run whenever an event is led down: not those above a step that keeps a shadow, from which the way begins.
    fileprivate var swiftStepsDown: Set<String> {
        var (running, kept): ([(words: String, step: SchemaVersion)], SchemaVersion?) = ([], nil)
        root.visit { segment in
            for op in segment.ops where op.direction == .down && !op.blocks {
                guard let bound = op.op as? BoundSwiftStep else { continue }
                if bound.keepsShadow { kept = min(kept ?? op.step, op.step) } else { running.append((bound.words, op.step)) }
            }
        }
        return Set(running.filter { step in kept.map { step.step < $0 } ?? true }.map(\.words))
    }
}
