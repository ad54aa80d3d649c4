import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A scheduler whose schema version is observed and never in the way, and whose deliveries come more than once.
@Suite("The reminders domain")
struct RemindersTests {
    static let domain = Domain(name: "reminders")

    @Test("the version can be read without opening, a mismatch is logged, and nothing is blocked")
    func observed() async throws {
        let temporary = try await Self.domain.store()
        #expect(try EventStore.versions(temporary.path).live == SchemaVersion(1))
        let log = RecordedLog()
        let plugin = try await EventStore.open(
            temporary.path, schemas: try Self.domain.schemas(), version: SchemaVersion(3), policy: .observe,
            options: .forTests, logger: log.logger)
        #expect(log.lines.contains { $0.contains("another version") })
        let seen = try plugin.read(try StreamName("reminder-tea"))
        #expect(seen.first?.json.contains(#""content":{"title":"Tea","body":"The green one"}"#) == true)
        _ = try await plugin.append([Reminder.scheduled("late", "2026-11-01T09:00:00Z", at: 3)])
        #expect(try plugin.event(position: try plugin.last().position)?.born == SchemaVersion(1))
        #expect(try EventStore.versions(temporary.path).head == SchemaVersion(1), "observing migrates nothing")
    }

    @Test("a script sees the mismatch by its exit code, without migrating")
    func observedFromAShell() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        try store.run("import", "-", "--as", "v1", input: Self.domain.fixtures(1))
        #expect(try store.attempt("status", "--expect", "v1").exit == 0)
        #expect(try store.attempt("status", "--expect", "v2").exit == 4)
    }

    @Test("a clock change, duplicate deliveries and a cold start: each slot once, and the state as without them")
    func clockChange() async throws {
        let phone = try await Phone(at: 1)
        // 02:30 does not exist on 29 March, and exists twice on 25 October.
        try await phone.schedule("gap", "2026-03-29T02:30:00+01:00")
        try await phone.schedule("twice", "2026-10-25T02:30:00+02:00")
        for moment in ["2026-03-29T03:30:00+02:00", "2026-03-29T03:30:07+02:00"] {
            try await phone.deliver("gap", slot: "2026-03-29", moment)
        }
        let calm = try await phone.state()
        for moment in ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"] {
            try await phone.coldStart()
            try await phone.deliver("gap", slot: "2026-03-29", moment)
            #expect(try await phone.state() == calm, "a duplicate changes nothing")
        }
        for moment in ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"] {
            try await phone.deliver("twice", slot: "2026-10-25", moment)
            try await phone.coldStart()
        }
        #expect(try phone.deliveries() == ["gap:2026-03-29", "twice:2026-10-25"])
        #expect(try await phone.store.row("delivered", "twice@2026-10-25") == #"{"at":"2026-10-25T02:30:00+02:00"}"#)
    }

    @Test("a day that rolls over, duplicate deliveries and a cold start: each day and slot once")
    func rollover() async throws {
        let phone = try await Phone(at: 2)
        try await phone.schedule("pills", "2026-07-01T00:05:00+02:00")
        for _ in 0 ..< 3 {
            try await phone.rollOver("2026-07-01")
            try await phone.deliver("pills", slot: "2026-07-01", "2026-07-01T00:05:0\(Int.random(in: 0 ... 9))+02:00")
            try await phone.coldStart()
        }
        #expect(try phone.deliveries() == ["pills:2026-07-01"])
        let month = try await phone.store.row("days", "2026-07")
        #expect(month?.contains(#""rolls":1"#) == true && month?.contains(#""last":"2026-07-01""#) == true)
    }

    @Test("a schema change and a cold start: what was sent before is known after, in the words of the new version")
    func schemaChange() async throws {
        let phone = try await Phone(at: 1)
        try await phone.schedule("tea", "2026-03-28T09:00:00Z")
        try await phone.deliver("tea", slot: "2026-03-28", "2026-03-28T09:00:00Z")
        let before = try phone.store.last()
        try await phone.coldStart(at: 3, .migrate())
        #expect(try phone.store.versions.live == SchemaVersion(3))
        // The queue of the old program sends again what it was never told had arrived; the new one says it as version 3.
        try await phone.schedule("tea", "2026-03-28T09:00:00Z")
        try await phone.deliver("tea", slot: "2026-03-28", "2026-03-28T09:00:09Z")
        #expect(try phone.store.last() == before)
        #expect(try await phone.store.row("due", "tea")?.contains(#""lastSlot":"2026-03-28""#) == true)
    }

    @Test("deliveries of a consumer with its own checkpoint are repeated after a kill, and change nothing")
    func consumer() async throws {
        let phone = try await Phone(at: 3)
        for id in ["a", "b", "c"] { try await phone.schedule(id, "2026-11-20T10:00:00Z") }
        // Shows a notification, then notes that it did; killed between the two, it shows it again.
        var kept = Checkpoint.start
        for _ in 0 ..< 2 {
            for event in try await phone.page(after: kept) {
                try await phone.deliver(event.stream.text.replacing("reminder-", with: ""), slot: "2026-11-20", "2026-11-20T10:00:00Z")
            }
            try await phone.coldStart()
        }
        kept = try phone.store.last()
        #expect(try phone.deliveries() == ["a:2026-11-20", "b:2026-11-20", "c:2026-11-20"])
        #expect(kept.position == Position(6))
    }

    @Test("kill -9 between any two writes, then the same writes again: the same log and read models")
    func killed() throws {
        let calm = try ScratchStore(schemas: Self.domain.path)
        let writes = try Self.domain.fixtures(3).split(separator: "\n").map(String.init)
        try calm.run("import", "-", "--as", "v3", input: writes.joined(separator: "\n"))
        let expected = try calm.run("query", "due").output + calm.run("query", "delivered").output
        for kill in writes.indices {
            let store = try ScratchStore(schemas: Self.domain.path)
            try store.run("init", "--at", "v3")
            for (index, write) in writes.enumerated() where index <= kill {
                let running = try store.start("import", "-", "--as", "v3", input: write)
                if index == kill {
                    usleep(UInt32.random(in: 0 ..< 60_000))
                    running.send(signal: SIGKILL)
                }
                _ = try running.wait()
            }
            try store.run("import", "-", "--as", "v3", input: writes.joined(separator: "\n"))
            #expect(try store.run("export").lines.count == writes.count, "killed in write \(kill)")
            #expect(try store.run("query", "due").output + store.run("query", "delivered").output == expected)
        }
    }

    @Test("a rollback keeps what was born at version 3, and is a replay of the older version from scratch")
    func rollback() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(3))
        try await Self.domain.load(2, into: temporary)
        try await Self.domain.load(3, into: temporary)
        let forward = try store.all(at: 3).map(\.json)
        try await store.rollBackAndCompare(to: 1)
        #expect(try await store.row("due", "clock")?.contains(#""title":"Clock""#) == true)
        #expect(try store.read(try StreamName("day-2026-10-26")).isEmpty, "version 1 rolls over without a record")
        _ = try await store.migrate(to: SchemaVersion(3))
        #expect(try store.all(at: 3).map(\.json) == forward)
    }
}

