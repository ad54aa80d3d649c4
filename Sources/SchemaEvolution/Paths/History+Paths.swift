package import EventModel
package import Hashing
internal import JSONText

/// A type of event at one version.
package struct TypeAtVersion: Hashable, Sendable {
    package let type: String
    package let version: SchemaVersion

    package init(type: String, version: SchemaVersion) { (self.type, self.version) = (type, version) }
}

extension History {
    /// What events of a type born at one version are at another.
    package func path(type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        try PathCompiler.compile(self, type: type, born: born, to: target)
    }

    /// The steps between two versions, in either order, lowest first.
    func steps(from: SchemaVersion, to: SchemaVersion) -> [CompiledStep] {
        let (low, high) = (min(from, to), min(max(from, to), head))
        return chain.steps.filter { $0.version > low && $0.version <= high }
    }

    /// What the steps between two versions may lose or refuse.
    package func opClass(from: SchemaVersion, to: SchemaVersion) -> OpClass {
        steps(from: from, to: to).reduce(into: .iso) { $0.formUnion($1.opClass) }
    }

    /// The versions between two, whose steps have no way down.
    package func oneWaySteps(from: SchemaVersion, to: SchemaVersion) -> [SchemaVersion] {
        steps(from: from, to: to).filter { $0.opClass.contains(.oneWay) }.map(\.version)
    }

    /// What the steps between two versions lose by declaration.
    package func losses(from: SchemaVersion, to: SchemaVersion) -> [LossDeclaration] {
        steps(from: from, to: to).flatMap(\.losses)
    }

    /// The losses on the way of events of a type that a step declares: under the names that the type has on its way.
    package func declaredLosses(of type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> [LossDeclaration] {
        var found: [LossDeclaration] = []
        for loss in losses(from: born, to: target) {
            let before = try path(type: type, born: born, to: max(born, loss.version.previous)).types
            let after = try path(type: type, born: born, to: loss.version).types
            if before.contains(loss.type) || after.contains(loss.type) { found.append(loss) }
        }
        return found
    }

    /// The types as stored, each at its birth version, whose events can have an image of `type` at a version.
    package func ancestry(of type: String, at version: SchemaVersion) -> Set<TypeAtVersion> {
        var found: Set<TypeAtVersion> = []
        for file in versions {
            for stored in file.types {
                do {
                    if try path(type: stored, born: file.number, to: version).types.contains(type) {
                        found.insert(TypeAtVersion(type: stored, version: file.number))
                    }
                } catch {
                    // Steps that this program does not know: such events may have any image.
                    found.insert(TypeAtVersion(type: stored, version: file.number))
                }
            }
        }
        return found
    }

    /// The digest of every item of the steps at or below a version that touches the types, in either
    /// direction and under the names they had: what a fingerprint depends on.
    package func stepsDigest(for types: Set<String>, at version: SchemaVersion) -> Digest {
        var hasher = SHA256Hasher()
        var names = types
        if let adopt = versions.first?.adopt { hasher.update(adopt.json.canonical()) }
        for step in chain.steps.filter({ $0.version <= version }).map(\.step).reversed() {
            for item in step.items.reversed() {
                var touched: [String] = []
                switch item.action {
                case .payload(let selection, _): touched = names.filter(selection.contains)
                case .reserve: break
                // The names of streams belong to every type.
                case .event(is Rekey, _): touched = Array(names)
                case .event(let op, _):
                    touched = names.filter { op.predecessors(of: $0) != nil }
                    names = Set(names.flatMap { op.predecessors(of: $0) ?? [$0] })
                }
                guard !touched.isEmpty else { continue }
                var subject = item.node.json
                // A list of types does not depend on the others in it.
                if case .object(let members) = subject, item.node.member("on") != nil {
                    subject = .object(
                        members.filter { $0.name != "on" } + [.init(name: "on", value: .array(touched.sorted().map { .string($0) }))])
                }
                let text = subject.canonical()
                hasher.update(UInt64(text.count))
                hasher.update(text)
            }
        }
        return hasher.finalize()
    }
}
