import Bytes
import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

/// A history of versions 1, 2 … written as YAML.
func history(_ texts: [String]) throws -> History {
    History(
        versions: try texts.enumerated().map { index, text in
            try VersionFile(text: Array("evstore: 1\nversion: \(index + 1)\n\(text)".utf8), file: "v\(index + 1).yaml")
        }, warnings: [])
}

/// Two versions of one type, `E`, with ops between.
func history(before: String, ops: String, after: String, stream: (String, String)? = nil) throws -> History {
    let streams = stream.map { (", stream: \"\($0.0)\"", ", stream: \"\($0.1)\"") } ?? ("", "")
    return try history([
        "events: {E: {\(before)\(streams.0)}}",
        "upcast:\n  - on: E\n    do:\n      - \(ops)\nevents: {E: {\(after)\(streams.1)}}",
    ])
}

struct Seen: Equatable, CustomStringConvertible {
    var type: String
    var json: String
    var part: Int

    var description: String { "\(type)#\(part) \(json)" }
}

extension PathRunner {
    /// The images of an event, as text.
    func images(
        _ type: String, _ json: String, from born: Int, to target: Int, validating: Bool = false, time: String = "2026-01-01T00:00:00Z",
        metadata: String = "", stream: String = "s-1"
    ) throws -> [Seen] {
        var seen: [Seen] = []
        let (payload, beside) = (Array(json.utf8), Array(metadata.utf8))
        let time = try #require(Timestamp(time))
        try view(
            SourceEvent(payload: payload.lent, time: time, metadata: beside.lent),
            of: TypeAtVersion(type: type, version: SchemaVersion(born)), stream: stream, at: SchemaVersion(target), validating: validating
        ) { image in
            seen.append(Seen(type: image.type, json: String(decoding: [UInt8](copying: image.payload), as: UTF8.self), part: image.part))
        }
        return seen
    }

    /// The one image of an event.
    func image(
        _ type: String, _ json: String, from born: Int, to target: Int, validating: Bool = false, metadata: String = ""
    ) throws -> String {
        let seen = try images(type, json, from: born, to: target, validating: validating, metadata: metadata)
        #expect(seen.count == 1)
        return try #require(seen.first).json
    }

    func up(_ json: String, metadata: String = "") throws -> String { try image("E", json, from: 1, to: 2, metadata: metadata) }

    func down(_ json: String, metadata: String = "") throws -> String { try image("E", json, from: 2, to: 1, metadata: metadata) }
}

func canonical(_ json: String) throws -> String {
    String(decoding: try Canonical.bytes(of: Array(json.utf8).lent), as: UTF8.self)
}

/// The failure of an image that can't be made.
func failure(_ body: () throws -> some Any) throws -> ImageFailure {
    do { _ = try body() } catch EvstoreError.noImage(let failure) { return failure }
    Issue.record("an image was made")
    return ImageFailure(
        type: "", born: SchemaVersion(0), target: SchemaVersion(0), step: SchemaVersion(0), op: "", pointer: "", expected: "", found: "")
}

extension [Finding] {
    var errors: [String] { filter { $0.severity == .error }.map(\.diagnosticLine) }
}

/// Ops that go up to one text and come back, with their class and nothing to find.
func expectPair(
    before: String, ops: String, after: String, _ low: String, _ high: String, opClass: OpClass, stream: (String, String)? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let history = try history(before: before, ops: ops, after: after, stream: stream)
    #expect(history.check().errors == [], sourceLocation: sourceLocation)
    #expect(history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == opClass, sourceLocation: sourceLocation)
    let viewer = PathRunner(history)
    #expect(try canonical(try viewer.up(low)) == canonical(high), sourceLocation: sourceLocation)
    #expect(try canonical(try viewer.down(high)) == canonical(low), sourceLocation: sourceLocation)
    #expect(try viewer.images("E", low, from: 1, to: 2, validating: true).count == 1, sourceLocation: sourceLocation)
    #expect(try viewer.images("E", high, from: 2, to: 1, validating: true).count == 1, sourceLocation: sourceLocation)
}
