import Evstore
import EvstoreCluster
import Foundation
import Measured

/// What `ours` can be asked to do.
enum Work {
    static let usage = """
        usage: ours WORK --name value …      prints one JSON object

          append  --store NEW --schemas DIR --frames FILE --events N --writers K     one event an append, K tasks
          bulk    --store NEW --schemas DIR --frames FILE --events N --batch B       B events an append, one task
          trickle --store OLD --frames FILE --writers K                              like append, until it is killed
          scan    --store OLD [--times N]                 block by block, with checksums, as a replay reads
          read    --store OLD [--at N] [--times N]        through the front door, an event a value
          streams --store OLD --count N --streams N       N streams from first to last event, drawn by chance
          tail    --store OLD --stream N --count N        the last 10 events of one stream, N times
          rows    --store OLD --count N --keys N [--readers K]   N rows of the orders by their keys, drawn by chance, K tasks
          ranges  --store OLD --count N --limit N         N times the first rows from a value of the index by-cents on, drawn by chance
          tags    --store OLD --count N --keys N --tag T  the events that have the tag T:K, N times for a K drawn by chance
          changes --store OLD --count N --keys N          events that change N rows, and how long their read model takes to follow
          listen  --store OLD --known N --count N         a subscription: when it gave which event, of N behind those that are known
          consume --store OLD --known N --count N         the same by a consumer with a durable place
          publish --store OLD --frames FILE --events N --rate R  one event an append, R a second: when each began and ended
          open    --store OLD [--count N]                 open and close
          cluster --log CONNINFO --name N --schemas DIR   an empty cluster log
          join    --log CONNINFO --name N --node A --store NEW   a node with all events of the cluster log
          node    --store NODE --frames FILE --events N --writers K [--part I --parts P]   like append, on a node: each P-th event from I on
          upcast  --schemas DIR --frames FILE --times N [--only v5]   one event from version 1 to 2, 3 …, and a scan of its bytes
          fused   --schemas DIR --lines FILE              whether images in one pass are those of the ops, up and down, byte by byte
          replay  --store OLD --schemas DIR --to N [--jobs N]
          bring   --store NEW --schemas DIR --lines FILE  an import of event lines

        --map-mib N makes the store's map smaller, --key-file FILE opens a sealed store.
        """

    static let clock = ContinuousClock()

    static func run(_ words: Words) async throws {
        switch words.work {
        case "append": try await append(words)
        case "bulk": try await bulk(words)
        case "trickle": try await trickle(words)
        case "scan":
            let scan = try BlockScan(store: words.text("store"), options: words.options())
            try passes(words) { try scan.walk() }
        case "read":
            let store = try await open(words)
            let version = words.has("at") ? SchemaVersion(try words.number("at")) : nil
            try passes(words) { try store.readEverything(at: version) }
            try await store.close()
        case "streams": try await streams(words)
        case "tail": try await tail(words)
        case "rows": try await rows(words)
        case "ranges": try await ranges(words)
        case "tags": try await tags(words)
        case "changes": try await changes(words)
        case "listen": try await listen(words)
        case "consume": try await consume(words)
        case "publish": try await publish(words)
        case "open": try await reopen(words)
        case "cluster": try await makeCluster(words)
        case "join": try await join(words)
        case "node": try await node(words)
        case "upcast": try upcast(words)
        case "fused": try fused(words)
        case "replay": try await replay(words)
        case "bring": try await bring(words)
        case "help": print(usage)
        default: throw Unexpected(what: "work \(words.work)\n\(usage)")
        }
    }

    private static func create(_ words: Words) async throws -> EventStore {
        try await EventStore.create(
            words.text("store"), schemas: Schemas.load(words.text("schemas")), version: SchemaVersion(1), options: words.options())
    }

    static func open(_ words: Words) async throws -> EventStore {
        try await EventStore.open(words.text("store"), options: words.options())
    }

    static func say(_ values: [String: Any]) throws {
        FileHandle.standardOutput.write(try JSONSerialization.data(withJSONObject: values, options: [.sortedKeys]) + Data("\n".utf8))
    }

    private static func say(_ times: AppendTimes, events: Int, appends: Int) throws {
        try say([
            "events": events, "commits": appends, "seconds": times.seconds, "p50": times.latency(0.5), "p99": times.latency(0.99),
            "max": times.latency(1),
        ])
    }

