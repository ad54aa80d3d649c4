import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("What is told of an adoption")
struct AdoptionReportTests {
    private static let version = """
        evstore: 1
        version: 1
        adopt:
          - {when: {path: /kind, equals: star}, as: Starred, stream: "of-{/who}", keep: [/n], default: {/at: $time}}
          - {when: {path: /kind, equals: long}, as: Longed, keep: [/id]}
          - {when: {path: /kind, equals: free}, as: Free, keep: [/n]}
          - otherwise: quarantine
        events:
          Starred: {required: [at], properties: {n: {type: integer}, at: {type: string, format: date-time}}}
          Longed: {stream: "l-{/id}", required: [id], properties: {id: {type: string}}}
          Free: {properties: {n: {type: integer}}}
        """

    /// A line of old data, and what becomes of it.
    private struct Old {
        var json: String
        /// Nil where no case takes it, or its members do not fit.
        var type: String?
        var stream = "$unknown"
        /// Why a template does not name its stream; nil where it does, or where there is none.
        var reason: String?
        var (kept, defaulted): (UInt64, UInt64) = (0, 0)
        var left: [String] = []

        init(_ random: inout SeededGenerator) {
            let n = Int.random(in: 0 ... 99, using: &random)
            let nothing = "/who should be a value that names the stream, found nothing"
            switch Int.random(in: 0 ... 8, using: &random) {
            case 0:
                (json, type, stream) = (#"{"kind":"star","who":"w\#(n)","n":\#(n)}"#, "Starred", "of-w\(n)")
                (kept, defaulted, left) = (1, 1, ["/kind", "/who"])
            case 1:
                (json, type) = (#"{"kind":"star","n":\#(n),"more":{}}"#, "Starred")
                (kept, defaulted, left, reason) = (1, 1, ["/kind", "/more"], nothing)
            case 2:
                (json, type) = (#"{"kind":"star","who":null}"#, "Starred")
                (defaulted, left, reason) = (1, ["/kind", "/who"], nothing)
            case 3:
                (json, type) = (#"{"kind":"star","who":["w\#(n)"]}"#, "Starred")
                (defaulted, left) = (1, ["/kind", "/who"])
                reason = "/who should be a value that names the stream, found an object or an array"
            case 4: (json, type, stream, kept, left) = (#"{"kind":"long","id":"i\#(n)"}"#, "Longed", "l-i\(n)", 1, ["/kind"])
            case 5:
                (json, type) = (#"{"kind":"long","id":"\#(String(repeating: "i", count: 199 + n))"}"#, "Longed")
                (kept, left) = (1, ["/kind"])
                reason = "/id should be short enough for a stream name of 200 bytes, found \(201 + n) bytes"
            case 6: (json, type, left) = (#"{"kind":"free","who":"w\#(n)"}"#, "Free", ["/kind", "/who"])
            case 7: json = #"{"kind":"star","who":"w\#(n)","n":"\#(n)"}"#
            default: json = #"{"kind":"other","n":\#(n),"who":"w\#(n)"}"#
            }
        }
    }

    @Test("an import and a plan say of old data what reads make of it, in numbers and for the streams that stay unknown line by line")
    func counts() async throws {
        var random = SeededGenerator.announced()
        for count in [1, 7, 60, 200] {
            let all = (0 ..< count).map { _ in Old(&random) }
            let temporary = try await TemporaryStore.make(try SchemaFiles(versions: [Self.version]).load())
            let file = try temporary.write(all.map { $0.json + "\n" }.joined(), to: "old.jsonl")
            let report = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(0))
            let told = try #require(report.adoption)
            let adopted = all.filter { $0.type != nil }
            #expect((told.events, told.quarantined) == (UInt64(count), UInt64(count - adopted.count)))
            #expect(told.unnamed == UInt64(adopted.count { $0.stream == "$unknown" }))
            #expect((told.kept, told.defaulted) == (adopted.map(\.kept).reduce(0, +), adopted.map(\.defaulted).reduce(0, +)))
            #expect(told.notKept == adopted.flatMap(\.left).reduce(into: [:]) { $0[$1, default: 0] += 1 })
            let listed = all.indices.filter { all[$0].reason != nil }
            #expect(
                told.unnamedLines.map { "\($0.line) \($0.type) \($0.pointer) \($0.reason)" }
                    == listed.map { "\($0 + 1) \(all[$0].type ?? "") \(all[$0].reason ?? "")" })
            #expect(report.unadopted.map(\.line) == all.indices.filter { all[$0].type == nil }.map { UInt64($0 + 1) })

            var seen: [String] = []
            try temporary.store.readAll(at: SchemaVersion(1)) { event in
                seen.append("\(event.type) in \(event.stream)")
                return true
            }
            #expect(seen == adopted.map { "\($0.type ?? "") in \($0.stream)" })

            var planned = try await temporary.store.plan(to: SchemaVersion(1)).adoption
            planned?.unnamedLines = told.unnamedLines
            #expect(planned == told)
        }
    }
}
