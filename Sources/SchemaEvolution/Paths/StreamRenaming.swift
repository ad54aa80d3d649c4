package import EventModel

/// What streams that have a name at one version are called at another: the rekeys of the steps between, in their order.
package struct StreamRenaming: Sendable {
    private let from, to: SchemaVersion
    private let rekeys: [(step: SchemaVersion, rekey: BoundRekey)]

    /// - Parameter steps: those between the versions, lowest first.
    init(from: SchemaVersion, to: SchemaVersion, _ steps: [CompiledStep]) {
        (self.from, self.to) = (from, to)
        let rekeys = steps.flatMap { step in step.rekeys.map { (step.version, $0) } }
        self.rekeys = from < to ? rekeys : rekeys.reversed()
    }

    /// Whether every stream keeps its name.
    package var isEmpty: Bool { rekeys.isEmpty }

    /// - Throws: `EvstoreError.noImage` where the other name would not lead back to this one.
    package func name(of name: StreamName) throws(EvstoreError) -> StreamName {
        var name = name
        for (step, rekey) in rekeys {
            guard let next = rekey.renamed(name.text, from < to ? .up : .down), let made = StreamName(checking: next) else {
                throw .noImage(
                    ImageFailure(
                        type: "the stream", born: from, target: to, step: step, op: rekey.label, pointer: ImageFailure.streamName,
                        expected: "a name that leads back from the other version", found: quoted(name.text)))
            }
            name = made
        }
        return name
    }
}

extension StreamName {
    /// Nil where the text names no stream.
    fileprivate init?(checking text: String) {
        do { try self.init(text) } catch { return nil }
    }
}
