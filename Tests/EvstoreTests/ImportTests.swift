import Evstore
import EvstoreTesting
import Testing

@Suite("Importing")
struct ImportTests {
    static func line(_ id: Int, customer: String = "Ann", eventID: String? = nil) -> String {
        let member = eventID.map { #","id":"\#($0)""# } ?? ""
        return #"{"stream":"order-\#(id)","type":"OrderPlaced","data":{"id":"\#(id)","customer":"\#(customer)","total":1}\#(member)}"#
    }

    static func lines(_ range: Range<Int>) -> String { range.map { line($0) + "\n" }.joined() }

    /// A small store whose batches are of 10 lines.
    static func store() async throws -> TemporaryStore {
        var options = Options.forTests
        options.appendEventsMax = 10
        return try await TemporaryStore.make(try Orders.schemas(1), options: options)
    }

    func run(_ temporary: TemporaryStore, _ text: String, _ options: ImportOptions = .init()) async throws -> ImportReport {
        let file = try temporary.write(text, to: "input.jsonl")
        return try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: options)
    }

    @Test("a second run adds nothing, and a file that has grown adds only what is new")
    func repeatable() async throws {
        let temporary = try await Self.store()
        let first = try await run(temporary, Self.lines(0 ..< 25))
        #expect((first.read, first.added, first.skipped, first.position) == (25, 25, 0, Position(25)))
        let second = try await run(temporary, Self.lines(0 ..< 25))
        #expect((second.read, second.added, second.skipped, second.position) == (25, 0, 25, Position(25)))
        let grown = try await run(temporary, Self.lines(0 ..< 43))
        #expect((grown.read, grown.added, grown.skipped, grown.position) == (43, 18, 25, Position(43)))
        let again = try await run(temporary, Self.lines(0 ..< 43), ImportOptions(again: true))
        #expect((again.added, again.position) == (43, Position(86)))
    }

    @Test("a last line without a line feed counts as itself once the file has grown")
    func lastLine() async throws {
        let temporary = try await Self.store()
        let text = Self.lines(0 ..< 3)
        #expect(try await run(temporary, String(text.dropLast())).added == 3)
        let grown = try await run(temporary, text + "\n  \n" + Self.line(3))
        #expect((grown.read, grown.added, grown.skipped) == (4, 1, 3))
    }

    @Test("equal lines are different events")
    func equalLines() async throws {
        let temporary = try await Self.store()
        let text = String(repeating: Self.line(1) + "\n", count: 13)
        #expect(try await run(temporary, text).added == 13)
        #expect(try await run(temporary, text).added == 0)
        #expect(try temporary.store.read(try StreamName("order-1")).count == 13)
    }

