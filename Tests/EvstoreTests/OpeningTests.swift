import EventLog
import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("Opening, or making first")
struct OpeningTests {
    private func directory() throws -> (TemporaryDirectory, Schemas) {
        (try TemporaryDirectory(), try SchemaFiles(ShopHistory.released[0], ShopHistory.released[1], projections: nil).load())
    }

    private func code(_ body: () async throws -> EventStore) async throws -> String {
        do { try await body().close() } catch { return (error as? EvstoreError)?.code ?? "\(error)" }
        return "opened"
    }

    @Test("the first start makes the store at the program's version, every later one opens it with what it holds")
    func again() async throws {
        let (directory, schemas) = try directory()
        let path = directory.path + "/store"
        for start in 1 ... 3 {
            let store = try await EventStore.open(path, creatingWith: schemas, version: SchemaVersion(1), options: .forTests)
            #expect(try store.versions == StoreVersions(floor: 1, live: 1, top: 1, head: 1))
            #expect(try store.workingVersion == SchemaVersion(1))
            #expect(try await store.append([try Orders.placed("\(start)", at: 1)]).position == Position(UInt64(start)))
            try await store.close()
        }
        let newer = try await EventStore.open(
            path, creatingWith: schemas, version: SchemaVersion(2), policy: .migrate(), options: .forTests)
        #expect(try newer.versions.live == SchemaVersion(2))
        try await newer.close()
        let follows = try await EventStore.open(path, creatingWith: schemas, options: .forTests)
        #expect(try follows.workingVersion == SchemaVersion(2))
        try await follows.close()
    }

    @Test(
        "a store works with any numbers as its options: those without a meaning count as the nearest with one",
        arguments: [Int.min, -1, 0, .max])
    func numbers(_ number: Int) async throws {
        var options = Options.forTests
        (options.pageEventsMax, options.followBatchEvents, options.flipLagEventsMax) = (number, number, number)
        (options.sweepDueEvents, options.sweepForcedEvents, options.sweepSliceEntries) = (number, number, number)
        (options.commitEventsMax, options.commitBytesMax, options.queueRequestsMax) = (number, number, number)
        (options.readSliceBytes, options.buildMemoryBytes, options.replaySnapshotsKept) = (number, number, number)
        if number > 0 {
            (options.eventBytesMax, options.jsonDepthMax, options.jsonMembersMax) = (number, number, number)
            (options.appendEventsMax, options.appendBytesMax, options.typeNameBytesMax) = (number, number, number)
        }
        let temporary = try await TemporaryStore.make(try Orders.schemas(2), at: SchemaVersion(1), options: options)
        let store = temporary.store
        for id in 1 ... 5 { _ = try await store.append([try Orders.placed("\(id)", at: 1)]) }
        let line = #"{"stream":"order-6","type":"OrderPlaced","data":{"id":"6","customer":"Ann","total":100}}"#
        _ = try await store.importLines(from: .file(try temporary.write(line, to: "line")), as: SchemaVersion(1))
        var found: [UInt64] = []
        try store.readAll(backwards: true) { event in
            found.append(event.position.rawValue)
            return true
        }
        #expect(found == [6, 5, 4, 3, 2, 1])
        #expect(try await store.query("orders").rows.count == 6)
        _ = try await store.migrate(to: SchemaVersion(2))
        #expect(try await store.query("orders").rows.count == 6)
        #expect(try await store.maintenance.verify(deep: true).ok)
    }

    @Test("of many that start at once one makes the store, and all have it")
    func atOnce() async throws {
        let (directory, schemas) = try directory()
        let path = directory.path + "/store"
        let positions = try await withThrowingTaskGroup(of: Position.self) { group in
            for number in 1 ... 8 {
                group.addTask {
                    let store = try await EventStore.open(path, creatingWith: schemas, version: SchemaVersion(2), options: .forTests)
                    let position = try await store.append([try Orders.placed("\(number)", at: 2)]).position
                    try await store.close()
                    return position
                }
            }
            return try await group.reduce(into: Set<Position>()) { $0.insert($1) }
        }
        #expect(positions.count == 8)
    }

    @Test("creating never turns another directory into a store, and a version that the schemas lack makes none")
    func refused() async throws {
        let (directory, schemas) = try directory()
        try directory.write("mine", to: "taken/thesis.txt")
        #expect(try await code { try await .open(directory.path + "/taken", creatingWith: schemas) } != "opened")
        let path = directory.path + "/none"
        #expect(try await code { try await .open(path, creatingWith: schemas, version: SchemaVersion(3)) } == "unknownVersion")
        #expect(try await code { try await .open(path, schemas: schemas) } == "storeNotFound")
    }

    @Test("opening while another process comes in after a crash ends when its task is cancelled")
    func cancelled() async throws {
        let (directory, schemas) = try directory()
        let path = directory.path + "/store"
        try await EventStore.create(path, schemas: schemas, options: .forTests).close()
        let alone = try StoreLock.presence.acquire(at: path, what: "looks at the log after a crash")
        let coming = try StoreLock.opening.acquire(at: path, what: "opens it after a crash")
        let opening = Task { try await code { try await .open(path, options: .forTests) } }
        try await Task.sleep(for: .milliseconds(50))
        opening.cancel()
        #expect(try await opening.value == "interrupted")
        try coming.release()
        try alone.release()
        #expect(try await code { try await .open(path, options: .forTests) } == "opened")
    }
}
