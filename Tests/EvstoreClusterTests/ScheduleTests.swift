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

/// Two nodes append, migrate and cut through proxies that break messages, a third one watches. Held against the model on the page "More than
/// one machine": each append ends as made, refused or unknown; what was made is there once, at its position, or a cut has put it into every
/// node's archive, once; what was refused is never there.
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
            // On a busy machine each cut may have come too late.
            var number = Self.schedules
            while trial.cuts == 0, (100 ..< 10 * Self.schedules).contains(number) {
                try await trial.run(number)
                number += 1
            }
            try await trial.expectOneLog()
            print("schedules of faults: \(trial.summary)")
            #expect(trial.cuts > 0 || Self.schedules < 100)
            try await trial.shop.close()
        }
    }
}

/// How a migration or a cut ended: nil where there was none.
private enum End {
    case done
    case failed(String)
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
    /// The ids of the events, by position.
    private var log: [String] = []
    private var epoch = Epoch.first
    private var archives: Set<String> = []
    /// The snapshot of node a that is cut to.
    private var snapshot: String?
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

    var cuts: Int { counts["cuts"] ?? 0 }

    var summary: String {
        "\(log.count) events; " + counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

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
        let migrating = Int.random(in: 0 ..< 12, using: &chance) == 0 ? Bool.random(using: &chance) ? "a" : "b" : nil
        let isCutting = snapshot != nil && (number % 50 == 40 || Int.random(in: 0 ..< 20, using: &chance) == 0)
        let (a, seen) = (shop["a"], epoch)
        let stores = Dictionary(uniqueKeysWithValues: ["a", "b"].map { ($0, shop[$0]) })
        let good = snapshot ?? ""
        let ends = try await withThrowingTaskGroup(of: (String, Fate).self) { group in
            for append in appends {
                guard let store = stores[append.node] else { continue }
                group.addTask { (append.id, try await Self.fate(of: append.id, append.order, append.expectation, store)) }
            }
            async let cut = isCutting ? Self.cut(a, to: good, in: seen) : nil
            var migrated: End?
            if let store = migrating.flatMap({ stores[$0] }) { migrated = await Self.migrate(store) }
            return (fates: try await group.reduce(into: [String: Fate]()) { $0[$1.0] = $1.1 }, migrated: migrated, cut: await cut)
        }
        count("migrations", ends.migrated)
        count("cuts", ends.cut)
        for proxy in proxies.values { proxy.arm(nil) }
        try await check(ends.fates, number)
        if number % 50 == 10 || Int.random(in: 0 ..< 15, using: &chance) == 0 {
            try await ShopCluster.patiently { try await a.catchUp() }
            snapshot = "good-\(number)"
            try await ShopCluster.patiently { try await a.takeSnapshot("good-\(number)") }
        }
    }

    private mutating func count(_ what: String, _ end: End?) {
        switch end {
        case nil: break
        case .done: counts[what, default: 0] += 1
        case .failed(let code):
            // A cut takes a node down to the version of its snapshot, from which nobody rolls back.
            let allowed = [
                "logUnavailable", "commitOutcomeUnknown", "verificationFailed", "deadlinePassed", "epochChanged", "consentNeeded",
                "migrationInProgress", "nothingToRollBackTo",
            ]
            #expect(allowed.contains(code), "\(what); seed \(seed)")
            counts["\(what) \(code)", default: 0] += 1
        }
    }

    /// Cuts off what was appended since a snapshot.
    private static func cut(_ store: EventStore, to snapshot: String, in epoch: Epoch) async -> End? {
        do {
            try await store.rollback(toSnapshot: snapshot, discardTail: true, epoch: epoch)
            return .done
        } catch { return .failed(error.code) }
    }

    /// Goes forward or back; what is not reached stays as it was, or is done.
    private static func migrate(_ store: EventStore) async -> End {
        do {
            if try store.versions.live == SchemaVersion(1) {
                try await store.migrate(to: SchemaVersion(2))
            } else {
                try await store.rollback()
            }
            return .done
        } catch { return .failed(error.code) }
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
        var removed: [String] = []
        for cut in try c.log.read({ try $0.cuts() }) where cut.epoch > epoch {
            let kept = min(Int(cut.position.rawValue), log.count)
            removed += log[kept...]
            log.removeLast(log.count - kept)
            epoch = cut.epoch
        }
        var archived = try newlyArchived()
        for id in removed {
            let isKept = archived.removeOne(id)
            #expect(isKept, "\(id) was cut off, and is in no archive; seed \(seed), schedule \(number)")
        }
        let first = log.count
        for event in try c.page(after: UInt64(first)) {
            log.append(event.id.text)
            #expect(event.position.rawValue == log.count)
        }
        for (index, id) in (log[first...] + archived).enumerated() {
            let position = first + index < log.count ? UInt64(first + index + 1) : nil
            let place = position.map { "at \($0)" } ?? "in an archive"
            #expect(!refused.contains(id), "\(id) was refused and is \(place); seed \(seed), schedule \(number)")
            if let acknowledged = made.removeValue(forKey: id) {
                #expect(position == nil || acknowledged == position, "\(id); seed \(seed), schedule \(number)")
            } else {
                #expect(open.remove(id) != nil, "\(id) \(place) is there twice, or was never appended; seed \(seed), schedule \(number)")
            }
        }
        #expect(made.isEmpty, "acknowledged and not there: \(made); seed \(seed), schedule \(number)")
    }

    /// The ids of the events in the files that are new in the archive of node c.
    private mutating func newlyArchived() throws -> [String] {
        var ids: [String] = []
        for (name, content) in try shop.archives("c") where archives.insert(name).inserted {
            ids += String(decoding: content, as: UTF8.self).matches(of: #/"id":"([0-9]+-[ab]-[0-9])"/#).map { String($0.1) }
        }
        return ids
    }

    func expectOneLog() async throws {
        for node in ["a", "b", "c"] { try await ShopCluster.patiently { try await shop[node].catchUp() } }
        let links = try ["a", "b", "c"].map { node in try shop[node].log.read { try $0.lastLink.hex } }
        #expect(Set(links).count == 1, "seed \(seed)")
        let archives = try ["a", "b", "c"].map { try shop.archives($0) }
        #expect(archives[0] == archives[1] && archives[1] == archives[2], "seed \(seed)")
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

extension [String] {
    fileprivate mutating func removeOne(_ element: String) -> Bool {
        guard let index = firstIndex(of: element) else { return false }
        remove(at: index)
        return true
    }
}
