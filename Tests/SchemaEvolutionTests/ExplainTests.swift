import EventModel
import JSONText
import Testing

@testable import SchemaEvolution
@testable import SchemaTools

private func shop() throws -> History {
    try history([
        "events: {Placed: {required: [id, customer, total], properties: {id: {type: string}, customer: {type: string}, total: {type: string}}}, Ping: {properties: {}}}",
        """
        upcast:
          - on: Placed
            do:
              - split: {path: /customer, into: [/name/first, /name/last], separator: " ", at: first, missing: absent}
              - convert: {path: /total, to: integer, using: {decimal: {scale: 2}}}
              - move: {from: /total, path: /cents}
              - add: {path: /currency, value: USD}
          - drop-event: {type: Ping, because: noise}
        events:
          Placed:
            required: [id, name, cents, currency]
            properties:
              id: {type: string}
              name: {type: object, required: [first], properties: {first: {type: string}, last: {type: string}}}
              cents: {type: integer}
              currency: {type: string}
        """,
    ])
}

private func lines(_ outcome: Explanation.Outcome) -> [String] {
    outcome.members.map { member in
        let places = "\(member.before?.description ?? "new") \(member.after?.description ?? "gone")"
        return ([places] + member.changes.map(\.words)).joined(separator: "; ")
    }
}

@Test("an explanation follows each member upwards to where it stands")
func explainsUp() throws {
    let outcome = try #require(try shop().explain("Placed", from: SchemaVersion(1), to: SchemaVersion(2)).outcomes.first)
    #expect(outcome.type == "Placed")
    #expect(
        lines(outcome) == [
            "/id /id",
            #"/customer /name/first; is split at the first " " into /name/first, /name/last; null stays null; moves to /name/first"#,
            "/total /cents; becomes an integer: a decimal text <-> whole units, 2 digits; moves to /cents",
            #"new /name/last; is split off /customer at the first " "; without one, absent"#, #"new /currency; is added: "USD""#,
        ])
}

@Test("an explanation goes down as well, and says where there is no image")
func explainsDown() throws {
    let history = try shop()
    let down = try #require(try history.explain("Placed", from: SchemaVersion(2), to: SchemaVersion(1)).outcomes.first)
    #expect(lines(down).contains("/currency gone; is left out: it was added"))
    #expect(lines(down).contains { $0.hasPrefix("/name/first /customer") })
    let dropped = try history.explain("Ping", from: SchemaVersion(1), to: SchemaVersion(2)).outcomes
    #expect(dropped.map(\.type) == [nil] && dropped.first?.changes.first?.words == "is dropped: noise")
}

@Test("every leaf of the newer shape is explained or stays where it was")
func explainsAll() throws {
    let history = try shop()
    let explained = try history.explain("Placed", from: SchemaVersion(1), to: SchemaVersion(2)).outcomes.flatMap(\.members)
    let leaves = try history.requireShape(of: "Placed", at: SchemaVersion(2)).shape.leaves
    #expect(Set(explained.compactMap(\.after)) == Set(leaves))
}

@Test("a diff pairs types by what the steps make of them")
func diffs() throws {
    let history = try history([
        "events: {A: {required: [x], properties: {x: {type: string}}}, B: {properties: {}}, C: {properties: {}}}",
        """
        upcast:
          - rename-event: {from: A, to: Z}
          - on: Z
            do: [{move: {from: /x, path: /y}}]
          - drop-event: {type: B, because: noise}
          - add-event: {type: D, down: block}
        events: {Z: {required: [y], properties: {y: {type: string}}}, C: {properties: {}}, D: {properties: {}}}
        """,
    ])
    let diff = try history.diff(from: SchemaVersion(1), to: SchemaVersion(2))
    #expect(diff.added == ["D"] && diff.removed == ["B"] && diff.unchanged == ["C"])
    #expect(diff.changed.map(\.type) == ["Z"] && diff.changed.first?.was == ["A"])
    #expect(diff.changed.first?.differences.map { "\($0.pointer) \($0.kind)" } == ["/x gone", "/y new"])
}

