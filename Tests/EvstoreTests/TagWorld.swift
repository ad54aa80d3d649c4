import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A store whose two versions tag events in different ways, and the tags that each event should have, made without the product's code.
struct TagWorld {
    enum Act: CaseIterable {
        case append, migrate, goBack, cut

        static func story(_ random: inout SeededGenerator) -> [Act] {
            [.append] + (0 ..< 6).map { _ in allCases.randomElement(using: &random) ?? .append }
        }
    }

    let temporary: TemporaryStore
    private var snapshots = 0
    var store: EventStore { temporary.store }

    private static let versions = [
        """
        evstore: 1
        version: 1
        events:
          Seat:
            stream: "room-{/room}"
            required: [room]
            properties:
              room: {type: string}
              row: {type: [integer, "null"]}
              for: {type: array, maxItems: 3, items: {type: object, properties: {who: {type: string}, n: {type: number}}}}
            tags: ["room:{/room}", "row:{/row}", {each: /for, tag: "who:{$item/who}"}, "in:{$stream}"]
          Pair:
            stream: "pair-{/a}"
            required: [a]
            properties: {a: {type: string}, b: {type: string}}
          Note: {properties: {text: {type: string}}}
        """,
        """
        evstore: 1
        version: 2
        upcast:
          - rename-event: {from: Seat, to: Place}
          - on: Place
            do: [{move: {from: /room, path: /hall}}]
          - split-event:
              type: Pair
              because: test
              into: [{type: One, pick: [/a], down: {hide: part}}, {type: Two, pick: [/b], down: {hide: part}}]
        events:
          Place:
            stream: "room-{/hall}"
            required: [hall]
            properties:
              hall: {type: string}
              row: {type: [integer, "null"]}
              for: {type: array, maxItems: 3, items: {type: object, properties: {who: {type: string}, n: {type: number}}}}
            tags: ["{/hall}/{/row}", {each: /for, tag: "{/hall}+{$item/n}"}, "all"]
          One: {stream: "pair-{/a}", required: [a], properties: {a: {type: string}}, tags: ["pair:{/a}", "all"]}
          Two: {properties: {b: {type: string}}, tags: ["pair:{/b}"]}
          Note: {properties: {text: {type: string}}}
        """,
    ]

    init(_ random: inout SeededGenerator, isSealed: Bool) async throws {
        var options = Options.forTests
        options.pageEventsMax = Int.random(in: 1 ... 5, using: &random)
        if isSealed { options.secret = .key([UInt8](repeating: 7, count: 32)) }
        temporary = try await TemporaryStore.make(try SchemaFiles(versions: Self.versions).load(), at: 1, options: options)
    }

    /// Whether all that was kept of the tags is as it has to be, and the story can be rehearsed.
    func isSound() async throws -> Bool {
        try await store.follow()
        let report = try await store.maintenance.verify(deep: true)
        return report.findings.allSatisfy { $0.severity != .error }
    }

