internal import Bytes
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

    /// Reads `v1.yaml` … `vN.yaml` and, where there is one, `projections.yaml` on the calling thread, and checks all of them together.
    ///
    /// Blocks the calling thread while it reads the files.
    /// - Throws: `EvstoreError`: schemaInvalid with every finding, usage where there is no such directory.
    public static func load(_ directory: String) throws(EvstoreError) -> Schemas {
        let history = try History.load(directory: directory)
        for name in ["projections.yaml", "projections.json"] where isThere(directory + "/" + name) {
            let definitions = try DefinitionSet.load(file: directory + "/" + name, history: history)
            return Schemas(directory: directory, history: history, definitions: definitions)
        }
        return Schemas(directory: directory, history: history, definitions: .empty)
    }

    /// The same with the code behind its `swift` ops.
    func with(_ steps: SwiftSteps) -> Schemas {
        Schemas(directory: directory, history: history.with(steps), definitions: definitions)
    }

    /// Converts every event of `fixtures/` to every version, and compares with what was recorded: an event that is seen otherwise now is a
    /// finding, also where the code of a Swift step has changed under the same revision. Works on the calling thread.
    ///
    /// Blocks the calling thread while it reads the files.
    /// - Throws: `EvstoreError.programNeeded` where a step is not among these.
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

    /// Whether a version's file says when it was released, so that what its digest covers stays.
    public func isReleased(_ version: SchemaVersion) -> Bool { history[version]?.isReleased ?? false }

    /// What is odd without being wrong, such as a missing lock.
    public var warnings: [Finding] { history.warnings }

    /// The version that `v5`, `5` or a label names.
    /// - Throws: `EvstoreError.unknownVersion` where none has that name.
    public func version(named text: String) throws(EvstoreError) -> SchemaVersion { try history.resolve(text) }
}
