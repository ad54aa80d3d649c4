import Evstore
import EvstoreTesting
import TestSupport
import Torturing

extension BuiltProgram {
    /// The second process of tests on one store of notes.
    static var storeWorker: BuiltProgram { BuiltProgram("StoreWorker") }
}

extension TemporaryStore {
    /// A store of notes with a map of two megabytes, open in this process.
    static func notes() async throws -> TemporaryStore {
        var options = Options.forTests
        options.mapBytes = 2 << 20
        return try await TemporaryStore.make(SchemaFiles(Note.versionFile, projections: Note.projections).load(), options: options)
    }
}