@Test("what becomes of data from before versions existed is said case by case")
func explainsAdoption() throws {
    let history = try history([
        """
        adopt:
          - when: {path: /old, exists: true}
            as: Saved
            stream: "save-{/slot}"
            keep: [/slot]
            from: {/name: /old}
            default: {/at: $time, /level: {value: 1}, /app: $metadata/app}
            convert:
              - {path: /level, to: integer, using: integer-text}
          - otherwise: quarantine
        events:
          Saved:
            required: [slot, name, at, level, app]
            properties:
              slot: {type: string}
              name: {type: string}
              at: {type: string, format: date-time}
              level: {type: integer}
              app: {type: string}
        """,
        """
        upcast:
          - rename-event: {from: Saved, to: GameSaved}
          - on: GameSaved
            do: [{move: {from: /name, path: /player}}]
        events:
          GameSaved:
            required: [slot, player, at, level, app]
            properties:
              slot: {type: string}
              player: {type: string}
              at: {type: string, format: date-time}
              level: {type: integer}
              app: {type: string}
        """,
    ])
    let outcomes = try history.explain("$unknown", from: SchemaVersion(0), to: SchemaVersion(2)).outcomes
    #expect(outcomes.map(\.type) == ["GameSaved", nil])
    let adopted = try #require(outcomes.first)
    #expect(
        adopted.changes.map { "\($0.version) \($0.words)" } == [
            "v1 is adopted as Saved, where /old is there", "v1 goes to the stream save-{/slot} of its old members",
            "v2 is called GameSaved",
        ])
    #expect(
        lines(adopted) == [
            "/slot /slot", "/old /player; moves to /player", "new /at; is the event's time where there is none",
            "new /level; is 1 where there is none; becomes an integer: a text <-> its value",
            "new /app; is /app of the metadata where there is none",
        ])
    #expect(outcomes.last?.changes.map(\.words) == ["is quarantined, where no case takes it"])
    #expect(throws: EvstoreError.self) { try history.explain("GameSaved", from: SchemaVersion(2), to: SchemaVersion(0)) }
}

@Test("merged events and other names for streams are explained both ways")
func explainsMergeAndRekey() throws {
    let member = "{type: string}"
    let history = try history([
        "events: {Asked: {required: [id, q], properties: {id: \(member), q: \(member)}}, Answered: {required: [id, a], properties: {id: \(member), a: \(member)}}}",
        """
        upcast:
          - merge-events: {types: [Asked, Answered], into: Talked, on: /id}
          - rekey: {from: "old-{key}", to: "talk-{key}"}
        events: {Talked: {required: [id], properties: {id: \(member), q: \(member), a: \(member)}}}
        """,
    ])
    let up = try #require(try history.explain("Asked", from: SchemaVersion(1), to: SchemaVersion(2)).outcomes.first)
    #expect(up.type == "Talked")
    #expect(
        up.changes.map(\.words) == [
            "is merged with Answered of its append and stream that has the same /id; "
                + "alone it is Talked where that requires no more, and refused otherwise",
            "is in a stream talk-{key} where that was old-{key}",
        ])
    let down = try history.explain("Talked", from: SchemaVersion(2), to: SchemaVersion(1)).outcomes
    #expect(down.map(\.type) == ["Asked", "Answered"])
    #expect(
        down.first?.changes.map(\.words) == [
            "is in a stream old-{key} where that was talk-{key}", "is Asked again, where it has what Asked alone has and requires",
        ])
}

@Test("a member that no longer exists is said to end at the version that does not have it, and not at the last one")
func explainsWhereAMemberEnds() throws {
    let history = try history([
        "events: {E: {required: [kind], properties: {kind: {type: string, enum: [a, b]}, extra: {type: string}}}}",
        """
        upcast: [{rename-event: {from: E, by: /kind, to: {a: A, b: B}}}]
        events: {A: {properties: {}}, B: {properties: {extra: {type: string}}}}
        """,
        """
        upcast: [{on: [A, B], do: [{add: {path: /n, value: 1}}]}]
        events: {A: {required: [n], properties: {n: {type: integer}}}, B: {required: [n], properties: {extra: {type: string}, n: {type: integer}}}}
        """,
    ])
    let outcomes = try history.explain("E", from: SchemaVersion(1), to: SchemaVersion(3)).outcomes
    let extra = try #require(outcomes.first { $0.type == "A" }?.members.first { $0.before?.description == "/extra" })
    #expect(extra.after == nil && extra.changes == [.init(version: SchemaVersion(2), words: "is not in A of version 2")])
    #expect(try #require(outcomes.first { $0.type == "B" }?.members.first { $0.before?.description == "/extra" }).after != nil)
}