    @Test("a line with an id is appended once, ever, and refused where it says something else")
    func ids() async throws {
        let temporary = try await Self.store()
        #expect(try await run(temporary, Self.line(1, eventID: "x") + "\n" + Self.line(2)).added == 2)
        let second = try await run(temporary, Self.line(3) + "\n" + Self.line(1, eventID: "x") + "\n" + Self.line(4, eventID: "y"))
        #expect((second.added, second.skipped) == (2, 1))
        let other = Self.line(5) + "\n" + Self.line(1, customer: "Bob", eventID: "x")
        await #expect {
            try await run(temporary, other)
        } throws: { error in
            guard case .refusedLine(2, _, .idReused(_, Position(1)?, nil))? = error as? EvstoreError else { return false }
            return true
        }
        #expect(try temporary.store.last().position == Position(4))
        let kept = try await run(temporary, other, ImportOptions(sameID: .keepFirst))
        #expect((kept.added, kept.skipped, kept.repeated) == (1, 1, 1))
    }

    @Test("an id that two lines of one file give is one event where they say the same, and else the error names both lines")
    func repeatedIDs() async throws {
        let temporary = try await Self.store()
        // The lines are in different batches.
        let same = Self.line(1, eventID: "x") + "\n" + Self.lines(2 ..< 14) + Self.line(1, eventID: "x")
        let report = try await run(temporary, same)
        #expect((report.added, report.skipped, report.repeated) == (13, 1, 1))
        let again = try await run(temporary, same)
        #expect((again.added, again.skipped, again.repeated) == (0, 14, 0))
        let twice = "\n" + Self.line(6, eventID: "z") + "\n" + Self.lines(20 ..< 33) + Self.line(6, customer: "Bob", eventID: "z")
        await #expect {
            try await run(temporary, twice)
        } throws: { error in
            guard case .refusedLine(16, _, .idReused(_, nil, 2))? = error as? EvstoreError else { return false }
            let error = error as? EvstoreError
            return error?.message.contains("in line 2") == true && error?.fix?.contains("sameID: .keepFirst") == true
        }
        let document = "[\(Self.line(7, eventID: "d")),\n\(Self.line(7, customer: "Bob", eventID: "d"))]"
        await #expect {
            try await run(temporary, document, ImportOptions(each: ""))
        } throws: { error in
            guard case .refusedElement(2, line: 2, _, .idReused(_, nil, 1))? = error as? EvstoreError else { return false }
            return (error as? EvstoreError)?.message.contains("in element 1") == true
        }
        let kept = try await run(temporary, twice, ImportOptions(sameID: .keepFirst))
        #expect((kept.added, kept.skipped, kept.repeated) == (14, 1, 1))
    }

    @Test("a bad line in a file changes nothing, and the error names the line")
    func badLineInFile() async throws {
        let temporary = try await Self.store()
        let text = Self.lines(0 ..< 30) + #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1"}}"# + "\n" + Self.lines(31 ..< 33)
        await #expect {
            try await run(temporary, text)
        } throws: { error in
            guard let error = error as? EvstoreError else { return false }
            return error.code == "invalidEvent" && error.place.line == 31
        }
        #expect(try temporary.store.last().position == .start)
        let accepted = try await run(temporary, text, ImportOptions(onError: .quarantine))
        #expect((accepted.read, accepted.added, accepted.quarantined) == (33, 32, 1))
        #expect(accepted.refused.map(\.line) == [31])
        let again = try await run(temporary, text, ImportOptions(onError: .quarantine))
        #expect((again.added, again.skipped, again.quarantined, again.leftOut) == (0, 32, 1, 1))
        #expect(again.refused == accepted.refused)
    }

    @Test("of a pipe, what came before a bad line stays, and a corrected run adds the rest")
    func badLineInPipe() async throws {
        let temporary = try await Self.store()
        let good = Self.lines(0 ..< 17)
        let pipe = try FilledPipe(good + "nonsense\n" + Self.lines(18 ..< 20))
        await #expect {
            try await temporary.store.importLines(from: .descriptor(pipe.descriptor), as: SchemaVersion(1))
        } throws: { ($0 as? EvstoreError)?.place.line == 18 }
        #expect(try temporary.store.last().position == Position(17))
        let corrected = try FilledPipe(good + Self.line(17) + "\n" + Self.lines(18 ..< 20))
        let report = try await temporary.store.importLines(from: .descriptor(corrected.descriptor), as: SchemaVersion(1))
        #expect((report.read, report.added, report.skipped, report.position) == (20, 3, 17, Position(20)))
    }

    @Test("a dry run counts what would happen and changes nothing")
    func dryRun() async throws {
        let temporary = try await Self.store()
        let report = try await run(temporary, Self.lines(0 ..< 12), ImportOptions(dryRun: true))
        #expect((report.read, report.added, report.position) == (12, 12, .start))
        #expect(try temporary.store.last().position == .start)
    }

    @Test("the list of a document is imported element by element")
    func document() async throws {
        let temporary = try await Self.store()
        let text = "{\"entries\": [\n" + (0 ..< 12).map { Self.line($0).replacing(",", with: ",\n  ") }.joined(separator: ",\n") + "\n]}"
        let report = try await run(temporary, text, ImportOptions(each: "/entries"))
        #expect(report.added == 12)
        #expect(try await run(temporary, text, ImportOptions(each: "/entries")).skipped == 12)
        await #expect { try await run(temporary, text, ImportOptions(each: "/other")) } throws: {
            ($0 as? EvstoreError)?.code == "invalidLine" && ($0 as? EvstoreError)?.place.file?.hasSuffix("input.jsonl") == true
        }
    }

    @Test("an error in a document names the file, the element and the line in which it begins; a malformed pointer is wrong usage")
    func places() async throws {
        let temporary = try await Self.store()
        let bad = #"{"stream":"order-1","type":"OrderPlaced","data":{}}"#
        let text = "\n{\"a\": [\(Self.line(1)), \(Self.line(2)),\n\n \(Self.line(3)), \(bad)\n,\(Self.line(4))]\n}"
        await #expect {
            try await run(temporary, text, ImportOptions(each: "/a"))
        } throws: { error in
            guard case .refusedElement(4, line: 4, let file?, .invalidEvent)? = error as? EvstoreError else { return false }
            let error = error as? EvstoreError
            return error?.place.line == 4 && error?.message.hasPrefix("\(file):4: element 4: ") == true
        }
        let report = try await run(temporary, text, ImportOptions(each: "/a", onError: .quarantine))
        #expect((report.added, report.refused.map(\.line), report.refused.map(\.element)) == (4, [4], [4]))
        for (document, pointer, code, line) in [
            ("{\"a\":[\n1,\n2", "/a", "invalidJSON", 3), ("[]", "a", "usage", nil), ("[]", "/~2", "usage", nil),
        ] as [(String, String, String, Int?)] {
            await #expect {
                try await run(temporary, document, ImportOptions(each: pointer))
            } throws: { error in
                let error = error as? EvstoreError
                return error?.code == code && error?.place.line == line && (line == nil) == (error?.place.file == nil)
            }
        }
    }

    @Test("an event of another stream than its type's template names is refused, as append refuses it, unless it is asked for")
    func streams() async throws {
        let temporary = try await Self.store()
        let wrong = Self.line(1).replacing("order-1", with: "order-2") + "\n" + Self.line(3)
        await #expect {
            try await run(temporary, wrong)
        } throws: { error in
            guard case .refusedLine(1, _, .streamMismatch("order-2", "order-1", _, _))? = error as? EvstoreError else { return false }
            return true
        }
        #expect(try await run(temporary, wrong, ImportOptions(onError: .quarantine)).quarantined == 1)
        let taken = try await run(temporary, wrong, ImportOptions(again: true, takesAnyStream: true))
        #expect((taken.added, taken.streamMismatches) == (2, 1))
    }

    @Test("a last line without its line break gets an error of its own")
    func endless() async throws {
        let temporary = try await Self.store()
        await #expect {
            try await run(temporary, Self.line(1) + "\n" + String(repeating: "x", count: 5 << 20))
        } throws: { ($0 as? EvstoreError)?.message.contains("has no line feed within the") == true }
    }

    @Test(
        "a line that is no event is refused with what is wrong with it",
        arguments: [
            ("[]", ""), (#"{"stream":"a","data":{}}"#, "/type"), (#"{"stream":"a","type":"OrderPlaced","data":{},"expect":1}"#, "/expect"),
            (#"{"stream":"a","type":"OrderPlaced"}"#, "/data"), (#"{"stream":"a","type":"OrderPlaced","data":[]}"#, "/data"),
            (#"{"stream":"a","type":"OrderPlaced","data":{},"steam":1}"#, "/steam"),
            (#"{"stream":"a","type":"OrderPlaced","data":{},"time":"today"}"#, "/time"),
            (#"{"stream":"a","type":"OrderPlaced","data":{},"version":"1"}"#, "/version"),
            (#"{"stream":5,"type":"OrderPlaced","data":{}}"#, "/stream"),
            (#"{"specversion":"2.0","type":"OrderPlaced","data":{}}"#, "/specversion"),
            (#"{"specversion":"1.0","type":"OrderPlaced","data_base64":""}"#, "/data_base64"),
        ])
    func badEnvelope(line: String, pointer: String) async throws {
        let temporary = try await Self.store()
        await #expect {
            try await run(temporary, line)
        } throws: { error in
            guard case .refusedLine(1, _, .invalidLine(_, pointer))? = error as? EvstoreError else { return false }
            return true
        }
    }

    /// At version 1, in which a text is what version 2 has as an integer.
    static func textStore() async throws -> TemporaryStore {
        let schemas = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {E: {required: [n], properties: {n: {type: string}}}}\n",
            """
            evstore: 1
            version: 2
            upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
            events: {E: {required: [n], properties: {n: {type: integer}}}}

            """,
            projections: "evstore: 1\nprojections: {r: [{since: 1, key: $stream, on: {E: {set: {/n: /n}}}}]}\n"
        ).load()
        return try await TemporaryStore.make(schemas, at: SchemaVersion(1))
    }

    @Test("a line whose event is there is skipped although the live version has no image of it; another such line is refused")
    func refusedNow() async throws {
        let temporary = try await Self.textStore()
        let store = temporary.store
        func line(_ id: String, _ text: String) -> String { #"{"stream":"s","type":"E","id":"\#(id)","data":{"n":"\#(text)"}}"# + "\n" }
        let before = line("1", "x") + line("2", "7")
        #expect(try await run(temporary, before).added == 2)
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine))
        // From a file, which is read twice, and from a pipe.
        let report = try await run(temporary, before + line("3", "8"))
        #expect((report.added, report.skipped, report.quarantined) == (1, 2, 0))
        for options in [ImportOptions(), ImportOptions(onError: .quarantine)] {
            let pipe = try FilledPipe(line("1", "x") + line("4", "9"))
            let report = try await store.importLines(from: .descriptor(pipe.descriptor), as: SchemaVersion(1), options: options)
            #expect(report.quarantined == 0)
        }
        for (id, text) in [("5", "y"), ("1", "y")] {
            await #expect(throws: EvstoreError.self) { _ = try await run(temporary, line(id, text)) }
        }
        let unknown = line("1", "x").replacing(#""type""#, with: #""version":9,"type""#)
        let listed = try await run(temporary, unknown + line("6", "1"), ImportOptions(onError: .quarantine))
        #expect((listed.added, listed.quarantined) == (1, 1))
        #expect(try store.last().position == Position(5))
    }

    @Test("an export is imported again as what it was")
    func roundTrip() async throws {
        let temporary = try await Self.store()
        _ = try await temporary.store.append([
            try .event("order-1", "OrderPlaced", #"{"id":"1", "customer":"Zoë \n","total":5}"#, id: "own", metadata: #"{"by":"me"}"#)
        ])
        _ = try await temporary.store.append([try Orders.placed("2", at: 1)])
        var text = ""
        try await temporary.store.export { lines in
            text += String(decoding: lines, as: UTF8.self)
            return true
        }
        let copy = try await Self.store()
        #expect(try await run(copy, text).added == 2)
        for position in 1 ... 2 {
            let (a, b) = (
                try #require(try temporary.store.event(position: Position(UInt64(position)))),
                try #require(try copy.store.event(position: Position(UInt64(position))))
            )
            #expect(try SameJSON.holds(a.payload, b.payload))
            #expect((a.id, a.stream, a.time, a.born, a.type) == (b.id, b.stream, b.time, b.born, b.type))
            #expect(a.metadata == b.metadata)
        }
    }
}
