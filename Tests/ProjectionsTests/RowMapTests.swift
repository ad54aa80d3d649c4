import Bytes
import EventLog
import EventModel
import JSONText
import TestSupport
import Testing

@testable import Projections
@testable import SchemaEvolution

/// What a step does to orders: an item of it, and what of the shapes and of the folds it changes.
private struct Change {
    let item: String
    let shapes: [(String, String)]
    var folds: [(String, String)] = []

    /// Each can be combined with each of the others.
    static let all: [Change] = [
        Change(
            item: "{on: OrderPlaced, do: [{move: {from: /customer, path: /who}}]}",
            shapes: [("customer: {type: string}", "who: {type: string}")],
            folds: [("/customer", "/who")]),
        Change(
            item: "{on: OrderPlaced, do: [{move: {from: /name/first, path: /first}}]}",
            shapes: [("first: {type: string}, last", "last"), ("state: {type", "first: {type: string}\n      state: {type")],
            folds: [("/name/first", "/first")]),
        Change(
            item:
                "{on: OrderPlaced, do: [{convert: {path: /state, to: string, using: {table: {map: {open: o, paid: '\"p\"', void: v}}}}}]}",
            shapes: [("enum: [open, paid, void]", "enum: [o, '\"p\"', v]")]),
        Change(
            item: "{on: OrderPlaced, do: [{add: {path: /channel, value: {web: [1, 'x']}}}]}",
            shapes: [
                ("required: [id, total]", "required: [id, total, channel]"),
                ("tags: {", "channel: {type: object, properties: {web: {type: array}}}\n      tags: {"),
            ]),
        Change(
            item: "{on: OrderPaid, do: [{copy: {from: /method, path: /way}}]}",
            shapes: [("method: {type: string}", "method: {type: string}, way: {type: string}")]),
        Change(
            item: "{on: OrderPaid, do: [{compute: {path: /text, template: \"{/id}/{/amount}\"}}]}",
            shapes: [("amount: {type: number}", "amount: {type: number}, text: {type: string}")]),
        Change(
            item: "{rename-event: {from: OrderVoided, to: OrderGone}}", shapes: [("OrderVoided", "OrderGone")],
            folds: [("OrderVoided", "OrderGone")]),
        Change(
            item: "{on: OrderPlaced, do: [{wrap: {path: /total, empty: 0}}]}",
            shapes: [("total: {type: number}", "total: {type: array, items: {type: number}}")]),
        Change(
            item: "{on: OrderPlaced, do: [{remove: {path: /tags, restore: absent, because: old}}]}",
            shapes: [("      tags: {type: array, items: {type: string}}\n", "")]),
        Change(
            item: "{on: OrderPaid, do: [{wrap: {path: /method}}]}",
            shapes: [("method: {type: string}", "method: {type: array, items: {type: string}}")]),
        Change(
            item: "{on: OrderPaid, do: [{allow: {path: /opt, down: absent}}]}",
            shapes: [("amount: {type: number}", "amount: {type: number}, opt: {type: string}")]),
        Change(
            item: "{on: OrderPlaced, do: [{unset: {path: /customer, equals: Ann}}]}", shapes: []),
        Change(
            item: "{on: OrderPlaced, do: [{split: {path: /customer, into: [/name/x, /name/y], separator: ' '}}]}",
            shapes: [
                ("      customer: {type: string}\n", ""),
                ("last: {type: string}", "last: {type: string}, x: {type: string}, y: {type: string}"),
            ]),
    ]
}

extension RandomFolds {
    /// A version behind the shop's first: its text, and the fold that follows one of that version.
    fileprivate mutating func step() -> (version: String, follow: [(String, String)]) {
        let changes = Change.all.shuffled(using: &random).prefix(Int.random(in: 0 ... 3, using: &random))
        var text = Shop.v1.replacing("version: 1", with: "version: 2")
        for (old, new) in changes.flatMap(\.shapes) { text = text.replacing(old, with: new) }
        let items = changes.map { "  - \($0.item)\n" }.joined()
        if !items.isEmpty { text = text.replacing("events:", with: "upcast:\n\(items)events:") }
        return (text, changes.flatMap(\.folds))
    }

    /// A definition that follows another: the same in other words, more or less.
    fileprivate mutating func next(_ definition: String, _ follow: [(String, String)]) -> String {
        var text = definition
        if !oneIn(6) { for (old, new) in follow { text = text.replacing(old, with: new) } }
        let others = [
            ("\"/a\"", "\"/z\""), ("\"/b\":", "\"/a/b\":"), ("\"/s\"", "\"/n/s\""), ("\"set\":{", "\"set\":{\"/k\":{\"value\":\"K\"},"),
            ("\"set\":", "\"init\":"), ("\"keep\":2", "\"keep\":3"), ("{\"value\":1}", "{\"value\":2}"), ("{\"value\":\"x\"}", "\"/id\""),
            ("\"/state\"", "\"{/state}!\""), ("\"/customer\"", "{\"value\":\"c\"}"), ("\"$type\"", "\"$time\""), ("{/id}:{$type}", "{/id}"),
            ("\"/total\"", "\"/id\""), ("\"/method\"", "\"/way\""), ("\"{/id}/{/amount}\"", "\"/text\""),
            ("\"only-existing\":true,", ""),
            ("\"/id\":", "\"/id2\":"), ("\"initial\":{", "\"initial\":{\"/k\":{\"value\":\"K\"},"), ("\"below\":7", "\"below\":8"),
            ("\"card\"", "\"cash\""), ("\"{/method}/{/amount}\"", "\"{$metadata/user}{/opt}\""),
            ("\"count\":{", "\"add\":{\"/n0\":{\"value\":1}},\"count\":{"), ("\"/b\":{\"value\":5}", "\"/b\":{\"value\":null}"),
            ("\"/b\":{\"value\":5}", "\"/n0\":{\"value\":1}"), ("\"init\":{", "\"init\":{\"/t\":\"{/id}!\","), ("\"/total\"", "\"/sum\""),
            ("\"delete\":true", "\"set\":{\"/gone\":{\"value\":1}}"), ("\"/name\"", "\"/name/last\""),
        ]
        for _ in 0 ..< Int.random(in: 0 ... 3, using: &random) {
            let (old, new) = one(others)
            text = text.replacing(old, with: new)
        }
        return text
    }

