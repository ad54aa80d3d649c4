import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("What an append says of a disk that fails", .serialized)
struct AnswerTests {
    private static let errors = DiskFault.errors.keys.sorted()

    /// Appends one event while the `nth` write of a file fails; the answer's error code, nil where there is a receipt.
    private func append(
        _ id: String, to orders: Orders, _ deed: DiskFault.Deed, _ error: Int32, nth: Int, on file: String
    ) throws -> String? {
        let faulty = try orders.program.withFault(DiskFault(deed, error: error, at: nth), at: "write", of: file)
        let payload = #"{"id":"\#(id)","customer":"Ada Lovelace","email":"a@example.org","total":"1.50","placedAt":1767225600,"note":"n"}"#
        let outcome = try faulty.run("append", "order-\(id)", "OrderPlaced", payload, "--json")
        #expect(outcome.signal == nil && outcome.lines.count == 1, "\(outcome.output) \(outcome.errors)")
        guard outcome.exit != 0 else {
            #expect(outcome.output.contains(#""position":"#))
            return nil
        }
        struct Failed: Decodable {
            struct Code: Decodable { let code: String }
            let error: Code
        }
        return try JSONDecoder().decode(Failed.self, from: Data(outcome.output.utf8)).error.code
    }

    private func isThere(_ id: String, _ orders: Orders) throws -> Bool {
        try orders.program.must("read", "order-\(id)").lines.isEmpty == false
    }

    @Test("an anchor that can't be written takes no append back", arguments: errors)
    func anchor(error: Int32) throws {
        let orders = try Orders(count: 2)
        // Each append makes three: the file is in use, what was appended, the file was closed.
        for nth in 1 ... 3 {
            let answer = try append("x\(nth)", to: orders, .fail, error, nth: nth, on: "/anchor")
            #expect(try isThere("x\(nth)", orders) == (answer == nil), "call \(nth): \(answer ?? "done")")
            if nth > 1 { #expect(answer == nil, "call \(nth): \(answer ?? "")") }
        }
        try orders.program.must("verify", "--deep")
    }

    @Test("a commit that may have come to the disk is never said to be refused", arguments: errors)
    func commit(error: Int32) throws {
        let orders = try Orders(count: 2)
        var (nth, unknown) = (1, 0)
        while true {
            let id = "x\(nth)"
            let answer = try append(id, to: orders, nth % 2 == 0 ? .late : .fail, error, nth: nth, on: "/log/data.mdb")
            if answer == nil { break }
            if answer == "commitOutcomeUnknown" { unknown += 1 } else { #expect(try !isThere(id, orders), "call \(nth): \(answer ?? "")") }
            nth += 1
        }
        // The last write of a commit is its meta page's.
        #expect(nth > 2 && unknown > 0, "\(nth) calls, \(unknown) with an unknown outcome")
        try orders.program.must("verify", "--deep")
    }
}
