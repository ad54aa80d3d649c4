import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A shop whose store is sealed, with key files beside it; what its events say is marked, to look for it on the disk.
struct SealedShop {
    static let mark = "c4n4ry"
    let shop: Shop
    private let isSealed: Bool

    /// - Parameter isSealed: false for a plain store, to compare with.
    init(isSealed: Bool = true) throws {
        self.isSealed = isSealed
        // The whole suite may be run with a credential; these stores have their own.
        shop = try Shop(environment: ["CREDENTIALS_DIRECTORY": ""])
        for (name, byte) in [("key", "4d"), ("other", "5e"), ("third", "6f")] {
            try secret(name, String(repeating: byte, count: 32) + "\n")
        }
    }

    /// The option that opens the store.
    var key: String { isSealed ? " --key-file \(path("key"))" : "" }
    var store: String { shop.store }

    func path(_ name: String) -> String { shop.path(name) }

    /// Writes a file as one that holds a key must be.
    func secret(_ name: String, _ text: String, mode: Int = 0o600) throws {
        try shop.write(name, text)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    /// Runs a command with the store's key.
    func run(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome { try shop.run(line + key, input: input) }

    @discardableResult
    func must(_ line: String, input: String? = nil) throws -> BuiltProgram.Outcome { try shop.must(line + key, input: input) }

    /// The code of the error that a command ends with, and its exit code.
    func refusal(_ line: String) throws -> String {
        let outcome = try shop.run(line + " --json")
        return try "\(member(outcome.line, "error", "code")?.filter { $0 != "\"" } ?? "none") \(outcome.exit)"
    }

    /// Orders with times and ids of their own, so that two stores of them are equal.
    func open() throws -> SealedShop {
        try shop.write("orders.jsonl", Self.orders)
        try must("import \(path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        return self
    }

    static let orders = (1 ... 6).map { number in
        #"{"stream":"order-\#(number)","type":"OrderPlaced","data":{"id":"\#(number)","customer":"\#(mark)-data-\#(number)","total":\#(number)00},"#
            + #""id":"placed-\#(number)","time":"2026-11-22T00:00:0\#(number)Z","metadata":{"by":"\#(mark)-metadata"}}"# + "\n"
    }.joined()

    /// Appends an order with an id and a time of its own.
    @discardableResult
    func append(_ number: Int) throws -> BuiltProgram.Outcome {
        try must(
            "import - --as v1",
            input: #"{"stream":"order-\#(number)","type":"OrderPlaced","data":{"id":"\#(number)","customer":"\#(Self.mark)","total":5},"#
                + #""id":"placed-\#(number)","time":"2026-11-22T01:00:00Z"}"# + "\n")
    }

    /// The files below a directory in which the mark stands in the clear.
    func marked(_ directory: String) throws -> [String] {
        try BuiltProgram.shell("cd '\(path(directory))' && grep -rlaF '\(Self.mark)' . | sort").lines
    }

    /// All events, whatever the epoch.
    func events(_ store: String? = nil, key: String? = nil) throws -> [String] {
        let lines = try shop.must("export --at born --store \(store ?? self.store)\(key ?? self.key)").lines
        return lines.map { $0.replacing(#/,"epoch":\d+/#, with: "") }
    }
}
