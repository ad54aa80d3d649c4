import Evstore
import EvstoreTesting
import Foundation
import LMDB
import TestSupport
import Testing

@Suite("A store that several processes have open")
struct SharedMapTests {
    @Test("one that opened it small goes on reading, querying and appending while another grows it several times")
    func grownByAnother() async throws {
        let notes = try await TemporaryStore.notes()
        let store = notes.store
        var count: UInt64 = 0
        for round in 1 ... 4 {
            // Four megabytes a round, from a map of one: the other process doubles it again and again.
            let outcome = try BuiltProgram.storeWorker.run("append", notes.path, "\(1 << 20)", "400")
            #expect(outcome.exit == 0, "\(outcome.signal ?? 0) \(outcome.errors)")
            count += 400
            #expect(try store.last().position.rawValue == count)
            #expect(try store.read(StreamName("note-\(count - 1)")).count == 1)
            var rows: [String] = []
            try await store.query("notes", key: "\(count - 1)") { row in
                rows.append(row.json)
                return true
            }
            #expect(rows == [#"{"id":"\#(count - 1)"}"#])
            let receipt = try await store.append([.event("own-\(round)", "Noted", #"{"id":"own\#(round)","text":"mine"}"#)])
            count += 1
            #expect(receipt.position.rawValue == count)
            #expect(try await store.count("notes").rows == count)
        }
        #expect(try await store.maintenance.verify().ok)
        try await store.close()
    }

    @Test("tables are opened of a file that another process has made larger than the map")
    func tablesOfAGrownFile() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        func open(_ tables: String...) throws -> Environment {
            try Environment.open(directory: notes.path + "/log", .init(tables: tables, mapBytes: 1 << 20))
        }
        let environment = try open("types")
        defer { environment.close() }
        let outcome = try BuiltProgram.storeWorker.run("append", notes.path, "\(1 << 20)", "400")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let again = try open("types", "census")
        defer { again.close() }
        #expect(again === environment)
        _ = try again.table("census")
    }
}
