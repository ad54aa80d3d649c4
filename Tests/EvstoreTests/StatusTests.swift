import EventLog
import EventModel
import EvstoreTesting
import Migration
import TestSupport
import Testing

@testable import Evstore

@Suite("What status says")
struct StatusTests {
    private static let version = """
        evstore: 1
        version: 1
        events:
          NoteTaken: {stream: "note-{/id}", required: [id], properties: {id: {type: string}}}
        """

    @Test("a reader that keeps the pages of many commits is complained of, by its number")
    func readers() {
        let long = OldestReader(process: 7, commitsBehind: 10_001)
        #expect(!OldestReader(process: 7, commitsBehind: 10_000).isLong && long.isLong)
        #expect(Complaint.longReader(long).message.contains("process 7"))
    }

    @Test("the last drill is found from the journal's end, and what was read is not read again")
    func lastDrill() async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: [Self.version]).load())
        let (store, rows) = (temporary.store, 20_000)
        #expect(try store.status().lastDrill == nil)
        try await store.log.update { update in
            try Journal.append(.init(.drill, outcome: "passed"), to: &update)
            for _ in 0 ..< rows { try Journal.append(.init(.key), to: &update) }
        }
        let first = try #require(try store.status().lastDrill)
        #expect(first.passed)
        // Whoever reads all of it ends at a row that is none.
        try await store.log.update { update in
            let broken = try #require(try update.rows(.journal).first)
            try update.put(.journal, broken.key, Array("no row".utf8))
        }
        #expect(throws: EvstoreError.self) { try store.maintenance.journal() }
        #expect(try store.status().lastDrill == first)
        try await store.log.update { update in
            try Journal.append(.init(.drill, outcome: "failed: restore"), to: &update)
            try Journal.append(.init(.key), to: &update)
        }
        #expect(try store.status().lastDrill?.passed == false)
        #expect(try store.maintenance.journal(newest: 2).map(\.kind) == [.key, .drill])
        #expect(try store.maintenance.journal(newest: 0).isEmpty)
        // Another process, which has read nothing yet, reads back to the drill.
        let other = try await EventStore.open(temporary.path, readOnly: true)
        #expect(try other.status().lastDrill?.passed == false)
        try await other.close()
    }
}
