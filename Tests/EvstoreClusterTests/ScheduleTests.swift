import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Hashing
import PostgreSQL
import SchemaEvolution
import TestSupport
import Testing

/// Two nodes append and migrate through proxies that break messages, a third one watches. Held against the model on the page "More than one
/// machine": each append ends as made, refused or unknown; what was made is there once, at its position; what was refused is never there.
@Suite("Schedules of faults", .serialized)
struct ScheduleTests {
    /// By hand 10,000.
    private static var schedules: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_SCHEDULES"].flatMap(Int.init) ?? 150 }

    @Test("at whatever message a node and PostgreSQL lose each other, every append is made once or not at all, and all nodes have one log")
    func faults() async throws {
        let seed = ProcessInfo.processInfo.environment["EVSTORE_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("schedules of faults: seed \(seed)")
        try await withPostgres(.init(fsync: false)) { server in
            var trial = try await Trial(server, seed)
            for number in 0 ..< Self.schedules {
                try await trial.run(number)
                if number % 25 == 24 { try await trial.expectOneLog() }
            }
            try await trial.expectOneLog()
            print("schedules of faults: \(trial.summary)")
            try await trial.shop.close()
        }
    }
}

/// What one append came to.
private enum Fate: Equatable {
    case made(UInt64)
    case refused(String)
    case unknown
}

private struct Trial {
    let shop: ShopCluster
    private let proxies: [String: FaultyProxy]
    private let seed: UInt64
    private var chance: SeededGenerator
    private var seen: UInt64 = 0
    /// Appends of which nobody knows yet.
    private var open: Set<String> = []
    private var refused: Set<String> = []
    private var counts: [String: Int] = [:]

    init(_ server: PostgresServer, _ seed: UInt64) async throws {
        (self.seed, chance) = (seed, SeededGenerator(seed: seed))
        shop = try await ShopCluster(server)
        proxies = ["a": try FaultyProxy(to: server.port), "b": try FaultyProxy(to: server.port)]
        for (node, proxy) in proxies.sorted(by: { $0.key < $1.key }) {
            try await shop.join(node, port: proxy.port)
            try await shop.close(node)
            try await shop.open(node, deadline: 0.6)
        }
        try await shop.join("c")
    }

    var summary: String { "\(seen) events; " + counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ") }

    mutating func run(_ number: Int) async throws {
        var appends: [(node: String, id: String, expectation: EventModel.Expectation, order: String)] = []
        for node in ["a", "b"] {
            let fault = Int.random(in: 0 ..< 3, using: &chance) == 0 ? nil : FaultyProxy.Fault.allCases.randomElement(using: &chance)
            // What hangs takes the whole deadline.
            proxies[node]?.arm(fault == .hangs && Int.random(in: 0 ..< 8, using: &chance) > 0 ? nil : fault)
            for part in 0 ..< Int.random(in: 1 ... 3, using: &chance) {
                let order = "\(Int.random(in: 0 ..< 6, using: &chance))"
                let head = try shop["c"].log.read { try $0.head(of: StreamName("order-\(order)")) }
                let isChecked = Bool.random(using: &chance)
                appends.append(
                    (
                        node, "\(number)-\(node)-\(part)", isChecked ? head.map { .revision($0.revision) } ?? .noStream : .any, order
                    ))
            }
        }
        let isMigrating = Int.random(in: 0 ..< 12, using: &chance) == 0
        let nodes = shop.nodes
        let fates = try await withThrowingTaskGroup(of: (String, Fate).self) { group in
            for append in appends {
                let store = shop[append.node]
                group.addTask { (append.id, try await Self.fate(of: append.id, append.order, append.expectation, store)) }
            }
            if isMigrating, let a = nodes["a"] { try await migrate(a) }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for proxy in proxies.values { proxy.arm(nil) }
        try await check(fates, number)
    }

    /// Goes forward or back; what is not reached stays as it was, or is done.
    private mutating func migrate(_ store: EventStore) async throws {
        do {
            if try store.versions.live == SchemaVersion(1) {
                try await store.replay(to: SchemaVersion(2))
            } else {
                try await store.rollback()
            }
            counts["migrations", default: 0] += 1
        } catch {
            #expect(
                ["logUnavailable", "commitOutcomeUnknown", "verificationFailed", "deadlinePassed"].contains(error.code),
                "\(error); seed \(seed)")
            counts["migrations \(error.code)", default: 0] += 1
        }
    }

    private static func fate(
        of id: String, _ order: String, _ expectation: EventModel.Expectation, _ store: EventStore
    ) async throws -> Fate {
        do {
            return .made(try await store.append(ShopCluster.placed(order, 1, id: id), expecting: expectation).positions.lowerBound)
        } catch let error as EvstoreError { return error.code == "commitOutcomeUnknown" ? .unknown : .refused(error.code) }
    }

    private mutating func check(_ fates: [String: Fate], _ number: Int) async throws {
        var made: [String: UInt64] = [:]
        for (id, fate) in fates {
            switch fate {
            case .made(let position): made[id] = position
            case .refused(let code):
                refused.insert(id)
                #expect(["expectationFailed", "logUnavailable", "deadlinePassed"].contains(code), "\(id): \(code); seed \(seed)")
                counts[code, default: 0] += 1
            case .unknown:
                open.insert(id)
                counts["unknown", default: 0] += 1
            }
        }
        counts["made", default: 0] += made.count
        let c = shop["c"]
        try await c.catchUp()
        var events: [RecordedEvent] = []
        for event in try c.page(after: seen) { events.append(event) }
        for event in events {
            seen += 1
            let (id, position) = (event.id.text, event.position.rawValue)
            #expect(position == seen && !refused.contains(id), "\(id) was refused and is at \(position); seed \(seed), schedule \(number)")
            if let acknowledged = made.removeValue(forKey: id) {
                #expect(acknowledged == position, "\(id); seed \(seed), schedule \(number)")
            } else {
                #expect(
                    open.remove(id) != nil, "\(id) at \(position) is there twice, or was never appended; seed \(seed), schedule \(number)")
            }
        }
        #expect(made.isEmpty, "acknowledged and not there: \(made); seed \(seed), schedule \(number)")
    }

    func expectOneLog() async throws {
        for node in ["a", "b", "c"] { try await shop[node].catchUp() }
        let links = try ["a", "b", "c"].map { node in try shop[node].log.read { try $0.lastLink.hex } }
        #expect(Set(links).count == 1, "seed \(seed)")
        let nodes = try shop["c"].log.read { try $0.nodes() }
        #expect(nodes.map(\.name) == ["a", "b", "c"])
        for node in nodes { #expect(try node.live == shop[node.name].versions.live, "\(node.name); seed \(seed)") }
    }
}

extension EventStore {
    /// All events behind a position.
    fileprivate func page(after position: UInt64) throws -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        while let event = try event(position: Position(position + UInt64(events.count) + 1)) { events.append(event) }
        return events
    }
}
