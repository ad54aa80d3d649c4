package import EventModel
package import Hashing

/// One schema version as its file declares it: the shape of every event, and the step from the version before.
package struct VersionFile: Hashable, Sendable {
    package let number: SchemaVersion
    /// The application releases that write this version, as dotted numbers.
    package let labels: [String]
    /// The day it was released; from then on what the digest covers never changes.
    package let released: String?
    package let description: String?
    /// The oldest version that must have an image of every event of this one; the version before where nil.
    package let forward: SchemaVersion?
    /// The items of the step from the version before; nil where the file has none.
    package let upcast: FileNode?
    /// How data from before versions existed becomes events; in version 1 only.
    package let adopt: FileNode?
    package let events: [Name: EventShape]
    /// The names of the event types, in the order of the file.
    package let types: [String]
    /// RFC 8785 of the whole file: what a store keeps.
    package let canonical: [UInt8]
    /// SHA-256 of RFC 8785 without released, labels, description and deprecated.
    package let digest: Digest
    /// The name of the file, as findings print it.
    package let file: String

    package var isReleased: Bool { released != nil }

    /// The place of the file as a whole.
    package var mark: Mark { Mark(file: file, line: 1, column: 1) }

    /// The places of the version's number and of its labels.
    let numberMark: Mark
    let labelsMark: Mark

    package static func == (a: VersionFile, b: VersionFile) -> Bool { a.canonical == b.canonical }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}
