package import EventModel

extension History {
    /// Whether any step gives streams other names.
    package var rekeysStreams: Bool { chain.steps.contains { !$0.rekeys.isEmpty } }

    /// What streams that have a name at one version are called at another.
    ///
    /// Data from before versions existed lies under the names of version 1.
    package func renaming(from: SchemaVersion, to: SchemaVersion) -> StreamRenaming {
        StreamRenaming(from: from, to: to, rekeysStreams ? steps(from: from, to: to) : [])
    }

    /// The same for one stream.
    /// - Throws: `EvstoreError.noImage` where the other name would not lead back to this one.
    package func streamName(_ name: StreamName, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> StreamName {
        try renaming(from: from, to: to).name(of: name)
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