/// What a phone does with its reminders; everything that it sends has an id, since it may send it again.
private final class Phone {
    private let temporary: TemporaryStore
    private(set) var store: EventStore
    private var version: Int

    init(at version: Int) async throws {
        temporary = try await TemporaryStore.make(try RemindersTests.domain.schemas(), at: SchemaVersion(version))
        (store, self.version) = (temporary.store, version)
    }

    /// Nothing that was in memory is left.
    func coldStart(at version: Int? = nil, _ policy: Policy = .require) async throws {
        try await store.close()
        self.version = version ?? self.version
        store = try await EventStore.open(
            temporary.path, schemas: temporary.schemas, version: SchemaVersion(self.version), policy: policy, options: .forTests)
    }

    func schedule(_ id: String, _ moment: String) async throws {
        _ = try await store.append([try Reminder.scheduled(id, moment, at: version)])
    }

    func deliver(_ id: String, slot: String, _ moment: String) async throws {
        let payload = #"{"id":"\#(id)","slot":"\#(slot)","deliveredAt":"\#(moment)"}"#
        let event = try NewEvent.event("reminder-\(id)", "NotificationDelivered", payload, at: version, id: "\(id):\(slot)")
        // A redelivery has another moment: the first one counts.
        _ = try await store.append([event], sameID: .keepFirst)
    }

    func rollOver(_ day: String) async throws {
        let payload = #"{"day":"\#(day)","at":"\#(day)T00:00:00+02:00"}"#
        _ = try await store.append([try .event("day-\(day)", "DayRolledOver", payload, at: version, id: "rollover:\(day)")])
    }

    func deliveries() throws -> [String] {
        try store.all(type: "NotificationDelivered").map(\.id.text)
    }

    func page(after checkpoint: Checkpoint) async throws -> [RecordedEvent] {
        var pages = store.subscribe(after: checkpoint, matching: .type("ReminderScheduled")).pages.makeAsyncIterator()
        return try await pages.next() ?? []
    }

    /// Everything that its user could see.
    func state() async throws -> [String] {
        var rows: [String] = []
        for projection in ["due", "delivered"] {
            try await store.query(projection) { row in
                rows.append("\(row.key) \(row.json)")
                return true
            }
        }
        return rows
    }
}

/// What is said of a reminder at each version.
enum Reminder {
    static func scheduled(_ id: String, _ moment: String, at version: Int) throws -> NewEvent {
        let words = #""title":"\#(id)","body":"""#
        let day = moment.prefix(10)
        let payload =
            switch version {
            case 1: #"{"id":"\#(id)",\#(words),"fireAt":"\#(moment)"}"#
            case 2: #"{"id":"\#(id)",\#(words),"fireAt":"\#(moment)","localDay":"\#(day)","zone":"UTC"}"#
            default: #"{"id":"\#(id)","content":{\#(words)},"fireAt":"\#(moment)","localDay":"\#(day)","zone":"UTC"}"#
            }
        return try .event("reminder-\(id)", "ReminderScheduled", payload, at: version, id: "schedule:\(id):\(moment.prefix(16))Z")
    }
}
