import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("The laws on a few events of each way that events take")
struct LawWayTests {
    /// Events of the orders as a log has them: most alike, some with a value that a step loses or has in another form.
    private func events(_ count: Int, _ random: inout SeededGenerator) -> [LawEvent] {
        (0 ..< count).map { number in
            let customer = ["Ann Lee", "Cher", "Ann  Lee", "A B C"].randomElement(using: &random) ?? ""
            let total = Int.random(in: 0 ..< 50, using: &random) == 0 ? "12.5" : "\(number).50"
            let email = Bool.random(using: &random) ? #","email":"a@b.c""# : ""
            let payload = #"{"id":"\#(number)","customer":"\#(customer)","total":"\#(total)","placedAt":\#(number)\#(email)}"#
            return LawEvent(
                origin: .log, position: Position(UInt64(number + 1)), stream: "order-\(number)", type: "OrderPlaced",
                born: SchemaVersion(1), time: Timestamp(microseconds: 0), payload: Array(payload.utf8), metadata: [])
        }
    }

    private func tally(_ history: History, _ events: [LawEvent], triesEach: Int) -> LawTally {
        var trial = LawTrial(history, isFull: false, triesEach: triesEach)
        for event in events { trial.check(next: event, at: [history.head]) }
        return trial.tally
    }

    @Test("give the counts, the losses and the failures that trying every event gives")
    func same() throws {
        var random = SeededGenerator.announced()
        let events = events(2_000, &random)
        for history in [try orders(), try history(Array(ordersTexts.prefix(3)))] {
            let (few, all) = (tally(history, events, triesEach: 8), tally(history, events, triesEach: .max))
            #expect(few.counts == all.counts && few.events == all.events && few.cases == all.cases)
            #expect(few.losses.counts == all.losses.counts && !all.losses.counts.isEmpty)
            #expect(few.failures.map(\.verdict.law) == all.failures.map(\.verdict.law))
        }
    }

    @Test("find the one event of thousands that takes a way of its own, and what it loses")
    func rare() throws {
        let history = try history(
            before: "required: [a, b], properties: {a: {type: string}, b: {type: string}}",
            ops: "join: {paths: [/a, /b], separator: '-', at: first, missing: error, path: /c}",
            after: "required: [c], properties: {c: {type: string}}")
        var events = (0 ..< 3_000).map { number in
            LawEvent(
                origin: .log, position: Position(UInt64(number + 1)), stream: "s", type: "E", born: SchemaVersion(1),
                time: Timestamp(microseconds: 0), payload: Array(#"{"a":"a\#(number)","b":"b"}"#.utf8), metadata: [])
        }
        events[2_345].payload = Array(#"{"a":"a-a","b":"b"}"#.utf8)
        let losses = tally(history, events, triesEach: 8).losses.counts
        #expect(losses.values.map(\.first) == [Position(2_346)] && losses.values.map(\.events) == [1], "\(losses)")
    }

    @Test("tell apart what is lost, where as much is lost of others")
    func whatIsLost() throws {
        let history = try history(
            before: "required: [a, b], properties: {a: {type: integer}, b: {type: integer}}",
            ops: "remove: {path: /a, restore: 0, because: x}\n      - remove: {path: /b, restore: 0, because: x}", after: "properties: {}")
        let events = (0 ..< 300).map { number in
            LawEvent(
                origin: .log, position: Position(UInt64(number + 1)), stream: "s", type: "E", born: SchemaVersion(1),
                time: Timestamp(microseconds: 0), payload: Array((number < 20 ? #"{"a":1,"b":0}"# : #"{"a":0,"b":1}"#).utf8), metadata: [])
        }
        let (few, all) = (tally(history, events, triesEach: 8).losses.counts, tally(history, events, triesEach: .max).losses.counts)
        #expect(few == all)
        #expect(few.values.map(\.events).sorted() == [20, 280], "\(few)")
    }

    @Test("stop at an event that has no image")
    func refused() throws {
        var random = SeededGenerator.announced()
        var events = events(200, &random)
        events[150].payload = Array(#"{"id":"1","customer":"Ann","total":"twelve","placedAt":1}"#.utf8)
        let found = tally(try orders(), events, triesEach: 8)
        #expect(found.failures.map(\.verdict.law) == ["T-up"] && found.failures.first?.event.position == Position(151))
    }
}
