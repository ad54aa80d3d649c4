package import EventModel

extension History {
    /// Whether any step gives streams other names.
    package var rekeysStreams: Bool { chain.steps.contains { !$0.rekeys.isEmpty } }

    /// What a stream that has this name at one version is called at another.
    ///
    /// Data from before versions existed lies under the names of version 1.
    /// - Throws: `EvstoreError.noImage` where the other name would not lead back to this one.
    package func streamName(_ name: StreamName, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> StreamName {
        var text = name.text
        let steps = steps(from: from, to: to)
        let direction: Direction = from < to ? .up : .down
        for step in direction == .up ? steps : steps.reversed() {
            for rekey in direction == .up ? step.rekeys : step.rekeys.reversed() {
                guard let next = rekey.renamed(text, direction), let made = StreamName(checking: next) else {
                    throw .noImage(
                        ImageFailure(
                            type: "the stream", born: from, target: to, step: step.version, op: rekey.label,
                            pointer: ImageFailure.streamName,
                            expected: "a name that leads back from the other version", found: quoted(text)))
                }
                text = made.text
            }
        }
        return StreamName(unchecked: text)
    }

    /// The names under which the log may hold a stream that is called so at a version, newest first, each with the versions
    /// at which it is called so: a stream lies under the name it had at the birth version of its first event.
    package func spellings(of stream: StreamName, at version: SchemaVersion) -> [StreamSpelling] {
        var found: [StreamSpelling] = []
        for number in (0 ... max(head, version).number).reversed() {
            let other = SchemaVersion(number)
            // At a version where it can't be named it was never stored.
            let name: StreamName
            do { name = try streamName(stream, from: version, to: other) } catch { continue }
            if let index = found.firstIndex(where: { $0.name == name }) {
                found[index].versions.insert(other)
            } else {
                found.append(StreamSpelling(name: name, versions: [other]))
            }
        }
        return found
    }
}

/// One of the names of a stream, with the versions at which it is called so.
package struct StreamSpelling: Hashable, Sendable {
    package let name: StreamName
    package var versions: Set<SchemaVersion>
}

extension StreamName {
    /// Nil where the text names no stream.
    fileprivate init?(checking text: String) {
        do { try self.init(text) } catch { return nil }
    }
}
