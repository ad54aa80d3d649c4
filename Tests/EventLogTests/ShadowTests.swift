import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import TestStores
import TestSupport
import Testing

@Suite("Shadows in records")
struct ShadowTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory)
    }

    private func shadowed(_ stream: String, _ payload: String, _ shadow: String) throws -> StoredEvent {
        var made = try event(stream, payload, metadata: #"{"m":1}"#)
        made.shadow = Array(shadow.utf8)
        return made
    }

    private func shadows(_ log: EventLog) throws -> [String] {
        var texts: [String] = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                texts.append("\(text(record.payload)) \(text(record.metadata)) \(record.hasShadow) \(text(record.shadow))")
            }
            return true
        }
        return texts
    }

    @Test("a shadow is read as it was appended, beside records without, also after a cut within the block and a reopen")
    func roundTrip() async throws {
        let kept = #"{"1":[]}"#
        try await log.add(
            shadowed("a", "1", kept), event("a", "2"), shadowed("b", "3", String(repeating: "x", count: 40_000)), event("b", "4"))
        let expected = ["1 {\"m\":1} true \(kept)", "2  false ", "3 {\"m\":1} true \(String(repeating: "x", count: 40_000))", "4  false "]
        #expect(try shadows(log) == expected)
        #expect(try log.payloads("b") == ["3", "4"])
        try await log.update { try $0.cut(to: Position(3)) }
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        #expect(try shadows(again) == Array(expected.prefix(3)))
        try await again.close()
    }

    @Test("a shadow is no part of the content's digest")
    func content() async throws {
        let other = try TemporaryDirectory()
        let bare = try makeLog(other)
        let given = try [shadowed("a", "1", #"{"1":[]}"#), shadowed("a", "2", "{}")].enumerated().map { index, event in
            var event = event
            event.id = try EventID("id-\(index)")
            return event
        }
        _ = try await log.append(AppendRequest(events: given))
        _ = try await bare.append(
            AppendRequest(
                events: given.map { event in
                    var event = event
                    event.shadow = []
                    return event
                }))
        #expect(try log.contentDigest() == bare.contentDigest())
        try await log.close()
        try await bare.close()
    }
}
