import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Hashing
import LMDB
import SchemaEvolution
import TestSupport

@testable import Projections

/// A store in a directory of its own, which goes with it.
final class TestStore {
    private let directory: TemporaryDirectory
    let log: EventLog
    let evolving: VersionedLog

    convenience init(
        _ definitions: String, _ versions: [String] = [Shop.v1, Shop.v2], swift: [any SwiftProjection] = [],
        options: Options = TestStore.options
    ) throws {
        let history = try Shop.history(versions)
        try self.init(history, try Shop.definitions(definitions, history).adding(swift), swift: swift, options: options)
    }

    init(
        _ history: History, _ set: DefinitionSet, swift: [any SwiftProjection] = [], options: Options = TestStore.options
    ) throws {
        directory = try TemporaryDirectory()
        log = try EventLog.create(at: directory.store, options: options) { update in
            (update.state.floor, update.state.live, update.state.top) = (SchemaVersion(1), SchemaVersion(1), SchemaVersion(1))
            try RegisteredRows.register(&update, versions: history.versions, definitions: set)
        }
        evolving = VersionedLog(log, swiftProjections: swift)
    }

    var path: String { directory.store }

    static var options: Options {
        var options = Options()
        (options.ballastBytes, options.mapBytes, options.freeDiskFloorBytes) = (0, 1 << 26, 0)
        (options.appendDeadline, options.readModelDeadline) = (.patience, .patience)
        return options
    }

    func append(
        _ events: [(type: String, payload: String)], born: Int = 1, stream: String = "s", metadata: (Int) -> String = { _ in "" }
    ) async throws {
        let stored = try events.enumerated().map { index, event in
            StoredEvent(
                stream: try StreamName(stream), type: event.type, born: SchemaVersion(born), payload: Array(event.payload.utf8),
                metadata: Array(metadata(index).utf8), time: Timestamp(microseconds: 1_000_000))
        }
        for start in stride(from: 0, to: stored.count, by: 1_000) {
            _ = try await log.append(AppendRequest(events: Array(stored[start ..< min(start + 1_000, stored.count)])))
        }
    }

    func definition(_ name: String = "orders", at version: Int = 1) throws -> Definition {
        try evolving.current().definition(named: name, at: SchemaVersion(version))
    }

    func generation(_ definition: Definition) throws -> Generation {
        try Generation.create(for: definition, in: path, of: log)
    }

    /// Builds a read model in bulk.
    func build(
        _ name: String = "orders", at version: Int = 1, _ change: (inout BulkBuild) -> Void = { _ in }
    ) throws -> Generation {
        let definition = try definition(name, at: version)
        let generation = try generation(definition)
        var build = BulkBuild(evolving, at: SchemaVersion(version), [(definition, generation)])
        build.onError = .quarantine
        change(&build)
        _ = try build.run(Job("build"))
        return generation
    }

    func end() async throws { try await log.close() }
}

extension Generation {
    /// All rows as texts.
    func texts() throws -> [String: String] {
        var rows: [String: String] = [:]
        for row in try page(limit: .max) { rows[String(decoding: row.key, as: UTF8.self)] = String(decoding: row.value, as: UTF8.self) }
        return rows
    }

    /// The header, after its sums were compared with the rows.
    func checkedHeader() throws -> GenerationHeader {
        let (header, recount) = (try header, try recount())
        guard header.rows == recount.rows, header.digest == recount.digest else {
            throw EvstoreError.verificationFailed(reason: "the header says \(header), the rows are \(recount)")
        }
        return header
    }
}

/// Orders of some customers, some of which do not fold.
func randomEvents(_ count: Int, seed: UInt64, keys: Int = 40) -> [(type: String, payload: String)] {
    var numbers = SeededGenerator(seed: seed)
    return (0 ..< count).map { _ in
        let id = "o\(Int.random(in: 0 ..< keys, using: &numbers))"
        switch Int.random(in: 0 ..< 10, using: &numbers) {
        case 0: return ("OrderVoided", #"{"id":"\#(id)"}"#)
        case 1 ... 3:
            let method = ["card", "cash", "a/b", "1"].randomElement(using: &numbers) ?? ""
            let amount = Int.random(in: 0 ..< 8, using: &numbers) == 0 ? "true" : "\(Int.random(in: -50 ... 50, using: &numbers)).25"
            return ("OrderPaid", #"{"id":"\#(id)","method":"\#(method)","amount":\#(amount)}"#)
        case 4:
            return (
                "OrderPlaced",
                #"{"id":"\#(id)","total":1,"customer":"\#(String(repeating: "é", count: 300))","lines":[{"sku":"k","count":1}]}"#
            )
        default:
            let lines = (0 ..< Int.random(in: 0 ..< 4, using: &numbers)).map { #"{"sku":"k\#($0)","count":\#($0)}"# }
            return (
                "OrderPlaced",
                #"{"id": "\#(id)", "total": \#(Int.random(in: 0 ... 999, using: &numbers)), "customer":"c\#(id)","lines":[\#(lines.joined(separator: ","))]}"#
            )
        }
    }
}
