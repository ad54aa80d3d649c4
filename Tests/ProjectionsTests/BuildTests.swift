import EventLog
import EventModel
import LMDB
import Platform
import Testing

@testable import Projections

/// Every fold, over a key that is an event error for some events.
private let rich = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          initial: {/state: {value: new}}
          on:
            OrderPlaced:
              - {when: {path: /total, below: 5}, only-existing: true, unset: [/last]}
              - {set: {/total: /total, /last: /lines}, init: {/first: $position}, max: {/most: /total}, include: {/names: /customer}}
            OrderPaid:
              - {when: {row: /state, equals: void}, add: {/strays: {value: 1}}}
              - {set: {/state: {value: paid}}, add: {"/by/{/method}": /amount}, append: {/methods: {from: /method, keep: 3}}}
            OrderVoided: delete
      skus:
        - since: 1
          key: "{$item/sku}@{/customer}"
          on: {OrderPlaced: {each: /lines, add: {/sold: $item/count}, count: {/lines: $item/sku}}}
    """

@Test(
    "following and bulk building give the same rows, whatever the batches, chunks, threads and memory",
    arguments: 1 ... 4 as ClosedRange<UInt64>)
func followingEqualsBuilding(_ seed: UInt64) async throws {
    var options = TestStore.options
    options.followBatchEvents = [1, 7, 100, 4_096][Int(seed) - 1]
    if seed % 2 == 0 { options.secret = SealedModelTests.secret }
    let store = try TestStore(rich, options: options)
    try await store.append(randomEvents(600, seed: seed))
    for name in ["orders", "skus"] {
        let definition = try store.definition(name)
        let followed = try store.generation(definition)
        try Follower(store.evolving).catchUp(followed, definition, to: Position(200))
        try Follower(store.evolving).catchUp(followed, definition)
        let expected = try followed.checkedHeader()
        for (jobs, chunk) in [(1, 10_000), (2, 64), (3, 1), (4, 33)] {
            let built = try store.build(name) { ($0.jobs, $0.chunkEvents) = (jobs, chunk) }
            let header = try built.checkedHeader()
            #expect(header.digest == expected.digest, "seed \(seed), \(name), \(jobs) jobs, chunks of \(chunk)")
            #expect(header.rows == expected.rows && header.quarantined == expected.quarantined && header.checkpoint == expected.checkpoint)
            #expect(header.isReady)
            #expect(try built.quarantined() == followed.quarantined())
        }
        #expect(expected.rows > 0 && expected.quarantined > 0)
    }
    try await store.end()
}

@Test("rows that do not fit into memory are spilled, and the result is the same", arguments: [11, 12] as [UInt64])
func spilling(_ seed: UInt64) async throws {
    var options = TestStore.options
    if seed == 12 { options.secret = SealedModelTests.secret }
    let store = try TestStore(rich, options: options)
    try await store.append(randomEvents(3_000, seed: seed, keys: 700))
    let roomy = try store.build()
    let expected = try roomy.checkedHeader()
    // 32 empty partitions alone take more.
    options.buildMemoryBytes = 1
    let tight = try EventLog.open(at: store.path, options: options)
    let evolving = VersionedLog(tight)
    let definition = try store.definition()
    let generation = try store.generation(definition)
    var build = BulkBuild(evolving, at: SchemaVersion(1), [(definition, generation)])
    (build.onError, build.chunkEvents) = (.quarantine, 200)
    _ = try build.run(Job("build"))
    let header = try generation.checkedHeader()
    #expect(header.digest == expected.digest, "seed \(seed)")
    #expect(header.quarantined == expected.quarantined)
    // Some are found only when the row that was put aside is folded.
    #expect(try roomy.quarantined().contains { $0.reason.contains("(row ") })
    #expect(try generation.quarantined() == roomy.quarantined())
    #expect(try Directory.names(generation.directory) == ["data.mdb"] + (seed == 12 ? ["key"] : []) + ["lock.mdb", "mark"])
    try await tight.close()
    try await store.end()
}

@Test("a strict build stops at the first event that fails, whatever the threads, and is not ready")
func strictBuild() async throws {
    let store = try TestStore(Shop.file("key: /customer\non: {OrderPlaced: {count: {/n: /id}}}"))
    var events = (0 ..< 300).map { ("OrderPlaced", #"{"id":"\#($0)","total":1,"customer":"c\#($0 % 3)"}"#) }
    for bad in [120, 121, 250] { events[bad].1 = #"{"id":"bad","total":1}"# }
    try await store.append(events)
    for (jobs, chunk) in [(1, 1_000), (2, 50), (4, 7)] {
        let definition = try store.definition()
        let generation = try store.generation(definition)
        var build = BulkBuild(store.evolving, at: SchemaVersion(1), [(definition, generation)])
        (build.jobs, build.chunkEvents) = (jobs, chunk)
        #expect(
            throws: EvstoreError.buildStopped(projection: "orders", position: Position(121), reason: "the event has no key", inFold: true)
        ) {
            try build.run(Job("build"))
        }
        #expect(try !generation.header.isReady)
    }
    try await store.end()
}

@Test("a quarantined event is listed in the transaction that passes it, with its type and reason")
func quarantine() async throws {
    let store = try TestStore(Shop.file("key: /id\non: {OrderPlaced: {set: {/n: /customer}}, OrderPaid: {add: {/n: /amount}}}"))
    try await store.append([
        ("OrderPlaced", #"{"id":"a","total":1,"customer":"Ann"}"#), ("OrderPaid", #"{"id":"a","amount":1}"#),
        ("OrderPaid", #"{"id":"b","amount":1}"#),
    ])
    let definition = try store.definition()
    let generation = try store.generation(definition)
    let follower = Follower(store.evolving)
    #expect(try follower.catchUp(generation, definition) == Checkpoint(epoch: .first, position: Position(3)))
    let header = try generation.checkedHeader()
    #expect(header.quarantined == 1)
    let listed = try generation.quarantined()
    #expect(listed.map(\.position) == [Position(2)])
    #expect(listed.map(\.type) == ["OrderPaid"])
    #expect(listed.map(\.reason) == [#"/n should be a number, found a text (row "a")"#])
    #expect(try generation.texts() == ["a": #"{"n":"Ann"}"#, "b": #"{"n":1}"#])
    try await store.end()
}

@Test("where one of an event's rows refuses it, its other rows have it and the event is listed, whether the model is built or followed")
func oneRowRefuses() async throws {
    let store = try TestStore(
        Shop.file(
            "key: $item/sku\non: {OrderPlaced: {each: /lines, add: {/n: $item/count}}, OrderPaid: {key: /id, set: {/n: /method}}}"))
    func placed(_ skus: String...) -> (type: String, payload: String) {
        let lines = skus.map { #"{"sku":"\#($0)","count":1}"# }.joined(separator: ",")
        return ("OrderPlaced", #"{"id":"1","total":1,"lines":[\#(lines)]}"#)
    }
    // The row "b" holds a text, to which nothing can be added.
    try await store.append([
        placed("a", "b", "c"), ("OrderPaid", #"{"id":"b","method":"card"}"#), placed("a", "b", "c", "a"), placed("c", "b"),
    ])
    let definition = try store.definition()
    let followed = try store.generation(definition)
    try Follower(store.evolving).catchUp(followed, definition)
    for generation in [followed, try store.build(), try store.build { ($0.jobs, $0.chunkEvents) = (3, 1) }] {
        #expect(try generation.texts() == ["a": #"{"n":3}"#, "b": #"{"n":"card"}"#, "c": #"{"n":3}"#])
        #expect(try generation.checkedHeader().quarantined == 2)
        #expect(try generation.quarantined().map(\.position) == [3, 4].map { Position($0) })
        #expect(try generation.quarantined().allSatisfy { $0.reason == #"/n should be a number, found a text (row "b")"# })
    }
    try await store.end()
}

@Test("a quarantine of thousands of events is read a page at a time, and an event that several read models lack counts once")
func longQuarantine() async throws {
    let store = try TestStore(
        """
        evstore: 1
        projections:
          orders: [{since: 1, key: /customer, on: {OrderPlaced: {count: {/n: /id}}}}]
          names: [{since: 1, key: /name/first, on: {OrderPlaced: {count: {/n: /id}}}}]
        """)
    try await store.append(
        (1 ... 5_000).map { number in
            let customer = number.isMultiple(of: 2) ? #","customer":"c""# : ""
            let name = number.isMultiple(of: 3) ? #","name":{"first":"f"}"# : ""
            return ("OrderPlaced", #"{"id":"\#(number)","total":1\#(customer)\#(name)}"#)
        })
    let models = [try store.build("orders"), try store.build("names")]
    for model in models {
        var positions: [Position] = []
        try model.forEachQuarantined { row in
            positions.append(row.position)
            return true
        }
        #expect(try positions == model.quarantined().map(\.position))
        #expect(UInt64(positions.count) == (try model.header.quarantined) && positions.count > 2_000)
        #expect(try model.quarantined(after: positions[1_500], limit: 2).map(\.position) == Array(positions[1_501 ... 1_502]))
    }
    let lacked = (1 ... 5_000).count { !$0.isMultiple(of: 6) }
    #expect(try Generation.countQuarantined(models) == UInt64(lacked))
    #expect(try Generation.countQuarantined([models[0]]) == 2_500)
    try await store.end()
}

@Test("a build that is cancelled leaves a generation that is not ready, and can be made again")
func cancelled() async throws {
    let store = try TestStore(rich)
    try await store.append(randomEvents(200, seed: 5))
    let definition = try store.definition()
    let generation = try store.generation(definition)
    var build = BulkBuild(store.evolving, at: SchemaVersion(1), [(definition, generation)])
    (build.onError, build.chunkEvents, build.jobs) = (.quarantine, 10, 1)
    let job = Job("build")
    #expect(throws: EvstoreError.self) { try build.run(job.reporting { if $0.done >= 50 { job.cancel() } }) }
    #expect(try !generation.header.isReady)
    #expect(try store.build().checkedHeader().isReady)
    try await store.end()
}

@Test("one pass builds several read models")
func severalAtOnce() async throws {
    let store = try TestStore(rich)
    try await store.append(randomEvents(500, seed: 9))
    let single = try ["orders", "skus"].map { try store.build($0).header.digest }
    let targets = try ["orders", "skus"].map { name in
        let definition = try store.definition(name)
        return (definition: definition, generation: try store.generation(definition))
    }
    var build = BulkBuild(store.evolving, at: SchemaVersion(1), targets)
    build.onError = .quarantine
    _ = try build.run(Job("build"))
    #expect(try targets.map { try $0.generation.header.digest } == single)
    #expect(try targets.allSatisfy { try $0.generation.header.checkpoint.position == Position(500) })
    try await store.end()
}

@Test("rows that break their shape stop a build, and a search of a generation finds them")
func rowShapes() async throws {
    let text = "key: /id\non: {OrderPlaced: {set: {/t: /total}}}\nrow: {required: [t], properties: {t: {type: number, maximum: 10}}}"
    let store = try TestStore(Shop.file(text))
    try await store.append([("OrderPlaced", #"{"id":"a","total":10}"#), ("OrderPlaced", #"{"id":"b","total":11}"#)])
    let error = #expect(throws: EvstoreError.self) { try store.build { $0.onError = .stop } }
    #expect(error?.code == "invalidRow")
    #expect(error?.message.contains(#"the row "b" of orders does not keep its shape: /t should be at most 10"#) == true)
    let definition = try store.definition()
    let followed = try store.generation(definition)
    try Follower(store.evolving).catchUp(followed, definition)
    #expect(try followed.violations(of: definition).map(\.key) == ["b"])
    try await store.end()
}

@Test("following a generation whose events a cut removed fails, and one whose checkpoint is before the cut goes on")
func cuts() async throws {
    let store = try TestStore(Shop.file("key: /id\non: {OrderPlaced: {count: {/n: /id}}}"))
    try await store.append((0 ..< 10).map { ("OrderPlaced", #"{"id":"\#($0)","total":1}"#) })
    let definition = try store.definition()
    let (before, after) = (try store.generation(definition), try store.generation(definition))
    let follower = Follower(store.evolving)
    try follower.catchUp(before, definition, to: Position(4))
    try follower.catchUp(after, definition)
    try await store.log.update { try $0.cut(to: Position(5)) }
    #expect(try follower.catchUp(before, definition, to: Position(99)) == Checkpoint(epoch: Epoch(2), position: Position(5)))
    #expect(try follower.catchUp(before, definition) == Checkpoint(epoch: Epoch(2), position: Position(5)))
    try await store.append([("OrderPlaced", #"{"id":"new","total":1}"#)])
    #expect(
        throws: EvstoreError.epochChanged(
            seen: Checkpoint(epoch: .first, position: Position(10)), cut: Checkpoint(epoch: Epoch(2), position: Position(5)))
    ) {
        try follower.catchUp(after, definition)
    }
    #expect(try follower.catchUp(before, definition) == Checkpoint(epoch: Epoch(2), position: Position(6)))
    #expect(try before.checkedHeader().rows == 6)
    try await store.end()
}

@Test("a generation's rows are found by key, prefix and place")
func reading() async throws {
    let store = try TestStore(Shop.file("key: /id\non: {OrderPlaced: {set: {/t: /total}}}"))
    try await store.append(["b2", "a", "b1", "c", "b"].map { ("OrderPlaced", #"{"id":"\#($0)","total":1}"#) })
    let generation = try store.build()
    let keys = { (rows: [(key: [UInt8], value: [UInt8])]) in rows.map { String(decoding: $0.key, as: UTF8.self) } }
    #expect(try keys(generation.page(limit: 10)) == ["a", "b", "b1", "b2", "c"])
    #expect(try keys(generation.page(KeyRange(prefix: "b"), limit: 2)) == ["b", "b1"])
    #expect(try keys(generation.page(KeyRange(prefix: "b"), backwards: true, limit: 2)) == ["b2", "b1"])
    #expect(try keys(generation.page(backwards: true, limit: 10)) == ["c", "b2", "b1", "b", "a"])
    var rest = KeyRange(prefix: "b")
    rest.leave(Array("b1".utf8), backwards: false)
    #expect(try keys(generation.page(rest, limit: 9)) == ["b2"])
    #expect(try generation.get("b1") == Array(#"{"t":1}"#.utf8))
    #expect(try generation.get("nothing") == nil)
    let names = try Generation.names(in: store.path)
    #expect(names == [generation.name] && Generation.isName(generation.name))
    let again = try Generation.open(named: generation.name, in: store.path, of: store.log)
    #expect(try again.header == generation.header)
    let other = try TestStore(Shop.file("key: /id\non: {OrderPlaced: {set: {/t: /total}}}"))
    #expect(throws: EvstoreError.self) { try Generation.open(named: generation.name, in: store.path, of: other.log) }
    try await other.end()
    try await store.end()
}
