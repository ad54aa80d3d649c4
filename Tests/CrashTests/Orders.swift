import EvstoreTesting
import Foundation
import TestSupport
import Torturing

/// A store of orders in a directory of its own, worked on by real processes only.
struct Orders {
    let directory: TemporaryDirectory
    let program: BuiltProgram
    static let schemas = Checkout.path("tools/bench/orders")

    var store: String { directory.store }

    /// Makes a store that holds `count` orders born at v1, with v1 live and its read models built.
    init(count: Int) throws {
        directory = try TemporaryDirectory()
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
        try program.must("import", "-", "--as", "v1", "--schemas", Self.schemas, input: Self.lines(0 ..< count))
        try program.must("replay", "--to", "v1", "--schemas", Self.schemas)
    }

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

    /// What `status --json` says.
    func status() throws -> [String: Any] {
        let outcome = try program.must("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
        guard let status = object as? [String: Any] else { throw Failure(outcome.output) }
        return status
    }

    var live: Int { get throws { try status()["live"] as? Int ?? -1 } }

    /// Digest of each read model at a version, after following it to the end of the log.
    func digests(at version: Int) throws -> [String: String] {
        try program.must("query", "orders", "--count", "--at", "v\(version)")
        var result: [String: String] = [:]
        for projection in try status()["projections"] as? [[String: Any]] ?? [] where projection["version"] as? Int == version {
            result[projection["name"] as? String ?? "?"] = projection["digest"] as? String
        }
        return result
    }
}
