package import EventModel

package struct TypeAtVersion: Hashable, Sendable {
    private let name: Name
    package let version: SchemaVersion

    package init(type: String, version: SchemaVersion) { (name, self.version) = (Name(type), version) }

    package var type: String { name.text }
}

extension History {
    /// The path that converts events of a type from their birth version to another version.
    package func path(type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        try PathCompiler.compile(self, type: type, born: born, to: target)
    }

    /// The steps between two versions, given in either order, lowest first.
    func steps(from: SchemaVersion, to: SchemaVersion) -> ArraySlice<CompiledStep> { chain.steps(from: from, to: to) }

    /// What the steps between two versions may lose or refuse.
    package func opClass(from: SchemaVersion, to: SchemaVersion) -> OpClass { chain.opClass(from: from, to: to) }

    /// The versions between two whose steps have no downcast.
    package func oneWaySteps(from: SchemaVersion, to: SchemaVersion) -> [SchemaVersion] {
        steps(from: from, to: to).filter { $0.opClass.contains(.oneWay) }.map(\.version)
    }

    package func losses(from: SchemaVersion, to: SchemaVersion) -> [LossDeclaration] {
        steps(from: from, to: to).flatMap(\.losses)
    }

    /// The stored types, each at its birth version, whose events can have an image of one of `types` at a version.
    package func ancestry(of types: Set<Name>, at version: SchemaVersion) -> Set<TypeAtVersion> {
        var found: Set<TypeAtVersion> = []
        for file in versions {
            for stored in file.types {
                // If the program does not know some step, these events may have any image.
                var isAncestor = true
                do { isAncestor = try path(type: stored, born: file.number, to: version).types.contains(where: types.contains) } catch {}
                if isAncestor { found.insert(TypeAtVersion(type: stored, version: file.number)) }
            }
        }
        return found
    }
}

extension History {
    /// Whether any step merges events of one append.
    package var mergesEvents: Bool {
        chain.steps.contains { step in
            step.step.items.contains { item in
                if case .event(let entry) = item.action { entry.op is MergeEvents } else { false }
            }
        }
    }

    /// The types at a version whose events a later step merges with those of the given type, including that type; empty if no step does.
    package func types(mergedWith type: String, at version: SchemaVersion) throws(EvstoreError) -> Set<Name> {
        var found: Set<Name> = []
        var target = version.next
        while target <= head {
            let images = try Set(of: merging(type, version, target)?.types ?? [])
            for other in types(at: version) where !images.isEmpty && !found.contains(other) {
                if let path = try merging(other, version, target), !images.isDisjoint(with: Set(of: path.types)) { found.insert(other) }
            }
            target = target.next
        }
        return found
    }

    private func merging(_ type: String, _ version: SchemaVersion, _ target: SchemaVersion) throws(EvstoreError) -> Path? {
        let path = try path(type: type, born: version, to: target)
        return path.merges ? path : nil
    }
}

/// Why events of a type can't be converted to another version in one pass over their bytes: their ops are applied one after the other,
/// which takes about three times as long.
package struct SlowPathReport: Hashable, Sendable {
    /// Whether this applies to all events; otherwise only to those that some op treats differently from most.
    package let isForAll: Bool
    /// The ops that have no single-pass form, in the order of the path.
    package let causes: [String]

    /// The explanation as a sentence about events of the type.
    package var words: String {
        "\(isForAll ? "every event goes" : "some events go") through the ops one by one, at about a third of the speed of one pass: "
            + causes.joined(separator: "; ")
    }
}

extension History {
    /// Nil if all events that can be converted are converted in one pass, or stay unchanged.
    package func opByOp(_ type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> SlowPathReport? {
        let path = try path(type: type, born: born, to: target)
        if path.isUntouched { return nil }
        if born.number == 0 { return SlowPathReport(isForAll: true, causes: ["it is data from before versions existed"]) }
        if path.merges { return SlowPathReport(isForAll: true, causes: ["a step merges it with others of its append"]) }
        return FusedCompiler.opByOp(path.root, of: try requireShape(of: type, at: born).shape)
    }
}
