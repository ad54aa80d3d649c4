public import EventModel
internal import Platform
package import Projections
public import SchemaEvolution
internal import SchemaTools

/// The version files and projection definitions of one directory, read and checked.
public struct Schemas: Sendable {
    public let directory: String
    package let history: History
    package let definitions: DefinitionSet

    package init(directory: String, history: History, definitions: DefinitionSet) {
        (self.directory, self.history, self.definitions) = (directory, history, definitions)
    }

    /// Reads `v1.yaml` … `vN.yaml` and, where there is one, `projections.yaml`, and checks all of them together.
    ///
    /// Blocks the calling thread while it reads the files.
    /// - Throws: `EvstoreError`: schemaInvalid with every finding, usage where the directory does not exist.
    public static func load(_ directory: String) throws(EvstoreError) -> Schemas {
        let history = try History.load(directory: directory)
        for name in ["projections.yaml", "projections.json"] where isThere(directory + "/" + name) {
            let definitions = try DefinitionSet.load(file: directory + "/" + name, history: history)
            return Schemas(directory: directory, history: history, definitions: definitions)
        }
        return Schemas(directory: directory, history: history, definitions: .empty)
    }

    /// These schemas with the Swift code of their `swift` ops.
    func with(_ steps: SwiftSteps) -> Schemas {
        Schemas(directory: directory, history: history.with(steps), definitions: definitions)
    }

    /// Converts every event of `fixtures/` to every version, and compares the images with the recorded ones. An image that differs is a
    /// finding, also where the code of a Swift step has changed under the same revision.
    ///
    /// Blocks the calling thread while it reads the files.
    /// - Throws: `EvstoreError`: programNeeded where `steps` lacks a step, misuse where two of them have one id.
    public func verifyFixtures(steps: [any SwiftStep] = []) throws(EvstoreError) -> [Finding] {
        guard let fixtures = try Fixtures.load(directory: directory, history) else { return [] }
        return try fixtures.verify(history.with(SwiftSteps(steps))).findings
    }

    private static func isThere(_ path: String) -> Bool {
        do throws(SystemFailure) {
            _ = try InputFile(path: path)
            return true
        } catch { return !error.isNotFound }
    }

    /// The newest version.
    public var head: SchemaVersion { history.head }

    /// Whether a version's file names a release date, so that everything its digest covers must not change.
    public func isReleased(_ version: SchemaVersion) -> Bool { history[version]?.isReleased ?? false }

    /// Warnings: oddities that are not errors, such as a missing lock.
    public var warnings: [Finding] { history.warnings }

    /// Returns the version that `v5`, `5` or a label names.
    /// - Throws: `EvstoreError.unknownVersion` where none has that name.
    public func version(named text: String) throws(EvstoreError) -> SchemaVersion { try history.resolve(text) }
}
