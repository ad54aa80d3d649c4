import EventLog
import Evstore
import EvstoreCluster
import Foundation

/// A process that has a node of a cluster log open and appends by several writers, each event with an id and an expected revision, until
/// each has appended as many as it was asked to. Killed and started again, it goes on: an append that is repeated is told by its id.
enum NodeWork {
    /// - Parameters:
    ///   - name: the writers' ids begin with it.
    ///   - from: for each writer, its first number.
    static func run(_ path: String, name: String, events: Int, from: [Int]) async throws {
        let store = try await open(path, name)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (writer, first) in from.enumerated() {
                group.addTask {
                    for number in first ..< max(events, first) { try await append(store, name: name, writer, number) }
                }
            }
            try await group.waitForAll()
        }
        Fork.say("done")
        try await store.close()
    }

    /// Appends one event after the other, and now and then brings the read model to the log's end, which is then durable.
    static func read(_ path: String, events: Int) async throws {
        let store = try await open(path, "reading")
        for number in 0 ..< events {
            try await append(store, name: "reading", 0, number)
            if number % 7 == 3 { _ = try await store.count("orders") }
            // Slow enough for an anchor, which is written once a second, to become durable meanwhile.
            try await Task.sleep(for: .milliseconds(50))
        }
        try await store.close()
    }

    private static func open(_ path: String, _ name: String) async throws -> EventStore {
        var options = Options()
        (options.mapBytes, options.ballastBytes, options.readModelDeadline) = (1 << 30, 0, Worker.patience)
        options.joinsClusters(as: name)
        return try await EventStore.open(path, options: options)
    }

    /// What another try may make good.
    private static let again = ["expectationFailed", "commitOutcomeUnknown", "logUnavailable", "deadlinePassed"]

    private static func append(_ store: EventStore, name: String, _ writer: Int, _ number: Int) async throws {
        let id = try EventID("\(name)-\(writer)-\(number)")
        // Streams are shared by all nodes, so that expected revisions meet.
        let stream = try StreamName("order-\((writer * 7 + number) % 40)")
        let order = stream.text.dropFirst("order-".count)
        while true {
            let head = try store.log.read { try $0.head(of: stream) }
            let event = NewEvent(
                stream: stream, type: "OrderPlaced",
                payload: Array(#"{"id":"\#(order)","customer":"\#(id.text)","total":\#(number)}"#.utf8),
                id: id)
            do throws(EvstoreError) {
                let receipt = try await store.append(event, expecting: head.map { .revision($0.revision) } ?? .noStream)
                return Fork.say("ack \(id.text) \(receipt.positions.lowerBound)")
            } catch { if !again.contains(error.code) { throw error } }
        }
    }
}
