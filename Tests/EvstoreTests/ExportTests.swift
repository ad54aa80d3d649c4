import EventModel
import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("Exporting")
struct ExportTests {
    /// More events than one worker writes at once, so that several take part.
    static let count = 9_500

    static func store() async throws -> TemporaryStore {
        let temporary = try await Orders.store(at: 2)
        for start in stride(from: 0, to: count, by: 1_900) {
            let events = try (start ..< start + 1_900).map { try Orders.placed("\($0 % 700)", at: $0 % 2 + 1) }
            _ = try await temporary.store.append(events)
        }
        return temporary
    }

    @Test("every event is a line, in the order of positions, however many workers write them", arguments: [1, 3])
    func order(jobs: Int) async throws {
        let temporary = try await Self.store()
        var options = Options.forTests
        options.replayJobs = jobs
        let store = try await EventStore.open(temporary.store.path, options: options)
        for version in [nil, SchemaVersion(1), SchemaVersion(2)] {
            var lines: [String] = []
            try await store.export(convertedTo: version, from: Position(7)) { text in
                #expect(text.last == UInt8(ascii: "\n"))
                lines += String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
                return true
            }
            var expected: [String] = []
            for position in 7 ... Self.count {
                let stored = try #require(try store.event(position: Position(UInt64(position))))
                let seen = try store.view(stored.position, at: version ?? stored.born)
                expected += seen.map { String(decoding: store.line($0), as: UTF8.self) }
            }
            #expect(lines == expected)
        }
        try await store.close()
    }

    @Test("an export ends where nothing more is wanted, and where its caller fails")
    func ends() async throws {
        struct Full: Error {}
        let temporary = try await Self.store()
        var pieces = 0
        try await temporary.store.export { _ in
            pieces += 1
            return false
        }
        #expect(pieces == 1)
        await #expect(throws: Full.self) { try await temporary.store.export { _ in throw Full() } }
        try await temporary.store.export(from: Position(UInt64(Self.count + 1))) { _ in
            Issue.record("there is nothing behind the last event")
            return true
        }
    }

    @Test("a cancelled export returns the position to go on from")
    func cancelled() async throws {
        let temporary = try await Self.store()
        let error = await #expect(throws: EvstoreError.self) {
            try await inCancelledTask {
                try await temporary.store.export { _ in
                    Issue.record("nothing is wanted any more")
                    return true
                }
            }
        }
        #expect(error == .interrupted(again: "export again, from position 1"))
    }

    @Test("a time that an offset carries out of the years 0 to 9999 comes out with an offset, and in again as it was")
    func farTimes() async throws {
        let temporary = try await ImportTests.store()
        let texts = ["0000-01-01T00:30:00+01:00", "9999-12-31T23:30:00.5-23:59", "0000-01-01T00:00:00+23:59", "2026-01-02T03:04:05Z"]
        let lines = texts.enumerated().map { String(ImportTests.line($0.offset).dropLast()) + #","time":"\#($0.element)"}"# + "\n" }
            .joined()
        _ = try await ImportTests().run(temporary, lines)
        for format in EventFormat.allCases {
            var text = ""
            try await temporary.store.export(format: format) { lines in
                text += String(decoding: lines, as: UTF8.self)
                return true
            }
            let copy = try await ImportTests.store()
            #expect(try await ImportTests().run(copy, text).added == 4)
            for number in 1 ... 4 {
                let position = Position(UInt64(number))
                #expect(try copy.store.event(position: position)?.time == temporary.store.event(position: position)?.time)
            }
        }
        let never = try NewEvent.event("order-9", "OrderPlaced", #"{"id":"9","customer":"Ann","total":1}"#)
        var far = never
        far.time = Timestamp(microseconds: .max)
        await #expect { try await temporary.store.append([far]) } throws: { ($0 as? EvstoreError)?.code == "invalidLine" }
    }
}
