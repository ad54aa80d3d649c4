import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

private let placed = #"{"id":"7","customer":"Ada Lovelace","email":"ada@example.org","total":"12.50","placedAt":1767225600}"#

@Test("the histories of these tests have nothing wrong with them")
func histories() throws {
    #expect(try orders().check().errors == [])
    #expect(try packages().check().errors == [])
}

@Test("an event is seen at every version")
func views() throws {
    let viewer = PathRunner(try orders())
    #expect(
        try viewer.image("OrderPlaced", placed, from: 1, to: 5, validating: true)
            == #"{"id":"7","placedAt":"2026-01-01T00:00:00Z","name":{"first":"Ada","last":"Lovelace"},"contact":{"emails":["ada@example.org"]},"total":{"amount":1250,"currency":"USD"}}"#
    )
    for target in 1 ... 5 {
        let image = try viewer.image("OrderPlaced", placed, from: 1, to: target, validating: true)
        #expect(try canonical(try viewer.image("OrderPlaced", image, from: target, to: 1, validating: true)) == canonical(placed))
    }
    #expect(viewer.counts == PathCounts())
}

@Test("a constant is the same from a file and from what a store keeps of it")
func keptConstants() throws {
    let history = try history(
        before: "type: object, required: [m], properties: {m: {type: string, enum: [a, b]}}",
        ops: """
            add: {path: /v, value: {y: 1.50, x: [2E1]}}
                  - convert: {path: /m, to: number, using: {table: {map: {a: 1.0, b: 2.00}}}}
            """,
        after: """
            type: object, required: [m, v], properties: {m: {type: number, enum: [1, 2]}, v: {type: object, required: [x, y], properties:
              {x: {type: array, items: {type: number}}, y: {type: number}}}}
            """)
    let kept = try History(files: history.versions.map { try VersionFile(text: $0.canonical, file: "kept.json") })
    #expect(history.check().errors.isEmpty)
    for history in [history, kept] {
        #expect(try PathRunner(history).up(#"{"m":"b"}"#) == #"{"m":2,"v":{"x":[20],"y":1.5}}"#)
        #expect(try PathRunner(history).down(#"{"m":1.0,"v":{"x":[],"y":0}}"#) == #"{"m":"a"}"#)
    }
}

@Test("an event at its own version, or one that no step touches, is lent as it is")
func untouched() throws {
    let viewer = PathRunner(try orders())
    let odd = #"{ "id" : "7", "method" : "cc" }"#
    #expect(try viewer.image("OrderPaid", odd, from: 1, to: 1) == odd)
    #expect(try viewer.image("OrderPaid", odd, from: 1, to: 2) == odd)
    #expect(try viewer.path(type: "OrderPaid", born: SchemaVersion(1), to: SchemaVersion(2)).isUntouched)
    #expect(try !viewer.path(type: "OrderPaid", born: SchemaVersion(1), to: SchemaVersion(3)).isUntouched)
}

