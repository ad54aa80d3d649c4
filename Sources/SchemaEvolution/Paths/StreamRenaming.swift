package import EventModel

/// Converts stream names from one version to another: the rekeys of the steps in between, in order.
package struct StreamRenaming: Sendable {
    private let from, to: SchemaVersion
    private let rekeys: [(step: SchemaVersion, rekey: BoundRekey)]

    /// - Parameter steps: the steps between the versions, lowest first.
    init(from: SchemaVersion, to: SchemaVersion, _ steps: [CompiledStep]) {
        (self.from, self.to) = (from, to)
        let rekeys = steps.flatMap { step in step.rekeys.map { (step.version, $0) } }
        self.rekeys = from < to ? rekeys : rekeys.reversed()
    }

    /// Whether all streams keep their names.
    package var isEmpty: Bool { rekeys.isEmpty }

    /// - Throws: `EvstoreError.noImage` if the converted name would not convert back.
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
    /// Nil if the text is not a valid stream name.
    fileprivate init?(checking text: String) {
        do { try self.init(text) } catch { return nil }
    }
}
