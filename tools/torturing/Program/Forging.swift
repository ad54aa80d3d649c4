import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Torturing

#if TESTABLE
    import EventLog
    import LogKeeping
    import Migration

    /// A store by chance whose end was signed, and its log made anew with one change after the other.
    struct Forging {
        let scene: String
        let seed: Int
        let edits: Int

        private var store: String { scene + "/store" }

        private static let types = """
            evstore: 1
            version: 1
            events:
              OrderPlaced: {required: [order, amount], properties: {order: {type: integer}, amount: {type: integer}}}
              OrderPaid: {required: [order], properties: {order: {type: integer}}}
            """

        func run() async throws -> [String] {
            var (problems, chance) = ([String](), SeededGenerator(seed: UInt64(seed), "forging", 0))
            let head = try await made(&chance)
            let whole = try Forgery(of: store)
            for number in 0 ..< edits {
                guard let edit = Forgery.Edit.allCases.randomElement(using: &chance) else { break }
                var forgery = whole
                let isChanged = edit.apply(to: &forgery, &chance)
                try forgery.write()
                let walk = try await look(head)
                let found = walk.findings.isEmpty ? head.findings(walk) : []
                if !walk.findings.isEmpty { problems.append("\(number), \(edit): the chain is broken: \(walk.findings[0].message)") }
                if found.map(\.id) != (isChanged ? [edit.finding] : []) {
                    problems.append("\(number), \(edit): found is \(found.map(\.id)), not \(edit.finding)")
                }
            }
            return try await problems + Intruding(scene: scene, seed: seed, edits: edits / 5).run()
        }

        private func look(_ head: SignedHead) async throws -> LogWalk {
            let log = try EventLog.open(at: store, options: Worker.options, readOnly: true)
            let walk = try log.walk(deep: true, asking: head.position)
            try await log.close()
            return walk
        }

        /// Appends, a cut, more of them; then the end is signed.
        private func made(_ chance: inout SeededGenerator) async throws -> SignedHead {
            let schemas = try SchemaFiles(Self.types).load()
            let store = try await EventStore.create(store, schemas: schemas, options: Worker.options)
            try await fill(store, 10, &chance)
            _ = try await store.takeSnapshot("here")
            try await fill(store, 2, &chance)
            _ = try await store.rollback(toSnapshot: "here", discardTail: true)
            try await fill(store, 4, &chance)
            let key = try SigningKey(parsing: Array(String(repeating: "5a", count: 32).utf8))
            guard let head = try await store.maintenance.verify(deep: true, signing: key).head else {
                throw Failure("the end was not signed")
            }
            try await store.close()
            return head
        }

        private func fill(_ store: EventStore, _ appends: Int, _ chance: inout SeededGenerator) async throws {
            for _ in 0 ..< appends {
                let events = try (0 ..< Int.random(in: 1 ... 3, using: &chance)).map { _ in
                    let (order, isPaid) = (Int.random(in: 0 ..< 6, using: &chance), Int.random(in: 0 ..< 3, using: &chance) == 0)
                    let amount = isPaid ? "" : #","amount":\#(Int.random(in: 10 ..< 99, using: &chance))"#
                    return NewEvent(
                        stream: try StreamName("order-\(order)"), type: isPaid ? "OrderPaid" : "OrderPlaced",
                        payload: Array(#"{"order":\#(order)\#(amount)}"#.utf8))
                }
                _ = try await store.append(events)
            }
        }
    }
#endif

extension TortureCase {
    private static let editsPerTrial = 250
    /// With those of sealed stores.
    private static let changesPerTrial = editsPerTrial + editsPerTrial / 5

    static let forgeries = TortureCase(
        "R13", "a log made anew with one change and every checksum and link right again, held against a signed head, or against its keys",
        goal: 10_000, seconds: 20, floor: 300, runsPerTrial: changesPerTrial,
        obstacle: {
            #if TESTABLE
                nil
            #else
                "a build of the tests alone can forge"
            #endif
        }
    ) { trial in
        try trial.ask("forge", "\(editsPerTrial)")
        trial.runs += changesPerTrial
    }
}
