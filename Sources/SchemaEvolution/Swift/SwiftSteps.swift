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
            return entries.keys.sorted().flatMap { entries[$0] ?? [] }.compactMap { $0.op as? BoundSwiftStep }
        }
    }
}
