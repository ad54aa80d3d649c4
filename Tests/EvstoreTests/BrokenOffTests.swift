import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Inputs that break off")
struct BrokenOffTests {
    @Test(
        "an input that breaks off within a line or between two adds each of its lines once, however often it is tried, and in their order",
        arguments: [FailureRule.stop, .quarantine])
    func tries(_ onError: FailureRule) async throws {
        var random = SeededGenerator.announced()
        for trial in 0 ..< 20 {
            let temporary = try await ImportTests.store()
            let count = Int.random(in: 1 ... 45, using: &random)
            let text = Array(ImportTests.lines(0 ..< count).utf8)
            for _ in 0 ..< Int.random(in: 1 ... 5, using: &random) {
                try await run(temporary, Array(text.prefix(Int.random(in: 0 ... text.count, using: &random))), onError, &random)
                let orders = try Self.orders(in: temporary.store)
                #expect(orders == Array(orders.indices), "trial \(trial)")
            }
            try await run(temporary, text, onError, &random)
            #expect(try Self.orders(in: temporary.store) == Array(0 ..< count), "trial \(trial)")
        }
    }

    /// Imports a text through a pipe or from a file. Its last line may be refused.
    private func run(
        _ temporary: TemporaryStore, _ text: [UInt8], _ onError: FailureRule, _ random: inout SeededGenerator
    ) async throws {
        let pipe = try OpenPipe()
        var source = ImportSource.descriptor(pipe.reading.fileDescriptor)
        if Bool.random(using: &random) { source = .file(try temporary.write(String(decoding: text, as: UTF8.self), to: "input.jsonl")) }
        try pipe.writing.write(contentsOf: Data(text))
        try pipe.writing.close()
        var options = ImportOptions()
        options.onError = onError
        do { _ = try await temporary.store.importLines(from: source, as: SchemaVersion(1), options: options) } catch {
            guard case .refusedLine = error, onError == .stop else { throw error }
        }
    }

    /// The numbers of the orders, in the order of the log.
    private static func orders(in store: EventStore) throws -> [Int] {
        var orders: [Int?] = []
        try store.readAll { event in
            orders.append(Int(event.stream.text.dropFirst("order-".count)))
            return true
        }
        return try orders.map { try #require($0) }
    }
}
