import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

@Suite("trying the laws on events that are merged")
struct LawTrialMergingTests {
    @Test("events that a step merges are tried together: every law holds, and each op was tried in both directions")
    func merged() throws {
        let history = try mergingHistory()
        var trial = LawTrial(history, isFull: true)
        trial.check(mergesTo: SchemaVersion(2), generated: 40, seed: 5)
        #expect(trial.tally.failures.isEmpty)
        for law in ["T-up", "L1", "L3", "L4", "L5"] {
            #expect(trial.tally.counts[law]?.tried ?? 0 >= 80, "\(law)")
            #expect(trial.tally.counts[law]?.failed == 0, "\(law)")
        }
        #expect(history.cases(trial.tally.crossings).filter { $0.direction == .up }.allSatisfy { $0.count > 0 })
    }

    @Test("an append of a log is tried whole, one that is cut off is not, and what can't stand alone is a failure")
    func appended() throws {
        let history = try mergingHistory()
        let named = event("Named", "{\"id\":\"a\",\"name\":\"Apple\"}", at: 1)
        let priced = event("Priced", "{\"id\":\"a\",\"price\":3}", at: 2, continuing: true)
        func tried(_ events: [LawEvent]) -> LawTally {
            var trial = LawTrial(history, isFull: true)
            for event in events { trial.check(next: event, at: [history.head]) }
            trial.finishAppend(at: [history.head])
            return trial.tally
        }
        #expect(tried([named, priced]).counts["T-up"]?.tried == 1)
        #expect(tried([named, priced]).failures.isEmpty)
        #expect(tried([priced]).counts.isEmpty)
        let failure = try #require(tried([event("Priced", "{\"id\":\"a\",\"price\":3}", at: 1)]).failures.first)
        #expect(failure.verdict.law == "T-up" && failure.event.position == Position(1))
    }

    @Test("what is merged and dropped later needs no image on the way, whether it can be merged or not")
    func dropped() throws {
        let merging = """
            events:
              Named: {required: [id, name], properties: {id: {type: string}, name: {type: string}}}
              Priced: {required: [id, price], properties: {id: {type: string}, price: {type: integer}}}
              Other: {properties: {}}
            """
        let history = try history([
            merging,
            """
            upcast: [{merge-events: {types: [Named, Priced], into: Listed, on: /id}}]
            events:
              Listed: {required: [id, name, price], properties: {id: {type: string}, name: {type: string}, price: {type: integer}}}
              Other: {properties: {}}
            """,
            "upcast: [{drop-event: {type: Listed, because: unread}}]\nevents: {Other: {properties: {}}}",
            "upcast: [{on: Other, do: [{add: {path: /n, value: 1}}]}]\nevents: {Other: {required: [n], properties: {n: {type: integer}}}}",
        ])
        var trial = LawTrial(history, isFull: true)
        for one in [
            event("Named", "{\"id\":\"a\",\"name\":\"Apple\"}", at: 1),
            event("Priced", "{\"id\":\"a\",\"price\":3}", at: 2, continuing: true),
            event("Named", "{\"id\":\"b\",\"name\":\"Alone\"}", at: 3),
        ] { trial.check(next: one, at: [SchemaVersion(3), history.head]) }
        trial.finishAppend(at: [SchemaVersion(3), history.head])
        #expect(trial.tally.failures.isEmpty, "\(trial.tally.failures)")
    }

    @Test("a merge that comes apart in another way is noted, with the smallest append that shows it and no personal data")
    func wrongMerge() throws {
        let right = try mergingHistory()
        // The step after the merge loses what only one of the merged events has.
        let wrong = right.replacing { op in
            AlteredOp(op, afterDown: { doc, object in if let price = doc.member(MemberName("price"), of: object) { doc.detach(price) } })
        }
        var trial = LawTrial(wrong, isFull: true)
        for one in [
            event("Named", "{\"id\":\"a\",\"name\":\"Apple\"}", at: 1),
            event("Priced", "{\"id\":\"a\",\"price\":3}", at: 2, continuing: true),
        ] { trial.check(next: one, at: [wrong.head]) }
        trial.finishAppend(at: [wrong.head])
        let failure = try #require(trial.tally.failures.first { $0.verdict.law == "L1" })
        #expect(failure.verdict.weight == .noted)
        #expect(failure.shrunk(wrong).example(wrong) == "{\"id\":\"a\",\"name\":\"(personal)\"} and {\"id\":\"a\",\"price\":0}")
    }

    private func mergingHistory() throws -> History {
        try history([
            """
            events:
              Named: {required: [id, name], properties: {id: {type: string}, name: {type: string, personal: true}}}
              Priced: {required: [id, price], properties: {id: {type: string}, price: {type: integer}}}
            """,
            """
            forward: 1
            upcast: [{merge-events: {types: [Named, Priced], into: Listed, on: /id}}]
            events:
              Listed:
                required: [id, name]
                properties: {id: {type: string}, name: {type: string, personal: true}, price: {type: integer}}
            """,
            """
            forward: 1
            upcast: [{on: Listed, do: [{move: {from: /name, path: /title}}]}]
            events:
              Listed:
                required: [id, title]
                properties: {id: {type: string}, title: {type: string, personal: true}, price: {type: integer}}
            """,
        ])
    }

    private func event(_ type: String, _ json: String, at position: UInt64, continuing: Bool = false) -> LawEvent {
        LawEvent(
            origin: .log, position: Position(position), stream: "s-1", type: type, born: SchemaVersion(1), time: Timestamp(microseconds: 0),
            payload: Array(json.utf8), metadata: [], continuesAppend: continuing)
    }
}