    mutating func run(_ act: Act, _ random: inout SeededGenerator) async throws {
        let live = try store.versions.live
        switch act {
        case .append:
            for _ in 0 ..< Int.random(in: 1 ... ([20, 60, 300].randomElement(using: &random) ?? 20), using: &random) {
                let events = try (0 ..< Int.random(in: 1 ... 2, using: &random)).map { _ in try Self.event(&random) }
                _ = try await store.append(events)
            }
        case .migrate where live == 1:
            _ = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
        case .goBack where live == 2: _ = try await store.rollback()
        case .cut:
            let end = try store.last().position.rawValue
            guard end > 1, live == 1 else { return }
            snapshots += 1
            _ = try await store.takeSnapshot("s\(snapshots)")
            try await run(.append, &random)
            let gone = try store.last()
            _ = try await store.rollback(toSnapshot: "s\(snapshots)", discardTail: true)
            while try store.last().position <= gone.position { try await run(.append, &random) }
            try await store.follow()
            for query in [nil, .tags("room:r1")] as [EventQuery?] {
                await #expect("whoever has seen what was cut off is told") {
                    for try await _ in store.subscribe(after: gone, at: 1, matching: query) {}
                } throws: { ($0 as? EvstoreError)?.code == "epochChanged" }
            }
        case .migrate, .goBack: return
        }
    }

    private static func word(_ random: inout SeededGenerator) -> String {
        String(["x", "y", "é", "e\u{301}"].randomElement(using: &random) ?? "x")
    }

    static func event(_ random: inout SeededGenerator) throws -> NewEvent {
        switch Int.random(in: 0 ..< 5, using: &random) {
        case 0: return try .event("pair-p", "Pair", #"{"a":"p","b":"\#(word(&random))"}"#, at: 1)
        case 1: return try .event("notes", "Note", "{}", at: 1)
        default:
            let room = ["r1", "r2", "r3"].randomElement(using: &random) ?? "r1"
            let row = ["", #","row":null"#, #","row":1"#, #","row":10e-1"#].randomElement(using: &random) ?? ""
            let items = (0 ..< Int.random(in: 0 ... 3, using: &random)).map { _ in
                [#"{"who":"\#(word(&random))"}"#, #"{"n":1.50}"#, "{}"].randomElement(using: &random) ?? "{}"
            }
            let list = Bool.random(using: &random) ? #","for":[\#(items.joined(separator: ","))]"# : ""
            return try .event("room-\(room)", "Seat", #"{"room":"\#(room)"\#(row)\#(list)}"#, at: 1)
        }
    }

    /// The tags of an event, by the rules of the files above.
    private static func tags(of event: RecordedEvent) throws -> [String] {
        let data = try #require(try JSONSerialization.jsonObject(with: Data(event.payload)) as? [String: Any])
        let items = data["for"] as? [[String: Any]] ?? []
        let row = (data["row"] as? NSNumber).map { "\($0.intValue)" }
        switch (event.type, event.version.number) {
        case ("Seat", _):
            let room = data["room"] as? String ?? ""
            return ["room:\(room)", "in:\(event.stream.text)"] + [row].compactMap { $0.map { "row:\($0)" } }
                + items.compactMap { $0["who"] as? String }.map { "who:\($0)" }
        case ("Place", _):
            let hall = data["hall"] as? String ?? ""
            return ["all"] + [row].compactMap { $0.map { "\(hall)/\($0)" } } + items.filter { $0["n"] != nil }.map { _ in "\(hall)+1.5" }
        case ("One", _): return ["all", "pair:\(data["a"] as? String ?? "")"]
        case ("Two", _): return (data["b"] as? String).map { ["pair:\($0)"] } ?? []
        default: return []
        }
    }

    private static let words = [
        "room:r1", "room:r2", "row:1", "who:x", "who:é", "who:e\u{301}", "in:room-r3", "all", "r1/1", "r2/1", "r1+1.5", "pair:p", "pair:x",
        "no",
    ]

    static func query(_ random: inout SeededGenerator, at version: SchemaVersion) -> EventQuery {
        let types = version == 1 ? ["Seat", "Pair", "Note"] : ["Place", "One", "Two", "Note"]
        return EventQuery(
            (0 ..< Int.random(in: 1 ... 2, using: &random)).map { _ in
                let tags = (0 ..< Int.random(in: 0 ... 2, using: &random)).map { _ in words.randomElement(using: &random) ?? "no" }
                let some = types.shuffled(using: &random).prefix(tags.isEmpty ? 1 : Int.random(in: 0 ... 2, using: &random))
                return .init(types: Array(some), tags: tags)
            })
    }

    /// An event as a version shows it, with the tags that it should have.
    struct Seen {
        let event: RecordedEvent
        let tags: Set<[UInt8]>

        func matches(_ query: EventQuery) -> Bool { query.items?.contains(where: matches) ?? true }

        func matches(_ item: EventQuery.Item) -> Bool {
            (item.types.isEmpty || item.types.contains(event.type)) && item.tags.allSatisfy { tags.contains(Array($0.utf8)) }
        }
    }

    /// All events, by a look at each.
    func seen(at version: SchemaVersion) throws -> [Seen] {
        var seen: [Seen] = []
        for position in 0 ..< (try store.last().position.rawValue) {
            for event in try store.view(Position(position + 1), at: version) {
                seen.append(Seen(event: event, tags: Set(try Self.tags(of: event).map { Array($0.utf8) })))
            }
        }
        return seen
    }

    func compare(_ random: inout SeededGenerator, _ seed: Comment) async throws {
        let versions = try store.versions
        let version = SchemaVersion(UInt32.random(in: 1 ... versions.head.rawValue, using: &random))
        let query = Self.query(&random, at: version)
        let wanted = try seen(at: version).filter { $0.matches(query) }.map(\.event)
        let note: Comment = "\(seed.rawValue), \(query) at \(version)"
        // A handle that can't bring the index to the end looks at the events behind it.
        let reader = Int.random(in: 0 ..< 3, using: &random) == 0 ? try await temporary.open(readOnly: true) : store
        try await compare(reader, query, at: version, wanted, &random, note)
    }

    private func compare(
        _ store: EventStore, _ query: EventQuery, at version: SchemaVersion, _ wanted: [RecordedEvent], _ random: inout SeededGenerator,
        _ note: Comment
    ) async throws {
        func same(_ found: [RecordedEvent], _ wanted: [RecordedEvent]) {
            // The events themselves would fill pages.
            let words = found == wanted ? nil : "found \(found.map(\.position.rawValue)) for \(wanted.map(\.position.rawValue))"
            #expect(words == nil, note)
        }
        let from = UInt64.random(in: 1 ... (try store.last().position.rawValue + 1), using: &random)
        same(try await store.read(matching: query, at: version).events, wanted)
        same(
            try await store.read(matching: query, at: version, from: Position(from)).events,
            wanted.filter { $0.position.rawValue >= from })
        same(
            try await store.read(matching: query, at: version, from: Position(from), backwards: true).events,
            wanted.filter { $0.position.rawValue <= from }.reversed())
        let limit = Int.random(in: 0 ... 5, using: &random)
        let some = try await store.read(matching: query, at: version, limit: limit).events
        same(some, Array(wanted.prefix(some.count)))
        #expect(some.count >= min(limit, wanted.count), note)
        var seen: [RecordedEvent] = []
        for try await event in store.events(at: version, matching: query) { seen.append(event) }
        same(seen, wanted)
        seen = []
        try store.readAll(at: version, matching: query) { event in
            seen.append(event)
            return true
        }
        same(seen, wanted)
        // A subscription would wait for an event that it lacks.
        guard seen == wanted else { return }
        guard let later = try await Self.subscribed(store, query, at: version, count: wanted.count) else { return }
        same(later.events, wanted)
        let epoch = try store.last().epoch
        #expect(wanted.isEmpty || later.checkpoint.epoch == epoch, note)
    }

    /// The first events of a subscription, and its checkpoint then; nil where one of its tags can't be made at the version, for which nobody
    /// may wait.
    private static func subscribed(
        _ store: EventStore, _ query: EventQuery, at version: SchemaVersion, count: Int
    ) async throws -> (events: [RecordedEvent], checkpoint: Checkpoint)? {
        var seen: [RecordedEvent] = []
        var pages = store.subscribe(at: version, matching: query).pages.makeAsyncIterator()
        while seen.count < count {
            let page: [RecordedEvent]?
            do { page = try await pages.next() } catch {
                guard error.code == "usage" else { throw error }
                return nil
            }
            guard let page else { break }
            seen += page
        }
        return (seen, pages.checkpoint)
    }
}
