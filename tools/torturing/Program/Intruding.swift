import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Torturing

#if TESTABLE
    /// A sealed store, and copies of it with one change each that somebody makes who has its files and none of its keys: opening or
    /// `verify` finds it without a signed head.
    struct Intruding {
        let scene: String
        let seed: Int
        let edits: Int

        private static let types = """
            evstore: 1
            version: 1
            events:
              OrderPlaced:
                required: [order]
                properties: {order: {type: integer}, name: {type: string, personal: true}}
              OrderPaid: {required: [order], properties: {order: {type: integer}}}
            """

        private static var options: Options {
            var options = Worker.options(.key([UInt8](repeating: 7, count: 32)))
            (options.sweepDueEvents, options.sweepForcedEvents) = (8, 8)
            return options
        }

        func run() async throws -> [String] {
            var (problems, chance) = ([String](), SeededGenerator(seed: UInt64(seed), "intruding", 0))
            let store = scene + "/sealed"
            try await fill(store)
            if try await isFound(store) { problems.append("an intruder is found where there was none") }
            for number in 0 ..< edits {
                let copy = "\(scene)/sealed-\(number)"
                try FileManager.default.copyItem(atPath: store, toPath: copy)
                let before = chance
                if try Intruder(in: copy).change(&chance), try await !isFound(copy) {
                    problems.append("\(number), \(before): a change is not found in \(copy)")
                    continue
                }
                try FileManager.default.removeItem(atPath: copy)
            }
            return problems
        }

        private func fill(_ path: String) async throws {
            let store = try await EventStore.create(path, schemas: SchemaFiles(Self.types).load(), options: Self.options)
            for number in 0 ..< 40 {
                let isPaid = number % 3 == 2
                let payload = isPaid ? #"{"order":\#(number % 6)}"# : #"{"order":\#(number % 6),"name":"Ada"}"#
                _ = try await store.append([
                    NewEvent(
                        stream: try StreamName("order-\(number % 6)"), type: isPaid ? "OrderPaid" : "OrderPlaced",
                        payload: Array(payload.utf8),
                        id: number % 4 == 0 ? try EventID("id-\(number)") : nil)
                ])
            }
            _ = try await store.takeSnapshot("here")
            _ = try await store.forget([try StreamName("order-1")])
            try await store.close()
        }

        private func isFound(_ path: String) async throws -> Bool {
            do {
                let store = try await EventStore.open(path, options: Self.options)
                let report = try await store.maintenance.verify()
                try await store.close()
                return !report.ok
            } catch { return ["storeDamaged", "corruptBlock"].contains(error.code) }
        }
    }
#endif