@Test("types are renamed, dropped and hidden, and seen as several")
func types() throws {
    let viewer = PathRunner(try orders())
    #expect(
        try viewer.images("OrderPaid", #"{"id":"7","method":"cc"}"#, from: 1, to: 5)
            == [Seen(type: "PaymentCaptured", json: #"{"id":"7","method":"card"}"#, part: 0)])
    #expect(try viewer.images("DebugPing", "{}", from: 1, to: 4) == [])
    #expect(try viewer.images("OrderVoided", #"{"id":"7"}"#, from: 5, to: 2) == [])
    #expect(viewer.counts.dropped == 1 && viewer.counts.hidden == 1)
    let settled = #"{"id":"7","payment":{"method":"card"}}"#
    #expect(
        try viewer.images("OrderSettled", settled, from: 5, to: 3, validating: true) == [
            Seen(type: "OrderPaid", json: #"{"id":"7","method":"card"}"#, part: 0),
            Seen(type: "OrderVoided", json: #"{"id":"7"}"#, part: 1),
        ])
    #expect(
        try viewer.images("OrderSettled", settled, from: 5, to: 2, validating: true)
            == [Seen(type: "OrderPaid", json: #"{"id":"7","method":"cc"}"#, part: 0)])
    let index = viewer.history.types(at: SchemaVersion(5)).firstIndex(of: "PaymentCaptured")
    let (payload, none) = (Array(#"{"id":"7","method":"cc"}"#.utf8), [UInt8]())
    try viewer.view(
        SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent),
        of: TypeAtVersion(type: "OrderPaid", version: SchemaVersion(1)), stream: "", at: SchemaVersion(5)
    ) { image in #expect(image.typeIndex == index) }
}

@Test("a dispatch gives each value a type of its own and writes the value back")
func dispatches() throws {
    let viewer = PathRunner(try packages())
    let line = #"{"at":"2025-06-24 14:36:25","action":"install","package":"zlib1g:amd64","version":"<none>","available":"1.2"}"#
    let images = try viewer.images("PackageLogged", line, from: 1, to: 5, validating: true)
    #expect(
        images == [
            Seen(
                type: "InstallBegan", json: #"{"at":"2025-06-24T14:36:25Z","available":"1.2","name":"zlib1g","architecture":"amd64"}"#,
                part: 0)
        ])
    #expect(try canonical(try viewer.image("InstallBegan", images[0].json, from: 5, to: 1, validating: true)) == canonical(line))
    let path = try viewer.path(type: "PackageLogged", born: SchemaVersion(1), to: SchemaVersion(5))
    #expect(path.types == ["StateChanged", "InstallBegan", "UpgradeBegan"])
    let refused = try failure { try viewer.up5(#"{"at":"","action":"purge","package":"a","version":"1"}"#) }
    #expect(refused.pointer == "/action" && refused.op == "rename-event (op 1)" && refused.found == "\"purge\"")
}

@Test("what a dispatch narrows is checked on every event, and named where it does not fit")
func narrowed() throws {
    let viewer = PathRunner(try packages())
    let refused = try failure { try viewer.up5(#"{"at":"2025-06-24 14:36:25","action":"status","package":"a","version":"1"}"#) }
    #expect(refused.op == "shape" && refused.type == "PackageLogged" && refused.target == SchemaVersion(5))
}

extension PathRunner {
    fileprivate func up5(_ json: String) throws -> String { try image("PackageLogged", json, from: 1, to: 5) }
}

@Test("an unknown type and an unknown version are said by name")
func unknown() throws {
    let viewer = PathRunner(try orders())
    #expect(throws: EvstoreError.unknownType("Nope", version: SchemaVersion(1), known: ["OrderPlaced", "OrderPaid", "DebugPing"])) {
        try viewer.images("Nope", "{}", from: 1, to: 2)
    }
    #expect(throws: EvstoreError.unknownVersion("v9", known: ["v1", "v2", "v3", "v4", "v5"])) {
        try viewer.images("OrderPaid", "{}", from: 1, to: 9)
    }
}

@Test("a step of a newer program is refused as newer, never guessed at")
func newer() throws {
    let history = try SchemaEvolutionTests.history([
        "events: {E: {properties: {}}}", "upcast: [{teleport: {type: E}}]\nevents: {E: {properties: {}}}",
    ])
    #expect(throws: EvstoreError.self) { try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(2)) }
    do { _ = try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(2)) } catch { #expect(error.code == "schemaNewer") }
}

@Test("a type filter is widened to every stored type that can have such an image")
func ancestry() throws {
    let history = try orders()
    func at(_ type: String, _ version: Int) -> TypeAtVersion { TypeAtVersion(type: type, version: SchemaVersion(version)) }
    #expect(
        history.ancestry(of: ["PaymentCaptured"], at: SchemaVersion(4)) == [
            at("OrderPaid", 1), at("OrderPaid", 2), at("OrderPaid", 3), at("PaymentCaptured", 4), at("PaymentCaptured", 5),
            at("OrderSettled", 5),
        ])
    #expect(history.ancestry(of: ["DebugPing"], at: SchemaVersion(5)) == [])
}

@Test("the digest of steps changes with a step that touches the types, and with no other")
func stepsDigest() throws {
    let history = try orders()
    let before = history.stepsDigest(for: ["PaymentCaptured"], at: SchemaVersion(4))
    #expect(
        history.stepsDigest(for: ["PaymentCaptured"], at: SchemaVersion(5)) != before,
        "version 4 sees an OrderSettled as one, version 5 does not")
    #expect(history.stepsDigest(for: ["PaymentCaptured"], at: SchemaVersion(4)) == before)
    #expect(
        history.stepsDigest(for: ["OrderPaid"], at: SchemaVersion(3)) != history.stepsDigest(for: ["OrderPaid"], at: SchemaVersion(2)))
    #expect(history.stepsDigest(for: ["OrderPaid"], at: SchemaVersion(2)) == history.stepsDigest(for: [], at: SchemaVersion(2)))
    #expect(
        history.stepsDigest(for: ["OrderPlaced"], at: SchemaVersion(4)) != history.stepsDigest(for: ["OrderPlaced"], at: SchemaVersion(5)))
    var texts = ordersTexts
    texts[2] = texts[2].replacing("cash: cash", with: "cash: cash}, down: {card: bt")
    let edited = try SchemaEvolutionTests.history(texts)
    #expect(edited.stepsDigest(for: ["PaymentCaptured"], at: SchemaVersion(4)) != before)
    #expect(
        edited.stepsDigest(for: ["OrderPlaced"], at: SchemaVersion(4)) == history.stepsDigest(for: ["OrderPlaced"], at: SchemaVersion(4)))
}

@Test("a path says in words what it does")
func words() throws {
    let history = try orders()
    func words(_ type: String, _ born: Int, _ target: Int) throws -> String {
        try history.path(type: type, born: SchemaVersion(born), to: SchemaVersion(target)).description
    }
    #expect(try words("OrderPlaced", 4, 5) == "move x2")
    #expect(try words("OrderPlaced", 2, 3) == "split /customer, convert /placedAt")
    #expect(try words("OrderPaid", 3, 4) == "renamed to PaymentCaptured")
    #expect(try words("OrderPaid", 1, 2) == "unchanged")
    #expect(try words("OrderVoided", 3, 2) == "hidden (version 2 never voids)")
    #expect(try words("DebugPing", 1, 4) == "dropped (never read by any projection)")
    #expect(try words("OrderSettled", 5, 4) == "split into PaymentCaptured + OrderVoided")
    #expect(history.opClass(from: SchemaVersion(3), to: SchemaVersion(4)) == [.widen, .narrow])
    #expect(history.losses(from: SchemaVersion(1), to: SchemaVersion(5)).map(\.type) == ["OrderVoided", "DebugPing"])
    #expect(history.oneWaySteps(from: SchemaVersion(1), to: SchemaVersion(5)).isEmpty)
}
