internal import Bytes
package import EventModel
package import Hashing
package import JSONText

/// One schema version as declared in its file: the shapes of its events, and the step from the previous version.
package struct VersionFile: Hashable, Sendable {
    package let number: SchemaVersion
    /// The application releases that write this version, as dotted numbers.
    package let labels: [String]
    /// The day of its release; from then on, the content that the digest covers must not change.
    package let released: String?
    package let description: String?
    /// The oldest version in which every event of this one must have an image; nil means the previous version.
    package let forward: SchemaVersion?
    /// The items of the step from the previous version; nil if the file has none.
    package let upcast: FileNode?
    /// How data from before versions existed becomes events; in version 1 only.
    package let adopt: FileNode?
    package let events: [Name: EventShape]
    /// The names of the event types, in the order of the file.
    package let types: [String]
    /// RFC 8785 form of the whole file, which a store keeps.
    package let canonical: [UInt8]
    /// SHA-256 of RFC 8785 without released, labels, description and deprecated.
    package let digest: Digest
    /// The name of the file as findings show it.
    package let file: String

    package var isReleased: Bool { released != nil }

    /// The location of the file as a whole.
    package var mark: FileLocation { FileLocation(file: file, line: 1, column: 1) }

    /// The locations of the version's number and labels.
    let numberMark: FileLocation
    let labelsMark: FileLocation

    package static func == (a: VersionFile, b: VersionFile) -> Bool { a.canonical == b.canonical }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension VersionFile {
    /// Checks a payload as an append does: valid JSON, one object, fitting the type's shape and naming a stream.
    /// - Returns: the stream that the type's template names; nil if there is none.
    @discardableResult
    package func validate(_ payload: [UInt8], as type: String, limits: JSONLimits = JSONLimits()) throws(EvstoreError) -> String? {
        guard let event = events[type] else { throw .unknownType(type, version: number, known: types) }
        do throws(JSONError) { _ = try JSONScanner.validate(payload.lent, limits: limits) } catch {
            throw EvstoreError(error)
        }
        do throws(ShapeError) { return try event.validatedStream(of: payload.lent) } catch {
            throw .invalidEvent(type: type, version: number, pointer: error.pointer, reason: error.reason)
        }
    }
}
