import Bytes
import EventLog
import EventModel
import Foundation
import LMDB
import Platform
import SchemaEvolution
import Testing

@testable import Projections

/// Two events that version 2 merges, and one that no step touches.
private let pairs = [
    """
    evstore: 1
    version: 1
    events:
      Named: {required: [id, name], properties: {id: {type: string}, name: {type: string}}}
      Priced: {required: [id, price], properties: {id: {type: string}, price: {type: integer}}}
    """,
    """
    evstore: 1
    version: 2
    upcast:
      - merge-events: {types: [Named, Priced], into: Listed, on: /id}
    events:
      Listed: {required: [id, name], properties: {id: {type: string}, name: {type: string}, price: {type: integer}}}
    """,
]

private func named(_ id: String) -> (type: String, payload: String) { ("Named", #"{"id":"\#(id)","name":"n\#(id)"}"#) }

private func priced(_ id: String) -> (type: String, payload: String) { ("Priced", #"{"id":"\#(id)","price":\#(id)}"#) }

@Suite("A cut between two looks at the log")
struct CutBetweenTests {
    /// The third event is of `first`; the other log has `other` in the place of all but the first event.
    private func store() async throws -> TestStore {
        let definitions =
            Shop.file("key: $stream\non: {Named: {add: {/n: {value: 1}}}}")
            + "    - {since: 2, key: $stream, on: {Listed: {add: {/n: {value: 1}}}}}\n"
        let store = try TestStore(definitions, pairs)
        try await store.append([named("0")], stream: "zero")
        try await store.append([named("1"), priced("1")], stream: "first")
        return store
    }

    private static func replace(_ log: EventLog) async throws {
        try await log.update { try $0.cut(to: Position(1)) }
        for event in [priced("7"), named("8"), named("9")] {
            let stored = StoredEvent(
                stream: try StreamName("other"), type: event.type, born: SchemaVersion(1), payload: Array(event.payload.utf8), time: .now)
            _ = try await log.append(AppendRequest(events: [stored]))
        }
    }

    @Test("a stream is called what it was called when the read began")
    func name() async throws {
        let store = try await store()
        let (log, history) = (store.log, try store.evolving.history)
        let name = try await onOwnThread {
            let names = StreamNames(log, history)
            return try log.read { reader in
                try reader.record(at: Position(3)) { record in
                    try waiting { try await Self.replace(log) }
                    return try names.name(of: record, at: SchemaVersion(1), reader).text
                }
            }
        }
        #expect(name == "first")
        try await store.end()
    }

    @Test(
        "an event is merged with those of its append that were there when the read began, of the log and of a stream",
        arguments: [ReadOrder.log, .stream])
    func merged(order: ReadOrder) async throws {
        let store = try await store()
        let (log, history) = (store.log, try store.evolving.history)
        let seen = try await onOwnThread {
            let merged = MergedAppends(log, PathRunner(history), StreamNames(log, history), at: SchemaVersion(2))
            return try log.read { reader in
                try waiting { try await Self.replace(log) }
                var seen: [String] = []
                try merged.view(Position(3), reader, in: order) { seen.append(String(utf8: $0.payload) ?? "") }
                return seen
            }
        }
        #expect(seen == [#"{"id":"1","name":"n1","price":1}"#])
        try await store.end()
    }

    @Test("a reader that goes on after a cut does not answer with the events from before the cut")
    func kept() async throws {
        let store = try await store()
        let names = StreamNames(store.log, try store.evolving.history)
        func name(_ position: UInt64) throws -> String? {
            try store.log.read { reader in
                try reader.record(at: Position(position)) { try names.name(of: $0, at: SchemaVersion(1), reader).text }
            }
        }
        #expect(try name(3) == "first")
        try await Self.replace(store.log)
        #expect(try name(3) == "other")
        try await store.end()
    }

    @Test("a follower that goes on after a cut folds the events that the log has now")
    func followed() async throws {
        let store = try await store()
        let definition = try store.definition()
        let (before, after) = (try store.generation(definition), try store.generation(definition))
        let follower = Follower(store.evolving)
        try follower.catchUp(before, definition, to: Position(1))
        try follower.catchUp(after, definition)
        try await Self.replace(store.log)
        try follower.catchUp(before, definition)
        #expect(follower.idleCount == 1, "what belongs to the epoch before is let go")
        #expect(try before.texts() == ["zero": #"{"n":1}"#, "other": #"{"n":2}"#])
        try await store.end()
    }

    @Test("a follower sees a new version at once")
    func newVersion() async throws {
        let store = try TestStore(Shop.file("key: /id\non: {OrderPaid: {set: {/m: /method}}}"), [Shop.v1])
        let paid = ("OrderPaid", #"{"id":"a","method":"cash"}"#)
        try await store.append([paid])
        let follower = Follower(store.evolving)
        let generation = try store.generation(store.definition())
        try follower.catchUp(generation, store.definition())
        #expect(follower.idleCount == 1)
        let second = try Shop.history().versions[1]
        try await store.log.update { try RegisteredRows.register(&$0, versions: [second]) }
        try await store.append([("OrderPaid", #"{"id":"b","method":"card","source":"web"}"#)], born: 2)
        try follower.catchUp(generation, store.definition())
        #expect(try generation.texts() == ["a": #"{"m":"cash"}"#, "b": #"{"m":"card"}"#])
        #expect(try generation.header.quarantined == 0)
        #expect(follower.idleCount == 1, "what the older history was compiled to is let go")
        try await store.end()
    }
}

/// Runs `body` on a thread that may wait.
private func onOwnThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Waits on this thread for work that others do.
private func waiting(for work: @escaping @Sendable () async throws -> Void) throws {
    let (done, failure) = (DispatchSemaphore(value: 0), Monitor<(any Error)?>(nil))
    Task.detached {
        do { try await work() } catch { failure.withLock { $0 = error } }
        done.signal()
    }
    done.wait()
    if let error = failure.withLock({ $0 }) { throw error }
}
