import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

@Suite("who is blamed for a loss")
struct LossAccountTests {
    @Test(
        "an event that was split loses what its parts lose, each for itself, and no part is blamed for another",
        arguments: (1 ... 60).map(UInt64.init))
    func split(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (history, words) = try Self.history(&random)
        #expect(history.check().errors == [], "seed \(seed): \(words)")
        let trial = LawTrial(history, isFull: false)
        for _ in 0 ..< 12 {
            let members = "abcdef".map { #""\#($0)":"\#(random.pick(["x", "x y", "007", "1", ""]))""# }.joined(separator: ",")
            let event = Self.event("E", "{\"id\":\"1\",\(members)}", at: 1)
            let found = trial.losses(of: [event], at: history.head)
            for step in 3 ..< max(3, history.head.number + 1) {
                let parts = trial.images(of: event, at: SchemaVersion(step - 1))
                let alone = parts.reduce(into: Set<LossAccount.Entry>()) { $0.formUnion(trial.losses(of: [$1], at: SchemaVersion(step))) }
                #expect(found.filter { $0.loss.version.number == step } == alone, "seed \(seed): \(event) of\n\(words)")
            }
        }
    }

    @Test("behind a step that no event comes down from, a loss that nothing declares is seen all the same")
    func behindABlock() throws {
        func shape(_ members: String...) -> String {
            let all = ["id"] + members
            return "{stream: \"e-{/id}\", required: [\(all.joined(separator: ", "))], properties: {"
                + all.map { "\($0): {type: string}" }.joined(separator: ", ") + "}}"
        }
        let history = try SchemaEvolutionTests.history([
            "events: {E: \(shape("a", "b", "c"))}",
            "upcast: [{split-event: {type: E, into: [{type: E, pick: [/id, /a, /b], down: block}, {type: F, pick: [/id, /c], down: block}]}}]\n"
                + "events: {E: \(shape("a", "b")), F: \(shape("c"))}",
            "upcast: [{drop-event: {type: F, because: nobody reads it}}]\nevents: {E: \(shape("a", "b"))}",
            "upcast: [{on: E, do: [{join: {paths: [/a, /b], separator: \" \", at: last, missing: error, path: /whole}}]}]\nevents: {E: \(shape("whole"))}",
        ])
        #expect(history.check().errors == [])
        let lost = LawTrial(history, isFull: false).losses(
            of: [Self.event("E", #"{"id":"1","a":"x","b":"y z","c":""}"#, at: 1)], at: history.head)
        #expect(lost.contains { $0.isUndeclared && $0.loss.version.number == 4 }, "\(lost)")
    }

    @Test("who loses in an append of many events is found, and no other")
    func large() throws {
        func shape(_ members: String...) -> String {
            let properties = members.map { "\($0): {type: string}" }.joined(separator: ", ")
            return "{required: [\(members.joined(separator: ", "))], properties: {\(properties)}}"
        }
        let history = try SchemaEvolutionTests.history([
            "events: {E: \(shape("a", "b"))}",
            "upcast: [{on: E, do: [{join: {paths: [/a, /b], separator: \" \", at: last, missing: error, path: /whole}}]}]\n"
                + "events: {E: \(shape("whole"))}",
        ])
        #expect(history.check().errors == [])
        let events = (0 ..< 300).map { Self.event("E", $0 % 2 == 0 ? #"{"a":"x","b":"y z"}"# : #"{"a":"x","b":"y"}"#, at: 1) }
        let lost = LawTrial(history, isFull: false).losses(of: events, at: history.head)
        #expect(lost.count == 1 && lost.allSatisfy(\.isUndeclared), "\(lost)")
    }

    /// An event of version 1 that becomes two, of which each passes steps at random: some lose nothing, some by a declaration, and some
    /// by how a text is written.
    private static func history(_ random: inout SeededRandom) throws -> (History, String) {
        func shape(_ members: [String]) -> String {
            let list = (["id"] + members).joined(separator: ", ")
            let properties = (["id"] + members).map { "\($0): {type: \($0.hasPrefix("n") ? "integer" : "string")}" }
            return "{stream: \"e-{/id}\", required: [\(list)], properties: {\(properties.joined(separator: ", "))}}"
        }
        var texts = ["events: {E: \(shape("abcdef".map(String.init)))}"]
        var members = ["E": ["a", "b", "c"], "F": ["d", "e", "f"]]
        func events() -> String { "events: {\(members.sorted { $0.key < $1.key }.map { "\($0): \(shape($1))" }.joined(separator: ", "))}" }
        let parts = #"[{type: E, pick: [/id, /a, /b, /c], down: {hide: x}}, {type: F, pick: [/id, /d, /e, /f], down: {hide: x}}]"#
        texts.append("upcast: [{split-event: {type: E, into: \(parts)}}]\n\(events())")
        for step in 3 ... 4 {
            var items: [String] = []
            for type in members.keys.sorted() where !random.once(in: 3) {
                guard var names = members[type], names.count >= 2 else { continue }
                switch random.next() % 4 {
                case 0:
                    items.append("{on: \(type), do: [{move: {from: /\(names[0]), path: /m\(step)}}]}")
                    names[0] = "m\(step)"
                case 1:
                    items.append("{on: \(type), do: [{remove: {path: /\(names[0]), restore: \"\", because: nobody reads it}}]}")
                    names.removeFirst()
                case 2 where !names[0].hasPrefix("n") && !names[1].hasPrefix("n"):
                    items.append(
                        "{on: \(type), do: [{join: {paths: [/\(names[0]), /\(names[1])], separator: \" \", at: last, missing: error, path: /j\(step)}}]}"
                    )
                    names.replaceSubrange(0 ..< 2, with: ["j\(step)"])
                default:
                    guard type == "F" else { continue }
                    items.append("{drop-event: {type: F, because: nobody reads it}}")
                    members[type] = nil
                    continue
                }
                members[type] = names
            }
            if !items.isEmpty { texts.append("upcast: [\(items.joined(separator: ", "))]\n\(events())") }
        }
        return (try SchemaEvolutionTests.history(texts), texts.joined(separator: "\n---\n"))
    }

    private static func event(_ type: String, _ json: String, at version: Int) -> LawEvent {
        LawEvent(
            origin: .log, position: Position(1), stream: "e-1", type: type, born: SchemaVersion(version), time: Timestamp(microseconds: 0),
            payload: Array(json.utf8), metadata: [])
    }
}
