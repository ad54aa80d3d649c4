internal import Bytes
package import EventLog
package import EventModel
internal import EvstoreTesting
internal import Foundation
internal import JSONText
package import Projections
package import SchemaEvolution
internal import TestSupport

@testable package import Migration

/// A store of orders in a temporary directory, with the history's files beside it.
package final class OrdersStore {
    private let temporary: TemporaryDirectory
    package let log: EventLog
    package let evolving: VersionedLog
    package let history: History
    package let definitions: DefinitionSet

    /// - Parameter edit: changes the files before they are read.
    package init(
        at version: Int = 1, knowing head: Int? = nil, options: Options = .init(), editing edit: (inout [String: String]) -> Void = { _ in }
    ) throws {
        temporary = try TemporaryDirectory()
        var files = OrdersHistory.files
        files["projections.yaml"] = OrdersHistory.projections
        edit(&files)
        (history, definitions) = try Self.load(files, in: temporary.path + "/schemas")
        let (live, known) = (SchemaVersion(version), history.through(SchemaVersion(head ?? version)))
        let all = definitions
        log = try EventLog.create(at: temporary.store, options: options) { update in
            try RegisteredRows.register(&update, versions: known.versions, definitions: all)
            (update.state.floor, update.state.live, update.state.top) = (live, live, live)
        }
        evolving = VersionedLog(log)
    }

    package static func load(_ files: [String: String], in directory: String) throws -> (History, DefinitionSet) {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/" + name)) }
        let history = try History.load(directory: directory)
        return (history, try DefinitionSet.load(file: directory + "/projections.yaml", history: history))
    }

    package var directory: String { temporary.path }

    package func context(_ job: Job = Job("replay")) -> MigrationContext {
        MigrationContext(evolving, options: log.options, job)
    }

    package var state: StoreState { get throws { try log.read { try $0.state } } }
    package var last: Position { get throws { try log.read { $0.last.position } } }
    package var numbers: [Int] {
        get throws {
            let state = try state
            return [state.floor, state.live, state.top, state.head].map(\.number)
        }
    }

    /// The names of the generations' directories, and of whatever else lies there.
    package var generations: [String] {
        let path = directory + "/store/generations"
        do { return try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch { return [] }
    }

    @discardableResult
    package func append(_ type: String, _ payload: String, born: Int, to stream: String) async throws -> Position {
        let event = StoredEvent(
            stream: try StreamName(stream), type: type, born: SchemaVersion(born), payload: Array(payload.utf8), time: .now)
        guard case .appended(let receipt) = try await log.append(AppendRequest(events: [event])) else { throw Unexpected() }
        return receipt.position
    }

    /// An order as the version writes it; the read model shows its code as the amount.
    package func place(_ order: Int, amount: String = "100", name: String = "ada", born: Int) async throws {
        let total = born == 1 ? #""total":1"# : #""cents":1,"currency":"USD""#
        let code = born < 3 ? "\"\(amount)\"" : amount
        let payload = #"{"id":"\#(order)","customer":"\#(name)",\#(total),"code":\#(code)}"#
        try await append("OrderPlaced", payload, born: born, to: "order-\(order)")
    }

    package func pay(_ order: Int, by method: String = "card", born: Int) async throws {
        let type = born < 5 ? "OrderPaid" : "PaymentCaptured"
        try await append(type, "{\"id\":\"\(order)\",\"method\":\"\(method)\"}", born: born, to: "order-\(order)")
    }

    /// From version 4 on.
    package func void(_ order: Int, born: Int) async throws {
        try await append("OrderVoided", "{\"id\":\"\(order)\"}", born: born, to: "order-\(order)")
    }

    @discardableResult
    package func migrate(
        to version: Int, _ options: MigrationOptions = .init(), _ job: Job = Job("replay")
    ) async throws -> MigrationReport {
        try await Replay.run(context(job), to: SchemaVersion(version), files: history, definitions: definitions, options: options)
    }

    @discardableResult
    package func rollback(to version: Int? = nil) async throws -> RollbackReport {
        try await Rollback.run(context(), to: version.map { SchemaVersion($0) })
    }

    /// What a replay from scratch gives at a version.
    package func freshDigests(at version: Int) async throws -> [String: String] {
        try await migrate(to: version, MigrationOptions(dryRun: true, onError: .quarantine)).digests
    }

    /// The read models of the live version after following, by projection.
    package func liveDigests() throws -> [String: String] {
        let state = try state
        let generationSet = try GenerationSet.registered(context(), at: state.live, state)
        guard generationSet.isMapped(in: state) else { throw Unexpected() }
        try generationSet.follow()
        return try generationSet.digests()
    }

    /// A row of a live read model, as canonical JSON text.
    package func row(_ key: String, of projection: String) throws -> String? {
        let state = try state
        let generationSet = try GenerationSet.registered(context(), at: state.live, state)
        try generationSet.follow()
        guard let name = generationSet.entries.first(where: { $0.name == projection })?.directory else { throw Unexpected() }
        return try generationSet.open(name).get(key).map { String(decoding: try Canonical.bytes(of: $0.lent), as: UTF8.self) }
    }
}

/// What a test did not reckon with.
package struct Unexpected: Error {
    package init() {}
}
