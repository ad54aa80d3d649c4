import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("What an input may look like")
struct InputFormsTests {
    /// A store of events of any content, which takes old data too.
    private static func store() async throws -> TemporaryStore {
        let version = #"{"evstore":1,"version":1,"adopt":[{"otherwise":"quarantine"}],"events":{"E":{"properties":{"x":{"any":true}}}}}"#
        return try await TemporaryStore.make(try SchemaFiles(versions: [version]).load())
    }

    private func run(
        _ temporary: TemporaryStore, _ text: String, as version: UInt32 = 1, each: String? = nil, onError: FailureRule = .stop
    ) async throws -> ImportReport {
        let file = try temporary.write(text, to: "\(UUID().uuidString).json")
        return try await temporary.store.importLines(
            from: .file(file), as: SchemaVersion(version), options: ImportOptions(each: each, onError: onError))
    }

    private func payloads(_ store: EventStore, at version: UInt32) throws -> [String] {
        var all: [String] = []
        try store.readAll(at: SchemaVersion(version)) { event in
            all.append(String(decoding: event.payload, as: UTF8.self))
            return true
        }
        return all
    }

    private static let event = #"{"stream":"s","type":"E","data":{"x":1}}"#

    @Test("data from before versions is any JSON object as it is, whatever it looks like, and its export comes back as it was")
    func oldData() async throws {
        let objects = [
            #"{"type":"contact.created","timestamp":"2026-01-01T00:00:00Z","data":{"id":"c1"}}"#,
            #"{"id":"evt_1","object":"event","type":"plan.created","data":{"object":{}},"livemode":false}"#, Self.event,
            #"{"specversion":"1.0","id":"1","source":"/a","type":"E","data":{"x":1}}"#, #"{"specversion":2}"#, "{}",
            #"{"stream":"s","type":"E","version":0,"data":{"x":1}}"#, #"{"sealed":"no","epoch":1,"position":2}"#,
        ]
        let temporary = try await Self.store()
        #expect(try await run(temporary, objects.joined(separator: "\n"), as: 0).added == 8)
        #expect(try payloads(temporary.store, at: 0) == objects)
        for format in EventFormat.allCases {
            var text = ""
            try await temporary.store.export(format: format) { lines in
                text += String(decoding: lines, as: UTF8.self)
                return true
            }
            let copy = try await Self.store()
            #expect(try await run(copy, text).added == 8)
            #expect(try payloads(copy.store, at: 0) == objects)
            #expect(try await run(temporary, text).added == 0)
        }
    }

    @Test("a byte order mark is passed over, of lines and of a document, and so is white space")
    func byteOrderMark() async throws {
        for text in ["\u{feff}\(Self.event)\r\n\r\n\(Self.event)", "\u{feff}\n\(Self.event)\n \(Self.event)\t\n"] {
            #expect(try await run(Self.store(), text).added == 2)
        }
        #expect(try await run(Self.store(), "\u{feff}[\(Self.event)]", each: "").added == 1)
    }

    @Test("input that is compressed, or text in UTF-16, is refused as a whole with what it is, and so are lines of an append")
    func foreign() async throws {
        let temporary = try await Self.store()
        let event = Array(Self.event.utf8)
        for (beginning, form, program) in [
            ([0x1f, 0x8b, 8, 0], "gzip", "zcat"), ([0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"), ([0xff, 0xfe], "UTF-16", "iconv"),
            ([0xfe, 0xff], "UTF-16", "iconv"),
        ] as [([UInt8], String, String)] {
            let path = temporary.path + "-\(form)"
            try Data(beginning + event).write(to: URL(filePath: path))
            for options in [ImportOptions(), ImportOptions(onError: .quarantine), ImportOptions(each: "")] {
                await #expect {
                    try await temporary.store.importLines(from: .file(path), as: SchemaVersion(1), options: options)
                } throws: { error in
                    let error = error as? EvstoreError
                    return error?.code == "usage" && error?.message.contains(form) == true && error?.fix?.contains(program) == true
                }
            }
            #expect { try temporary.store.eventLines(beginning + event) } throws: { ($0 as? EvstoreError)?.message.contains(form) == true }
        }
        #expect(try temporary.store.eventLines([0xef, 0xbb, 0xbf] + event).events.count == 1)
    }

    @Test("an event over several lines, and a list, are taken as a document, and as lines refused with how that is said")
    func documents() async throws {
        let pretty = Self.event.replacing(",", with: ",\n  ").replacing("{", with: "{\n")
        #expect(try await run(Self.store(), pretty, each: "").added == 1)
        #expect(try await run(Self.store(), "[\(pretty), \(pretty)]", each: "").added == 2)
        #expect(try await run(Self.store(), pretty, as: 0, each: "").added == 1)
        for text in [pretty, "[\n\(pretty)]", "[\(Self.event)]", "\u{feff}\(pretty)", String(Self.event.dropLast())] {
            for version: UInt32 in [0, 1] {
                await #expect {
                    try await run(Self.store(), text, as: version)
                } throws: { error in
                    let error = error as? EvstoreError
                    return error?.code == "invalidLine" && error?.place.line == 1 && error?.fix?.contains("each: ") == true
                }
            }
        }
    }

