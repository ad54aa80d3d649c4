import Bytes
import EventModel
import Evstore
import EvstoreTesting
import Foundation
import JSONText
import TestSupport
import Testing

@Suite("Importing a file while the store's versions change")
struct ChangedVersionsTests {
    /// What becomes of the store's versions between the two readings of a file.
    private enum Change: Sendable {
        case migrate(Int), rollback(Int), finalize(Int)

        func make(in store: EventStore) async throws {
            switch self {
            case .migrate(let version): _ = try await store.migrate(to: SchemaVersion(version), options: MigrationOptions(yes: true))
            case .rollback(let version): _ = try await store.rollback(to: SchemaVersion(version))
            case .finalize(let version): _ = try await store.finalize(SchemaVersion(version))
            }
        }
    }

    /// The numbers of a store, and how they change.
    private struct Case: Sendable {
        let floor, live: Int
        let change: Change

        init(_ seed: UInt64, _ random: inout SeededGenerator) {
            switch seed % 3 {
            case 0:
                floor = Int.random(in: 1 ... 2, using: &random)
                live = floor
                change = .migrate(Int.random(in: 3 ... 5, using: &random))
            case 1:
                (floor, live) = (Int.random(in: 1 ... 2, using: &random), Int.random(in: 3 ... 5, using: &random))
                change = .rollback(Int.random(in: floor ..< live, using: &random))
            default:
                (floor, live) = (Int.random(in: 1 ... 2, using: &random), Int.random(in: 3 ... 5, using: &random))
                change = .finalize(live)
            }
        }

        func store() async throws -> TemporaryStore {
            let schemas = try SchemaFiles(versions: ShopHistory.released).load()
            var options = Options.forTests
            options.appendEventsMax = 10
            return try await TemporaryStore.make(schemas, at: SchemaVersion(live), from: SchemaVersion(floor), options: options)
        }
    }

    /// A line of an event of any version, also of one that the store has not, and at times of an event that some versions can't see.
    private func line(_ number: Int, _ random: inout SeededGenerator) -> String {
        let (version, isOdd) = (Int.random(in: 1 ... 5, using: &random), Bool.random(using: &random))
        var type = version < 4 ? "OrderPaid" : "PaymentCaptured"
        var members = [#""id":"\#(number)""#]
        if Int.random(in: 0 ..< 3, using: &random) > 0 {
            type = "OrderPlaced"
            members += [
                version < 5 ? #""customer":"Ann""# : #""buyer":{"name":"Ann"}"#,
                #""code":\#(version > 2 ? "7" : isOdd ? #""x""# : #""7""#)"#,
            ]
            members +=
                version == 1 ? [#""total":7"#] : [#""cents":\#(version < 5 ? "7" : isOdd ? #""x""# : #""7""#)"#, #""currency":"EUR""#]
        } else {
            members.append(#""method":"\#(version == 5 && isOdd ? "coins" : "cash")""#)
        }
        let id = number % 3 == 0 ? #","id":"line-\#(number)""# : ""
        return #"{"stream":"order-\#(number)","type":"\#(type)","data":{\#(members.joined(separator: ","))},"version":\#(version)"#
            + #","time":"2026-01-02T03:04:05Z"\#(id)}"# + "\n"
    }

    /// What is stored, but for the ids that the store has made.
    private func stored(in store: EventStore) async throws -> [String] {
        var text: [UInt8] = []
        try await store.export { lines in
            text += lines
            return true
        }
        return try text.split(separator: UInt8(ascii: "\n")).map { line in
            let event = try JSONValue(parsing: Array(line).lent)
            let names = ["stream", "type", "data", "time", "version"] + (event["id"]?.text.contains("line-") == true ? ["id"] : [])
            return names.map { event[$0]?.text ?? "-" }.joined(separator: " ")
        }
    }

    @Test("what is appended is what the store takes before the change and after it, and every other line is listed with its first error")
    func changed() async throws {
        var (appended, late) = (0, 0)
        for seed in 0 ..< UInt64(rounds(3)) {
            var random = SeededGenerator(seed: seed)
            let one = Case(seed, &random)
            let lines = (1 ... 25).map { line($0, &random) }
            let (changing, changed) = (try await one.store(), try await one.store())
            let file = ImportSource.file(try changing.write(lines.joined(), to: "input.jsonl"))
            let before = try await changing.store.importLines(
                from: file, as: SchemaVersion(1), options: ImportOptions(onError: .quarantine, dryRun: true)
            ).refused

            let other = try await changing.open(schemas: changing.schemas)
            let found = try await changing.store.importLines(
                from: file, as: SchemaVersion(1), options: ImportOptions(onError: .quarantine),
                progress: { if $0.step == "check", $0.done == 25 { waiting { try await one.change.make(in: other) } } })
            try await other.close()

            try await one.change.make(in: changed.store)
            let refused = Set(before.map { Int($0.line) })
            // A line that the first reading refuses stays refused. An empty line keeps the numbers of those behind it.
            let pipe = try FilledPipe(lines.indices.map { refused.contains($0 + 1) ? "\n" : lines[$0] }.joined())
            let wanted = try await changed.store.importLines(
                from: .descriptor(pipe.descriptor), as: SchemaVersion(1), options: ImportOptions(onError: .quarantine))

            #expect(found.refused == before + wanted.refused, "seed \(seed): \(one)")
            #expect(found.added == wanted.added, "seed \(seed): \(one)")
            let (stored, all) = (try await stored(in: changing.store), try await stored(in: changed.store))
            try #require(stored == all, "seed \(seed): \(one)")
            (appended, late) = (appended + all.count, late + wanted.refused.count)
        }
        #expect(appended > rounds(10) && late > 0, "\(appended) were appended, and \(late) refused after the change")
    }
}
