package import EventModel
package import JSONText

extension History {
    /// The advice for a type that a version does not have: the versions that have it, and its names at this version.
    package func advice(onMissing type: String, at version: SchemaVersion) -> Advice {
        let holders = versions.filter { $0.events[type] != nil }.map(\.number)
        guard let first = holders.first, let last = holders.last else {
            let known = types(at: version)
            let all = Set(versions.flatMap(\.types)).sorted()
            if let meant = nearest(to: type, among: known) ?? nearest(to: type, among: all) { return "did you mean \(meant)?" }
            return "the types of \(version) are: \(known.joined(separator: ", "))"
        }
        let range = first == last ? "\(first)" : "\(first) to \(last)"
        let names = last < version ? names(of: type, from: last, upTo: version) : names(of: type, from: first, downTo: version)
        let there = names.isEmpty ? "and has no image at \(version)" : "and at \(version) is \(names.joined(separator: " or "))"
        let shown = names.first.map { Advice.Call.showShape(type: $0, version) } ?? .showShape(type: type, last)
        return "\(type) exists at \(range) \(there): \(shown)"
    }

    /// The names that a type of one version has at a newer version.
    package func names(of type: String, from old: SchemaVersion, upTo version: SchemaVersion) -> [String] {
        chain.steps.filter { old < $0.version && $0.version <= version }.reduce([type]) { names, compiled in
            names.flatMap { compiled.step.fates(of: $0, after: 0).map(\.type) }.filter { self[compiled.version]?.events[$0] != nil }.unique
        }
    }

    /// The names that a type of one version had at an older version.
    private func names(of type: String, from new: SchemaVersion, downTo version: SchemaVersion) -> [String] {
        chain.steps.filter { version < $0.version && $0.version <= new }.reversed().reduce([type]) { names, compiled in
            let before = self[compiled.version.previous]?.types ?? []
            return before.filter { old in compiled.step.fates(of: old, after: 0).contains { names.has($0.type) } }
        }
    }

    /// What a step makes of a type; nil if it makes none or several types, or if the step does not exist.
    package func successor(of type: String, at version: SchemaVersion) -> TypeSuccessor? {
        guard let step = chain.step(to: version)?.step, let file = self[version] else { return nil }
        let fates = step.fates(of: type, after: 0)
        guard fates.count == 1, file.events[fates[0].type] != nil else { return nil }
        return TypeSuccessor(type: fates[0].type, moving: MovingOps(fates[0].ops))
    }
}

extension [String] {
    /// The elements without duplicates, in order of first occurrence.
    fileprivate var unique: [String] {
        var seen: Set<Name> = []
        return filter { seen.insert($0) }
    }
}

/// What an event type becomes at the next version.
package struct TypeSuccessor: Sendable {
    package let type: String
    let moving: MovingOps

    /// The pointer of a member at the next version.
    package func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: 0) }
}