    private static func bring(_ words: Words) async throws {
        let store = try await create(words)
        let begin = clock.now
        let report = try await store.importLines(from: .file(words.text("lines")), as: SchemaVersion(1))
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["events": report.added, "seconds": seconds])
    }

    /// Into a store that is there, one of several processes does so.
    private static func append(_ words: Words) async throws {
        let events = try Frame.read(words.text("frames"), limit: words.number("events")).map { try $0.event }
        let isThere = FileManager.default.fileExists(atPath: try words.text("store"))
        let store = try await isThere ? open(words) : create(words)
        let times = try await store.appendSingly(events, writers: words.number("writers"))
        try await store.close()
        try say(times, events: events.count, appends: events.count)
    }

    private static func cluster(_ words: Words) throws -> Cluster { try Cluster(words.text("name"), connection: words.text("log")) }

    private static func makeCluster(_ words: Words) async throws {
        try await cluster(words).create(schemas: Schemas.load(words.text("schemas")), version: SchemaVersion(1))
        try say([:])
    }

    private static func join(_ words: Words) async throws {
        let begin = clock.now
        try await StoreMaintenance.join(cluster(words), as: words.text("node"), into: words.text("store"), options: words.options())
        let seconds = (clock.now - begin).seconds
        let store = try await open(words)
        let events = try store.last().position.rawValue
        try await store.close()
        try say(["events": events, "seconds": seconds])
    }

    private static func node(_ words: Words) async throws {
        let all = try Frame.read(words.text("frames"), limit: words.number("events"))
        let (part, parts) = (try words.number("part", or: 0), try words.number("parts", or: 1))
        let events = try stride(from: part, to: all.count, by: parts).map { try all[$0].event }
        var options = try words.options()
        options.joinsClusters(as: "ours")
        let store = try await EventStore.open(words.text("store"), options: options)
        let times = try await store.appendSingly(events, writers: words.number("writers"))
        try await store.close()
        try say(times, events: events.count, appends: events.count)
    }

    private static func bulk(_ words: Words) async throws {
        let reader = try FrameReader(path: words.text("frames"))
        let store = try await create(words)
        let (times, events) = try await store.appendTogether(reader, events: words.number("events"), batch: words.number("batch"))
        try await store.close()
        try say(times, events: events, appends: times.latencies.count)
    }

    private static func trickle(_ words: Words) async throws -> Never {
        let events = try Frame.read(words.text("frames"), limit: 10_000).map { try $0.event }
        // A service of version 1, which goes on while the store turns to another.
        let store = try await EventStore.open(words.text("store"), version: SchemaVersion(1), options: words.options())
        try say(["open": true])
        while true { _ = try await store.appendSingly(events, writers: words.number("writers")) }
    }

    /// Events and bytes, with the time of each pass.
    private static func passes(_ words: Words, _ pass: () throws -> (events: Int, bytes: Int)) throws {
        var best = Double.infinity
        var seen = (events: 0, bytes: 0)
        var seconds: [Double] = []
        for _ in 0 ..< (try words.number("times", or: 3)) {
            let begin = clock.now
            seen = try pass()
            seconds.append((clock.now - begin).seconds)
            best = min(best, seconds[seconds.count - 1])
        }
        try say(["events": seen.events, "bytes": seen.bytes, "seconds": best, "all": seconds])
    }

    private static func streams(_ words: Words) async throws {
        let store = try await open(words)
        let (count, streams) = (try words.number("count"), try words.number("streams"))
        // The same order of streams as in the other drivers.
        var state: UInt64 = 42
        var names: [StreamName] = []
        for _ in 0 ..< count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            names.append(try StreamName(Frame.name(Int(state >> 33) % streams)))
        }
        let begin = clock.now
        var events = 0
        for name in names { events += try store.read(name).count }
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["reads": count, "events": events, "seconds": seconds])
    }

    private static func tail(_ words: Words) async throws {
        let store = try await open(words)
        let name = try StreamName(Frame.name(words.number("stream")))
        let count = try words.number("count")
        let begin = clock.now
        var events = 0
        for _ in 0 ..< count { events += try store.read(name, limit: 10, backwards: true).count }
        let seconds = (clock.now - begin).seconds
        try await store.close()
        try say(["reads": count, "events": events, "seconds": seconds])
    }

    private static func reopen(_ words: Words) async throws {
        var seconds: [Double] = []
        var events: UInt64 = 0
        for _ in 0 ..< (try words.number("count", or: 1)) {
            let begin = clock.now
            let store = try await open(words)
            seconds.append((clock.now - begin).seconds)
            events = try store.last().position.rawValue
            try await store.close()
        }
        try say(["events": events, "seconds": seconds[0], "all": seconds])
    }

    private static func upcast(_ words: Words) throws {
        let upcasting = try Upcasting(schemas: words.text("schemas"), payload: Frame.read(words.text("frames"), limit: 1)[0].payload)
        let times = try words.number("times")
        func nanoseconds(_ body: () throws -> Int) throws -> Double {
            var best = Double.infinity
            for _ in 0 ..< 9 {
                let begin = clock.now
                guard try body() > 0 else { throw Unexpected(what: "nothing was made") }
                best = min(best, (clock.now - begin).seconds * 1e9 * 9 / Double(times))
            }
            return best
        }
        let part = times / 9
        // One of them alone, for who counts instructions.
        let only = words.has("only") ? try words.text("only") : nil
        var values: [String: Double] = [:]
        func note(_ name: String, _ body: () throws -> Int) throws {
            if only == nil || only == name { values[name] = try nanoseconds(body) }
        }
        try note("scan") { try upcasting.scan(times: part) }
        try note("members") { try upcasting.members(times: part) }
        for version in 2 ... 5 { try note("v\(version)") { try upcasting.upcast(to: version, times: part) } }
        try say(values)
    }

    private static func replay(_ words: Words) async throws {
        let store = try await EventStore.open(
            words.text("store"), schemas: Schemas.load(words.text("schemas")), options: words.options())
        let report = try await store.migrate(to: SchemaVersion(words.number("to")))
        try await store.close()
        try say(["events": report.events, "seconds": report.duration.seconds, "pause": report.flipPause.map { $0.seconds * 1_000 } ?? -1])
    }
}
