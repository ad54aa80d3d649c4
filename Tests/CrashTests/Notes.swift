import Evstore
import EvstoreTesting

extension BuiltProgram {
    /// The second process of tests on one store of notes.
    static var storeWorker: BuiltProgram { BuiltProgram("StoreWorker") }
}

extension TemporaryStore {
    /// A store of notes with a map of two megabytes, open in this process.
    static func notes() async throws -> TemporaryStore {
        let files = try SchemaFiles(
            """
            evstore: 1
            version: 1
            events:
              Noted:
                required: [id, text]
                properties: {id: {type: string}, text: {type: string}}
            """,
            projections: """
                evstore: 1
                projections:
                  notes:
                    - since: 1
                      key: /id
                      on:
                        Noted: {set: {/id: /id}}
                """)
        var options = Options.forTests
        options.mapBytes = 2 << 20
        return try await TemporaryStore.make(files.load(), options: options)
    }
}
