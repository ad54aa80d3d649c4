package import EventModel
package import Hashing

/// All schema versions, 1 … head without gaps; immutable and cheap to copy.
package struct History: Sendable {
    /// Version n is at index n - 1.
    package let versions: [VersionFile]
    /// Findings that are not errors, such as a missing lock.
    package let warnings: [Finding]
    /// SHA-256 over the numbers and digests of all versions.
    package let digest: Digest
    /// The program's code for `swift` ops.
    let swiftSteps: SwiftSteps
    /// The steps, compiled on first use.
    let chain: StepChain

    package static let empty = History(versions: [], warnings: [])

    /// - Precondition: the versions are 1 … n, in order.
    init(
        versions: [VersionFile], warnings: [Finding], swiftSteps: SwiftSteps = .none, steps: [CompiledStep]? = nil, reportsAll: Bool = false
    ) {
        (self.versions, self.warnings, self.swiftSteps) = (versions, warnings, swiftSteps)
        chain = StepChain(versions, swiftSteps, steps: steps, isWhole: reportsAll)
        var hasher = SHA256Hasher()
        for version in versions {
            hasher.update(UInt64(version.number.rawValue))
            hasher.update(version.digest.bytes)
        }
        digest = hasher.finalize()
    }

    /// The newest version; 0 if there is none.
    package var head: SchemaVersion { SchemaVersion(versions.count) }

    package var isEmpty: Bool { versions.isEmpty }

    /// The version file for a number; nil for 0 and above the head.
    package subscript(_ version: SchemaVersion) -> VersionFile? {
        version.number >= 1 && version <= head ? versions[version.number - 1] : nil
    }

    /// The names of the types at a version, in the order of its file; empty for 0 and above the head.
    package func types(at version: SchemaVersion) -> [String] { self[version]?.types ?? [] }

    package func shape(of type: String, at version: SchemaVersion) -> EventShape? { self[version]?.events[type] }

    /// The shape of a type. Throws an error that lists the existing types if there is none.
    package func requireShape(of type: String, at version: SchemaVersion) throws(EvstoreError) -> EventShape {
        guard let file = self[version] else { throw unknown(version.description) }
        guard let shape = file.events[type] else { throw .unknownType(type, version: version, known: file.types) }
        return shape
    }

    /// The history as it was when `version` was the newest version.
    package func through(_ version: SchemaVersion) -> History {
        History(versions: Array(versions.prefix(version.number)), warnings: warnings, swiftSteps: swiftSteps)
    }
}

/// A version in the form that a store keeps.
package struct StoredVersion: Hashable, Sendable {
    package let number: SchemaVersion
    package let canonical: [UInt8]

    package init(number: SchemaVersion, canonical: [UInt8]) { (self.number, self.canonical) = (number, canonical) }
}
