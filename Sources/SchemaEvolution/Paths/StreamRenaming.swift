package import EventModel

/// Converts stream names from one version to another: the rekeys of the steps in between, in order.
package struct StreamRenaming: Sendable {
    private let from, to: SchemaVersion
    private let rekeys: [(step: SchemaVersion, rekey: BoundRekey)]

    /// - Parameter all: the rekeys of all steps, lowest first.
    init(from: SchemaVersion, to: SchemaVersion, _ all: [(step: SchemaVersion, rekey: BoundRekey)]) {
        (self.from, self.to) = (from, to)
        let (low, high) = (min(from, to), max(from, to))
        let rekeys = all.filter { low < $0.step && $0.step <= high }
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

extension History {
    /// Whether any step renames streams.
    package var rekeysStreams: Bool { !chain.rekeys.isEmpty }

    /// Converts stream names from one version to another.
    ///
    /// Data from before versions existed is stored under the names of version 1.
    package func renaming(from: SchemaVersion, to: SchemaVersion) -> StreamRenaming {
        StreamRenaming(from: from, to: to, chain.rekeys)
    }

    /// Converts the name of one stream.
    /// - Throws: `EvstoreError.noImage` if the converted name would not convert back.
    package func streamName(_ name: StreamName, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> StreamName {
        try renaming(from: from, to: to).name(of: name)
    }

    /// The names under which the log may store a stream, given its name at a version; newest first, each with the versions that use it. A
    /// stream is stored under the name that it had at the birth version of its first event.
    package func spellings(of stream: StreamName, at version: SchemaVersion) -> [StreamAlias] {
        var found: [StreamAlias] = []
        for number in (0 ... max(head, version).number).reversed() {
            let other = SchemaVersion(number)
            // The stream was never stored at a version where it can't be named.
            let name: StreamName
            do { name = try streamName(stream, from: version, to: other) } catch { continue }
            if let index = found.firstIndex(where: { $0.name == name }) {
                found[index].versions.insert(other)
            } else {
                found.append(StreamAlias(name: name, versions: [other]))
            }
        }
        return found
    }
}

/// One of the names of a stream, with the versions that use it.
package struct StreamAlias: Hashable, Sendable {
    package let name: StreamName
    package var versions: Set<SchemaVersion>
}
