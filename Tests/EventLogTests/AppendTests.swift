import EventLog
import EventModel
import EvstoreTesting
import Foundation
import Platform
import TestStores
import TestSupport
import Testing

@Suite("Appending")
struct AppendTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory)
    }

    @Test("an append reads back with all that the caller gave, by position and by stream")
    func roundTrip() async throws {
        let given = try event("order-1", #"{"n":1}"#, born: 3, id: "a-1", metadata: #"{"who":"me"}"#)
        guard case .appended(let receipt) = try await log.add(given) else {
            Issue.record("the append was not made")
            return
        }
        #expect(receipt.positions == 1 ... 1)
        #expect(receipt.revision == .first)
        #expect(receipt.id == given.id)
        let found = try log.read { reader in
            try reader.record(at: receipt.position) { record in
                StoredEvent(
                    stream: record.streamName ?? StreamName(unchecked: "?"), type: log.name(ofType: record.type), born: record.born,
                    payload: Array(text(record.payload).utf8), metadata: Array(text(record.metadata).utf8), id: record.id,
                    time: record.time)
            }
        }
        #expect(found == given)
        #expect(try log.payloads("order-1") == [#"{"n":1}"#])
        try await log.close()
    }

    @Test("positions are dense and revisions count per stream, over several streams in one append")
    func positions() async throws {
        try await log.add(event("a", "1"), event("b", "2"), event("a", "3"))
        try await log.add(event("a", "4"), event("c", "5"))
        #expect(
            try log.everything() == ["1 1 0 noted 1", "2 2 0 noted 2", "3 1 1 noted 3", "4 1 2 noted 4", "5 5 0 noted 5"])
        try await log.close()
    }

    @Test(
        "an append whose expectation fails changes nothing",
        arguments: [EventModel.Expectation.noStream, .revision(Revision(1)), .revision(Revision(7))])
    func staleRevision(expectation: EventModel.Expectation) async throws {
        try await log.add(event("a", "1"))
        let stream = try StreamName("a")
        await #expect(throws: EvstoreError.expectationFailed(stream: stream, expected: expectation, actual: .first)) {
            try await log.add(event("a", "2"), event("b", "3"), conditions: [StreamCondition(stream, expectation)])
        }
        #expect(try log.everything() == ["1 1 0 noted 1"])
        #expect(try log.read { try $0.head(of: StreamName("b")) } == nil)
        try await log.close()
    }

    @Test("a condition may be on a stream that the append does not write")
    func otherStream() async throws {
        let other = try StreamName("other")
        await #expect(throws: EvstoreError.expectationFailed(stream: other, expected: .exists, actual: nil)) {
            try await log.add(event("a", "1"), conditions: [StreamCondition(other, .exists)])
        }
        try await log.add(event("other", "2"))
        try await log.add(event("a", "1"), conditions: [StreamCondition(other, .exists)])
        #expect(try log.payloads("a") == ["1"])
        try await log.close()
    }

    @Test(
        "a repeated id finds the first append, whatever the expectation, and adds nothing",
        arguments: ["plain text", "0190b5a2-7e1c-7000-8000-000000000001"])
    func knownID(id: String) async throws {
        try await log.add(event("a", "1", id: id), event("a", "2"))
        let stale = [StreamCondition(try StreamName("a"), .noStream)]
        #expect(try await log.add(event("a", "1", id: id), conditions: stale) == .known(Position(1)))
        #expect(try log.read { try $0.position(of: EventID(id)) } == Position(1))
        await #expect(throws: EvstoreError.idReused(id: try EventID(id), position: Position(1))) {
            try await log.add(event("a", "8", id: "new"), event("a", "9", id: id))
        }
        #expect(try log.payloads("a") == ["1", "2"])
        try await log.close()
    }

    @Test("of many appends that expect the same revision exactly one is made")
    func oneWinner() async throws {
        let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0 ..< 64 {
                group.addTask {
                    do {
                        try await log.add(event("a", "\(number)"), conditions: [StreamCondition(try StreamName("a"), .noStream)])
                        return true
                    } catch EvstoreError.expectationFailed { return false }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(winners == 1)
        #expect(try log.payloads("a").count == 1)
        try await log.close()
    }

    @Test("a refused append among many concurrent ones leaves the others as they are")
    func concurrent() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0 ..< 200 {
                group.addTask {
                    let stale = [StreamCondition(try StreamName("s-\(number)"), .exists)]
                    await #expect(throws: EvstoreError.self) { try await log.add(event("s-\(number)", "no"), conditions: stale) }
                    try await log.add(event("s-\(number)", "1"), event("s-\(number)", "2"))
                }
            }
            try await group.waitForAll()
        }
        #expect(try log.read { $0.last.position } == Position(400))
        for number in 0 ..< 200 { #expect(try log.payloads("s-\(number)") == ["1", "2"]) }
        try await log.close()
    }

    @Test("an append that was checked against an older state of the store is returned to be checked again")
    func revalidate() async throws {
        let stamp = try log.read { $0.stamp }
        try await log.update { ($0.state.live, $0.state.top, $0.state.head) = (SchemaVersion(2), SchemaVersion(2), SchemaVersion(2)) }
        let request = AppendRequest(events: [try event("a")], validated: stamp)
        #expect(try await log.append(request) == .revalidate)
        #expect(try log.read { $0.last.position } == .start)
        try await log.close()
    }

    @Test("a passed deadline is an error that names the holder, and nothing is appended")
    func deadline() async throws {
        let held = AsyncStream<Void>.makeStream()
        let release = DispatchSemaphore(value: 0)
        let log = log
        let holding = Task {
            try await log.update { _ in
                held.continuation.finish()
                release.wait()
            }
        }
        for await _ in held.stream {}
        do {
            // As the last of the tries that an append makes.
            let request = AppendRequest(events: [try event("a")], since: .now + .seconds(-5), deadline: .now + .milliseconds(50))
            _ = try await log.append(request)
            Issue.record("the append was made")
        } catch EvstoreError.deadlinePassed(let waited, let holder) {
            #expect(waited > .seconds(5) && holder.contains("process"))
        }
        release.signal()
        try await holding.value
        #expect(try log.read { $0.last.position } == .start)
        try await log.close()
    }
}
