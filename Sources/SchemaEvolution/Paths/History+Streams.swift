package import EventModel

extension History {
    /// Whether any step renames streams.
    package var rekeysStreams: Bool { chain.rekeysStreams }

    /// Converts stream names from one version to another.
    ///
    /// Data from before versions existed is stored under the names of version 1.
    package func renaming(from: SchemaVersion, to: SchemaVersion) -> StreamRenaming {
        StreamRenaming(from: from, to: to, rekeysStreams ? steps(from: from, to: to) : [])
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
