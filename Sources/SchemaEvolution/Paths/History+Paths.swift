package import EventModel

/// An event type at one version.
package struct TypeAtVersion: Hashable, Sendable {
    package let type: String
    package let version: SchemaVersion

    package init(type: String, version: SchemaVersion) { (self.type, self.version) = (type, version) }

    package static func == (left: TypeAtVersion, right: TypeAtVersion) -> Bool {
        left.version == right.version && left.type.isSame(as: right.type)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(version)
    }
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

    /// The declared losses of the steps between two versions.
    package func losses(from: SchemaVersion, to: SchemaVersion) -> [LossDeclaration] {
        steps(from: from, to: to).flatMap(\.losses)
    }

    /// The stored types, each at its birth version, whose events can have an image of `type` at a version.
    package func ancestry(of type: String, at version: SchemaVersion) -> Set<TypeAtVersion> {
        var found: Set<TypeAtVersion> = []
        for file in versions {
            for stored in file.types {
                do {
                    if try path(type: stored, born: file.number, to: version).types.has(type) {
                        found.insert(TypeAtVersion(type: stored, version: file.number))
                    }
                } catch {
                    // The program does not know some step, so these events may have any image.
                    found.insert(TypeAtVersion(type: stored, version: file.number))
                }
            }
        }
        return found
    }
}
