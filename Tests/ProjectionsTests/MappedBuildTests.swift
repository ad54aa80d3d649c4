import Bytes
import EventLog
import EventModel
import LMDB
import SchemaEvolution
import Testing

@testable import Projections

private let orders = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          on:
            OrderPlaced: {set: {/customer: /customer, /total: /total}, append: {/lines: {from: /lines, keep: 3}}}
            OrderPaid: {add: {/payments: {value: 1}}, set: {/method: /method}}
            OrderVoided: delete
        - since: 2
          key: /id
          on:
            OrderPlaced: {set: {/who: /customer, /total: /total, /kind: {value: order}}, append: {/lines: {from: /lines, keep: 3}}}
            OrderPaid: {add: {/n/payments: {value: 1}}, set: {/kind: {value: order}}}
            OrderVoided: delete
          indexes: {byTotal: /total, byWho: [/who, /n/payments]}
    """

@Suite("A read model that is built from rows")
struct MappedBuildTests {
    private static func store(sealed: Bool = false) async throws -> TestStore {
        var options = TestStore.options
        if sealed { options.secret = SealedModelTests.secret }
        let store = try TestStore(orders, options: options)
        // The payments of some have no number: what the folds refuse is not among these.
        try await store.append(randomEvents(4_000, seed: 7, keys: 700).filter { !$0.payload.contains("true") })
        return store
    }

    private static func map(_ store: TestStore) throws -> RowMap {
        let census = try store.log.read { try $0.census() }
        let source = try RowMapProof.prove(
            store.definition(), store.definition(at: 2), store.evolving.current().history, census)
        guard case .rows(let map) = source else { throw EvstoreError.misuse("\(source)") }
        return map
    }

    @Test("has the rows, the indexes and the sums of one that is built from events, and follows on like that", arguments: [false, true])
    func same(sealed: Bool) async throws {
        let store = try await Self.store(sealed: sealed)
        do {
            let (definition, map) = (try store.definition(at: 2), try Self.map(store))
            let mapped = try store.generation(definition)
            #expect(try map.build((definition, mapped), of: store.build(), store.evolving, Job("build")))
            // Given events that come after it.
            try await store.append(randomEvents(500, seed: 8, keys: 700).filter { !$0.payload.contains("true") })
            try Follower(store.evolving).catchUp(mapped, definition)
            let folded = try store.build(at: 2)
            #expect(try mapped.checkedHeader() == folded.checkedHeader())
            #expect(try mapped.header.rows > 300)
            #expect(try mapped.indexFault(definition.indexes) == nil)
            #expect(try mapped.texts() == folded.texts())
        }
        try await store.end()
    }

    @Test("is not made of rows that are not those of their digest")
    func damaged() async throws {
        let store = try await Self.store()
        do {
            let (definition, map) = (try store.definition(at: 2), try Self.map(store))
            // Given a row that somebody has changed, whose checksum is right.
            let source = try store.build()
            try source.environment.write { transaction in
                try source.rows.put(Array("o1".utf8).lent, Array(#"{"total":1}"#.utf8).lent, &transaction)
            }
            let mapped = try store.generation(definition)
            #expect(try !map.build((definition, mapped), of: source, store.evolving, Job("build")))
            #expect(try !mapped.header.isReady)
        }
        try await store.end()
    }

    @Test("is not made where a row holds what no event gives it")
    func unfit() async throws {
        let table = RowMap(
            older: RowLayout(targets: [["a"]]), newer: RowLayout(targets: [["a"]]),
            slots: [.chosen(.slot(0), [.init(from: Array("\"x\"".utf8), to: Array("1".utf8))], otherwise: nil)], events: 1)
        var workspace = RowMap.Workspace()
        for (row, made) in [
            (#"{"a":"x"}"#, #"{"a":1}"#), (#"{"a":"\u0078"}"#, #"{"a":1}"#), (#"{"a":null}"#, #"{"a":null}"#), ("{}", "{}"),
            (#"{"b":1}"#, "{}"), (#"{"a":"y"}"#, nil), (#"{"a":["x"]}"#, nil),
        ] {
            let isFit = table.map(Array(row.utf8).lent, &workspace)
            #expect(isFit == (made != nil), "\(row)")
            if let made { #expect(workspace.row.array() == Array(made.utf8), "\(row)") }
        }
    }

    @Test("has nothing of a value that is not there")
    func absent() async throws {
        let lists = RowMap(
            older: RowLayout(targets: [["a"], ["z"]]), newer: RowLayout(targets: [["a"], ["z"]]),
            slots: [.list(.list(.slot(0))), .slot(1)],
            events: 1)
        var workspace = RowMap.Workspace()
        for (row, made) in [
            (#"{"z":"hello"}"#, #"{"z":"hello"}"#), (#"{"a":1,"z":2}"#, #"{"a":[[1]],"z":2}"#), (#"{"a":1}"#, #"{"a":[[1]]}"#),
        ] {
            #expect(lists.map(Array(row.utf8).lent, &workspace))
            #expect(workspace.row.array() == Array(made.utf8), "\(row)")
        }
    }
}
