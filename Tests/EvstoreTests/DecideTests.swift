import Evstore
import EvstoreTesting
import Foundation
import Synchronization
import Testing

/// A command: the state of a stream, what follows from it, and an append if nobody was faster.
@Suite("Decisions", .timeLimit(.minutes(10)))
struct DecideTests {
    private struct Refused: Error, Equatable { var sum: Int }

    private let files: SchemaFiles
    private let stream: StreamName
    private let fold: StreamFold<Int>

    init() throws {
        files = try SchemaFiles(versions: typedOrders)
        stream = try StreamName("order-1")
        fold = try StreamFold("sum", revision: 1, initial: 0) { StateHandler(OrderPlaced.self) { sum, placed, _ in sum += placed.cents } }
    }

    private static func placed(_ cents: Int) -> OrderPlaced { OrderPlaced(id: "1", customer: "Ada", cents: cents) }

    @Test("many at once on one stream each decide on what the others have left, and none is lost")
    func conflicts() async throws {
        let temporary = try await TemporaryStore.make(try files.load(), from: SchemaVersion(1))
        let store = temporary.store
        let cache = StateCache<Int>()
        let (stream, fold) = (stream, fold)
        let sums = try await withThrowingTaskGroup(of: [Int].self, returning: [Int].self) { group in
            for _ in 0 ..< 6 {
                group.addTask {
                    var seen: [Int] = []
                    for _ in 0 ..< 10 {
                        let decision = try await store.decide(on: stream, fold, cache: cache, attemptsMax: 1_000) { _ in [Self.placed(1)] }
                        if let state = decision.state { seen.append(state.value) }
                    }
                    return seen
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(sums.sorted() == Array(0 ..< 60))
        #expect(try store.state(of: stream, fold).value == 60)
    }

    @Test("a command that is repeated with its id gets its receipt, whatever the state is by then; one without events leaves no trace")
    func repeated() async throws {
        let temporary = try await TemporaryStore.make(try files.load(), from: SchemaVersion(1))
        let store = temporary.store
        func pay(_ id: String) async throws -> Decision<Int> {
            try await store.decide(on: stream, fold, id: EventID(id)) { sum in
                if sum >= 10 { throw Refused(sum: sum) }
                return [Self.placed(7), Self.placed(3)]
            }
        }
        let first = try await pay("pay-1")
        #expect(first.receipt?.positions == 1 ... 2 && first.receipt?.duplicate == false && first.attempts == 1)
        let again = try await pay("pay-1")
        #expect(again.receipt?.positions == 1 ... 2 && again.receipt?.duplicate == true && again.state == nil && again.attempts == 0)
        await #expect(throws: Refused(sum: 10)) { try await pay("pay-2") }
        let nothing = try await store.decide(on: stream, fold, id: EventID("pay-3")) { _ in [] }
        #expect(nothing.receipt == nil && nothing.state?.value == 10)
        #expect(try store.last().position == Position(2))
    }

    @Test("a decision that rests on another stream too is made while that is as expected, and else refused at once")
    func alsoOnOthers() async throws {
        let temporary = try await TemporaryStore.make(try files.load(), from: SchemaVersion(1))
        let (store, other) = (temporary.store, try StreamName("order-2"))
        func pay(_ cents: Int, _ conditions: [StreamCondition]) async throws -> Decision<Int> {
            try await store.decide(on: stream, fold, also: conditions, id: EventID("pay-\(cents)")) { _ in [Self.placed(cents)] }
        }
        let made = try await pay(7, [StreamCondition(other, .noStream)])
        #expect(try store.receipt(ofAppend: EventID("pay-7"))?.positions == made.receipt?.positions)
        try await store.append(OrderVoided(id: "2"), to: other, expecting: .noStream)
        let refused = EvstoreError.expectationFailed(stream: other, expected: .noStream, actual: .first)
        await #expect(throws: refused) { try await pay(8, [StreamCondition(other, .noStream)]) }
        #expect(try store.receipt(ofAppend: EventID("pay-8")) == nil)
        await #expect {
            try await pay(9, [StreamCondition(stream, .any)])
        } throws: { ($0 as? EvstoreError)?.code == "misuse" }
        #expect(try store.last().position == Position(2))
    }

    @Test("the conflict is the caller's after the last attempt")
    func attempts() async throws {
        let temporary = try await TemporaryStore.make(try files.load(), from: SchemaVersion(1))
        let store = temporary.store
        let overtaking = Task.detached { [stream] in
            while !Task.isCancelled { try await store.append(OrderVoided(id: "1"), to: stream, expecting: .any) }
        }
        // Between the state and the append there is always an append of the other one.
        await #expect(
            performing: {
                while true {
                    try await store.decide(on: stream, fold, attemptsMax: 1) { _ in
                        let before = try store.last()
                        while try store.last() == before { usleep(100) }
                        return [Self.placed(1)]
                    }
                }
            }, throws: { ($0 as? EvstoreError)?.code == "expectationFailed" })
        overtaking.cancel()
        _ = await overtaking.result
    }

    @Test("a scenario says what a decision came to, and what it should have")
    func scenario() throws {
        func decide(_ sum: Int) throws -> [any Event] {
            if sum > 10 { throw Refused(sum: sum) }
            return sum == 0 ? [] : [OrderVoided(id: "1")]
        }
        try DecisionScenario(fold).given(Self.placed(4), Self.placed(5)).when(decide).then(OrderVoided(id: "1"))
        try DecisionScenario(fold).when(decide).then()
        try DecisionScenario(fold).given(Self.placed(11)).when(decide).thenThrows(Refused(sum: 11))
        #expect(throws: ScenarioFailure.self) { try DecisionScenario(fold).given(Self.placed(1)).when(decide).then() }
        #expect(throws: ScenarioFailure.self) { try DecisionScenario(fold).given(Self.placed(1)).when(decide).then(OrderVoided(id: "2")) }
        #expect(throws: ScenarioFailure.self) {
            try DecisionScenario(fold).given(Self.placed(11)).when(decide).thenThrows(Refused(sum: 12))
        }
        #expect(throws: Refused.self) { try DecisionScenario(fold).given(Self.placed(11)).when(decide).then() }
    }
}
