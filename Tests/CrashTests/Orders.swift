import EvstoreTesting
import Foundation

/// A store of orders in a directory of its own, worked on by real processes only.
struct Orders {
    let directory: URL
    let program: BuiltProgram
    static let schemas = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "tools/bench/orders").path

    var store: String { directory.appending(path: "store").path }

    /// Makes a store that holds `count` orders born at v1, with v1 live and its read models built.
    init(count: Int) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "evstore-crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.appending(path: "store").path])
        try mustSucceed("import", "-", "--as", "v1", "--schemas", Self.schemas, input: Self.lines(0 ..< count))
        try mustSucceed("replay", "--to", "v1", "--schemas", Self.schemas)
    }

    private init(directory: URL) {
        self.directory = directory
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.appending(path: "store").path])
    }

    /// A copy of the whole store, made while no process has it open.
    func copy() throws -> Orders {
        let target = directory.deletingLastPathComponent().appending(path: "evstore-crash-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: directory, to: target)
        return Orders(directory: target)
    }

    func remove() throws { try FileManager.default.removeItem(at: directory) }

    /// Event lines of version 1, each with an id; 25 orders for each customer's key.
    static func lines(_ range: Range<Int>) -> String {
        range.map { index in
            let order = "o\(index % 40)"
            return #"{"stream":"order-\#(order)","type":"OrderPlaced","id":"line-\#(index)","data":"#
                + #"{"id":"\#(order)","customer":"Ada Lovelace \#(index)","email":"a\#(index)@example.org","total":"\#(index).50","#
                + #""placedAt":\#(1_767_225_600 + index),"note":"n\#(index)"}}"# + "\n"
        }.joined()
    }

    /// An order as it is written at v5.
    static func v5Payload(_ order: String) -> String {
        #"{"id":"\#(order)","name":{"first":"Grace"},"contact":{"emails":["g@example.org","h@example.org"]},"#
            + #""placedAt":"2026-11-20T10:00:00Z","note":"born at v5","total":{"amount":900,"currency":"USD"}}"#
    }

    @discardableResult
    func mustSucceed(_ arguments: String..., input: String? = nil) throws -> BuiltProgram.Outcome {
        try mustSucceed(array: arguments, input: input)
    }

    @discardableResult
    func mustSucceed(array arguments: [String], input: String? = nil) throws -> BuiltProgram.Outcome {
        let outcome = try program.run(arguments, input: input)
        guard outcome.exit == 0 else { throw Failure(what: "\(arguments): exit \(outcome.exit) \(outcome.errors)\(outcome.output)") }
        return outcome
    }

    struct Failure: Error { let what: String }

    /// What `status --json` says.
    func status() throws -> [String: Any] {
        let outcome = try mustSucceed("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
        guard let status = object as? [String: Any] else { throw Failure(what: outcome.output) }
        return status
    }

    var live: Int { get throws { try status()["live"] as? Int ?? -1 } }

    /// Digest of each read model at a version, after following it to the end of the log.
    func digests(at version: Int) throws -> [String: String] {
        try mustSucceed("query", "orders", "--count", "--at", "v\(version)")
        var result: [String: String] = [:]
        for projection in try status()["projections"] as? [[String: Any]] ?? [] where projection["version"] as? Int == version {
            result[projection["name"] as? String ?? "?"] = projection["digest"] as? String
        }
        return result
    }
}
