import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution
@testable import SchemaTools

/// Two versions with one op between them, and all that is said of an event of each.
struct ExplainedOp: CustomTestStringConvertible, Sendable {
    var op: String
    /// `events:` of both, and the item between.
    var before, item, after: String
    /// The types that are explained, `E` unless said otherwise.
    var types = (up: "E", down: "E")
    var up, down: [String]

    var testDescription: String { op }

    /// An op on `E`, whose members beside its id are these.
    static func member(_ op: String, _ before: String, _ arguments: String, _ after: String, up: [String], down: [String]) -> ExplainedOp {
        func event(_ members: String) -> String {
            "E: {required: [id], properties: {id: {type: string}\(members.isEmpty ? "" : ", \(members)")}}"
        }
        return ExplainedOp(
            op: op, before: event(before), item: "{on: E, do: [{\(op): \(arguments)}]}", after: event(after), up: ["E", "/id /id"] + up,
            down: ["E", "/id /id"] + down)
    }

    /// An op on events with these `events:`.
    static func event(
        _ op: String, _ before: String, _ arguments: String, _ after: String, types: (up: String, down: String) = ("E", "E"),
        up: [String], down: [String]
    ) -> ExplainedOp {
        ExplainedOp(op: op, before: before, item: "{\(op): \(arguments)}", after: after, types: types, up: up, down: down)
    }

    /// Events whose members are these, each a text that is always there.
    static func type(_ name: String, _ members: String..., stream: String? = nil) -> String {
        let stream = stream.map { "stream: \"\($0)\", " } ?? ""
        let properties = members.map { "\($0): {type: string}" }.joined(separator: ", ")
        return "\(name): {\(stream)required: [\(members.joined(separator: ", "))], properties: {\(properties)}}"
    }
}

@Suite("Explanations of ops")
struct ExplainOpsTests {
    @Test("what is said of an op is all that becomes of an event, up and down", arguments: ExplainedOp.members + ExplainedOp.events)
    func example(_ one: ExplainedOp) throws {
        let history = try history(["events: {\(one.before)}", "upcast: [\(one.item)]\nevents: {\(one.after)}"])
        #expect(history.check().errors == [])
        #expect(try said(history, one.types.up, 1, 2) == one.up)
        #expect(try said(history, one.types.down, 2, 1) == one.down)
    }

    @Test(
        "what is said of an event that lacks a member, or has an empty list or null there, is what becomes of it",
        arguments: ExplainedAbsence.members + ExplainedAbsence.events)
    func absence(_ one: ExplainedAbsence) throws {
        let history = try history(["events: {\(one.before)}", "upcast: [\(one.item)]\nevents: {\(one.after)}"])
        #expect(history.check().errors == [])
        for (type, from, to, cases) in [(one.types.up, 1, 2, one.up), (one.types.down, 2, 1, one.down)] {
            let words = try said(history, type, from, to).joined(separator: "\n")
            for (event, image, clause) in cases {
                #expect(clause.isEmpty || words.contains(clause), "\(clause) is not in \(words)")
                #expect(try seen(history, type, event, from, to) == image, "\(event) from v\(from)")
            }
        }
    }

    @Test("every op has an example, and beside those whose effect the application decides one of an event that lacks something")
    func complete() {
        let shown = Set((ExplainedOp.members + ExplainedOp.events).map(\.op))
        let absent = Set((ExplainedAbsence.members + ExplainedAbsence.events).map(\.op)).union(["reserve", "swift"])
        for op in OpRegistry.payloadOps.map({ $0.name }) + OpRegistry.eventOps.map({ $0.name }) {
            #expect(shown.contains(op) && absent.contains(op), "\(op)")
        }
    }

    @Test("a rekey is said of the types whose streams it names, with the names that they have by then")
    func rekeyed() throws {
        let types = (before: ["A": "a-{/id}", "B": "b-{/id}"], after: ["A": "c-{/id}", "B": "b-{/id}"])
        func events(_ streams: [String: String]) -> String {
            streams.sorted { $0.key < $1.key }.map { ExplainedOp.type($0.key, "id", stream: $0.value) }.joined(separator: ", ")
        }
        let history = try history([
            "events: {\(events(types.before))}",
            #"upcast: [{rekey: {from: "a-{id}", to: "x-{id}"}}, {rekey: {from: "x-{id}", to: "c-{id}"}}]"#
                + "\nevents: {\(events(types.after))}",
        ])
        #expect(history.check().errors == [])
        #expect(
            try said(history, "A", 1, 2) == [
                "A", "is in a stream x-{id}, which was a-{id}", "is in a stream c-{id}, which was x-{id}", "/id /id",
            ])
        #expect(
            try said(history, "A", 2, 1) == [
                "A", "is in a stream x-{id}, which was c-{id}", "is in a stream a-{id}, which was x-{id}", "/id /id",
            ])
        #expect(try said(history, "B", 1, 2) == ["B", "/id /id"] && said(history, "B", 2, 1) == ["B", "/id /id"])
    }

    @Test(
        "in the worked examples each member that comes, goes, moves or becomes another kind says why, at every pair of versions",
        arguments: ["cycles", "packages", "reminders", "saves", "settings", "tickets", "vault"])
    func domains(name: String) throws {
        let history = try History.load(directory: Checkout.path("Schemas/\(name)"))
        for file in history.versions {
            for (type, to) in file.types.flatMap({ type in history.versions.map { (type, $0.number) } }) {
                for outcome in try history.explain(type, from: file.number, to: to).outcomes {
                    for member in outcome.members where member.before != member.after || member.wasNoun != member.noun {
                        let words = member.changes.map(\.words)
                        #expect(!words.isEmpty && !words.contains(""), "\(type) of \(file.number) at \(to): \(member)")
                    }
                }
            }
        }
    }

    /// The images of an event that is alone in its append, in canonical form; `refused` where one is missing, `nothing` where none is.
    private func seen(_ history: History, _ type: String, _ event: String, _ from: Int, _ to: Int) throws -> String {
        let (runner, born, target) = (PathRunner(history), SchemaVersion(from), SchemaVersion(to))
        var images: [String] = []
        do {
            if try runner.path(type: type, born: born, to: target).merges {
                let alone = AppendedEvent(
                    type: type, payload: Array(event.utf8), metadata: [], time: Timestamp(microseconds: 0), stream: "s")
                var failure: ImageFailure?
                try runner.view(appended: [alone], born: born, at: target, failed: { failure = $1 }) { _, image in
                    images.append(String(decoding: [UInt8](copying: image.payload), as: UTF8.self))
                }
                if failure != nil { return "refused" }
            } else {
                images = try runner.images(type, event, from: from, to: to, validating: true).map(\.json)
            }
        } catch EvstoreError.noImage { return "refused" }
        return try images.isEmpty ? "nothing" : images.map(canonical).joined(separator: " + ")
    }

    /// Every outcome: its type, what becomes of the event, and a line for each member.
    private func said(_ history: History, _ type: String, _ from: Int, _ to: Int) throws -> [String] {
        try history.explain(type, from: SchemaVersion(from), to: SchemaVersion(to)).outcomes.flatMap { outcome in
            [outcome.type ?? "no event"] + outcome.changes.map(\.words)
                + outcome.members.map { member in
                    let places = "\(member.before?.description ?? "new") \(member.after?.description ?? "gone")"
                    return ([places] + member.changes.map(\.words)).joined(separator: "; ")
                }
        }
    }
}