    @Test("the pointer of a document leads through lists as RFC 6901 has it, and says what is at its end")
    func pointers() async throws {
        let text = #"{"a":[{"b":[[\#(Self.event)],5]},{"0":[]}],"":[\#(Self.event),\#(Self.event)],"e~/":{"x":1}}"#
        for (pointer, added) in [("/a/0/b/0", 1), ("/a/1/0", 0), ("/", 2)] {
            #expect(try await run(Self.store(), text, each: pointer).added == UInt64(added))
        }
        let wrong = [
            ("/a/2", "is not there"), ("/a/-", "is not there"), ("/a/00", "is not there"), ("/a/+0", "is not there"),
            ("/a/99999999999999999999", "is not there"), ("/a/0/b/1", "number"), ("/e~0~1", "object"), ("/e~0~1/x/y", "is not there"),
        ]
        for (pointer, words) in wrong {
            await #expect {
                try await run(Self.store(), text, each: pointer)
            } throws: {
                guard case .refusedLine(1, _, .invalidLine(let reason, pointer))? = $0 as? EvstoreError else { return false }
                return reason.contains(words)
            }
        }
    }

    @Test("without a stream and a template the line is refused at what is missing")
    func noStream() async throws {
        for (line, missing) in [
            (#"{"type":"E","data":{}}"#, "/stream"), (#"{"specversion":"1.0","id":"1","source":"/a","type":"E","data":{}}"#, "/subject"),
        ] {
            await #expect {
                try await run(Self.store(), line)
            } throws: {
                guard case .refusedLine(1, _, .invalidLine(_, missing))? = $0 as? EvstoreError else { return false }
                return true
            }
        }
    }
}

@Suite("The limits of a payload, whatever the door")
struct PayloadLimitsTests {
    private static let (members, depth) = (20, 6)

    private static func payload(_ kind: String, _ count: Int) -> String {
        switch kind {
        case "members": #"{"x":{\#((1 ..< count).map { #""\#($0)":1"# }.joined(separator: ","))}}"#
        case "elements": #"{"x":[\#((1 ..< count).map { "\($0)" }.joined(separator: ","))]}"#
        case "both": #"{"x":[\#((1 ..< count / 2).map { #"{"\#($0)":1}"# }.joined(separator: ","))\#(count % 2 == 0 ? ",1" : ",1,1")]}"#
        default: #"{"x":"# + String(repeating: "[", count: count - 1) + String(repeating: "]", count: count - 1) + "}"
        }
    }

    /// Whether a store takes a payload, or metadata, by each of its doors.
    private func doors(_ payload: String, _ metadata: String) async throws -> [String: Bool] {
        var options = Options.forTests
        (options.jsonMembersMax, options.jsonDepthMax) = (Self.members, Self.depth)
        let version = #"{"evstore":1,"version":1,"adopt":[{"otherwise":"quarantine"}],"events":{"E":{"properties":{"x":{"any":true}}}}}"#
        let temporary = try await TemporaryStore.make(try SchemaFiles(versions: [version]).load(), options: options)
        let store = temporary.store
        let own = #"{"stream":"s","type":"E","data":\#(payload),"metadata":\#(metadata)}"#
        let cloud = #"{"specversion":"1.0","id":"1","source":"/a","subject":"s","type":"E","data":\#(payload)}"#
        func importing(_ line: String, as version: UInt32 = 1) async throws {
            let file = try temporary.write(line, to: "line")
            _ = try await store.importLines(from: .file(file), as: SchemaVersion(version), options: ImportOptions(again: true))
        }
        func takes(_ body: () async throws -> Void) async -> Bool {
            do {
                try await body()
                return true
            } catch { return false }
        }
        var doors = [
            "append": await takes { try await store.append([try .event("s", "E", payload, metadata: metadata)]) },
            "lines": await takes { try await store.append(store.events(ofLines: Array(own.utf8))) },
            "import": await takes { try await importing(own) },
        ]
        if metadata == "{}" {
            doors["CloudEvents"] = await takes { try await importing(cloud) }
            doors["old data"] = await takes { try await importing(payload, as: 0) }
        }
        return doors
    }

    @Test(
        "depth, members and elements are counted alike by all, in payloads and in metadata",
        arguments: ["members", "elements", "both", "depth"])
    func counts(kind: String) async throws {
        let limit = kind == "depth" ? Self.depth : Self.members
        for (count, isTaken) in [(limit, true), (limit + 1, false)] {
            let text = Self.payload(kind, count)
            for (payload, metadata) in [(text, "{}"), ("{}", text)] {
                let doors = try await doors(payload, metadata)
                #expect(doors.values.allSatisfy { $0 == isTaken }, "\(kind) \(count): \(doors)")
            }
        }
    }
}