    private static func yaml(_ text: String) throws -> String {
        let parsed = try JSONValue(parsing: Array(text.utf8).lent)
        return
            "key: \(parsed["key"]?.text ?? "")\n\(parsed["initial"].map { "initial: \($0.text)\n" } ?? "")on: \(parsed["on"]?.text ?? "")"
    }

    /// Both definitions; nil where one of them makes no sense.
    fileprivate func definitions(_ first: String, _ second: String, _ history: History) throws -> [Definition]? {
        do {
            let file =
                try Shop.file(Self.yaml(first)) + "    - since: 2\n"
                + Self.yaml(second).split(separator: "\n").map { "      \($0)\n" }.joined()
            let set = try Shop.definitions(file, history)
            return try [1, 2].map { try set.definition(named: "orders", at: SchemaVersion($0), history) }
        } catch { return nil }
    }
}

extension TestStore {
    /// The events that a definition folds, whatever the others did: those that fail are taken out until none does.
    fileprivate func folded(_ definition: Definition, of count: Int, _ history: History) throws -> [ClosedRange<Position>] {
        var left = (1 ... UInt64(count)).map { Position($0) ... Position($0) }
        while true {
            let trace = try RowTrace(definition, log, history, at: definition.version)
            for range in left { try log.read { reader in try trace.take(range, reader) } }
            if trace.failed.isEmpty { return left }
            left.removeAll { trace.failed.contains($0.lowerBound) }
        }
    }
}

@Test("rows that are proved to be a function of older rows are what events make of them, for random folds, steps and events")
func mappedIsFolded() async throws {
    var maker = RandomFolds(SeededGenerator.announced())
    var (proved, told, histories) = (0, 0, 0)
    while histories < 40 {
        let (text, follow) = maker.step()
        let history: History
        do { history = try Shop.history([Shop.v1, text]) } catch { continue }
        if history.check().contains(where: { $0.severity == .error }) { continue }
        histories += 1
        let store = try TestStore(history, .empty)
        let events = (0 ..< 60).map { _ in maker.event() }
        let users = (0 ..< 60).map { _ in maker.one([#"{"user":"ann"}"#, #"{"user":null}"#, #"{"user":{}}"#, "{}", ""]) }
        try await store.append(events) { users[$0] }
        let census = try store.log.read { try $0.census() }
        for _ in 0 ..< 20 {
            let first = maker.definition()
            let second = maker.next(first, follow)
            guard let pair = try maker.definitions(first, second, history) else { continue }
            told += 1
            guard case .rows(let map) = try RowMapProof.prove(pair[0], pair[1], history, census) else { continue }
            proved += 1
            let ranges = try store.folded(pair[0], of: events.count, history)
            let holds = try map.holds(from: pair[0], to: pair[1], on: ranges, store.log, history)
            #expect(holds, "\(first)\n\(second)\n\(text)\n\(map.slots)")
        }
        try await store.end()
    }
    #expect(proved * 5 > told, "\(proved) of \(told) were proved")
}

@Test("what random steps between any two versions leave to rows is what events make of them, too")
func mappedAcrossVersions() async throws {
    var numbers = SeededGenerator.announced()
    var proved = 0
    for _ in 0 ..< 40 {
        var random = try RandomVersions(seed: numbers.next(), versions: 4, withMembers: true)
        let (history, viewer) = (random.history, PathRunner(random.history))
        let store = try TestStore(history, try keepingProjections(history))
        var events: [(type: String, payload: String)] = []
        while events.count < 30 {
            let event = random.event(at: SchemaVersion(1))
            let isSeen = history.versions.allSatisfy { file in
                do { return try viewer.sees(event, born: SchemaVersion(1), at: file.number, "s-1") } catch { return false }
            }
            if isSeen || random.bool() { events.append(event) }
        }
        try await store.append(events, stream: "s-1")
        let (census, evolution) = (try store.log.read { try $0.census() }, try store.evolving.current())
        for (older, newer) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
            let after = try evolution.definitions(at: SchemaVersion(newer))
            for before in try evolution.definitions(at: SchemaVersion(older)) {
                guard let next = after.first(where: { $0.name == before.name }), next.fingerprint != before.fingerprint,
                    case .rows(let map) = try RowMapProof.prove(before, next, history, census)
                else { continue }
                proved += 1
                let ranges = try store.folded(before, of: events.count, history)
                #expect(
                    try map.holds(from: before, to: next, on: ranges, store.log, history),
                    "\(before.name) from \(older) to \(newer): \(history.versions.map { String(decoding: $0.canonical, as: UTF8.self) })")
            }
        }
        try await store.end()
    }
    #expect(proved > 20, "\(proved) were proved")
}
