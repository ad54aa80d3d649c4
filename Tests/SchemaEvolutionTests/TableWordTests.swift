import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// Rows of numbers, and what happens to others: what a table is made of, and what one without indexes or canonical forms would do.
private struct NaiveTable {
    let given: [(key: String, value: String)]
    /// `"error"`, `"keep"` or `{"value":…}`.
    let otherwise: String

    var using: String {
        let map = given.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return #"{"table":{"map":{\#(map)},"otherwise":\#(otherwise),"because":"words"}}"#
    }

    /// In the order of canonical JSON, whatever the order in the file.
    var rows: [(key: String, value: String)] { given.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) } }

    /// What a number becomes; nil where it is refused. Numbers are equal as numbers, and the first row that fits counts.
    func up(_ spelled: String) -> String? {
        if let row = rows.first(where: { NaiveNumber($0.key) == NaiveNumber(spelled) }) { return row.value }
        return otherwise == #""keep""# ? spelled : otherwise == #""error""# ? nil : String(otherwise.dropFirst(9).dropLast())
    }

    func down(_ spelled: String) -> String? {
        if let row = rows.first(where: { NaiveNumber($0.value) == NaiveNumber(spelled) }) { return row.key }
        return otherwise == #""keep""# ? spelled : nil
    }
}

@Suite("Tables over numbers")
struct TableWordTests {
    private static func one<T>(_ choices: [T], _ random: inout SeededGenerator) -> T {
        choices[.random(in: choices.indices, using: &random)]
    }

    /// A number of few values, and of many spellings; some differ in their last digit alone, where a double has none.
    private static func spelled(_ random: inout SeededGenerator) -> String {
        let digits = one(["0", "1", "7", "12", "120", "9007199254740992", "9007199254740993", "123456789012345678901234"], &random)
        let sign = one(["", "", "-"], &random)
        if digits == "0" { return sign + one(["0", "0.0", "0e7", "0.00E-3"], &random) }
        let power = one([0, 0, 0, -1, 3], &random)
        let shift = Int.random(in: 0 ... digits.count, using: &random)
        let zeros = String(repeating: "0", count: Int.random(in: 0 ... 3, using: &random))
        switch Int.random(in: 0 ..< 4, using: &random) {
        case 0 where power == 0: return sign + digits
        case 1 where power >= 0: return sign + digits + String(repeating: "0", count: power) + "." + zeros + "0"
        case 2: return sign + digits + zeros + one(["e", "E"], &random) + "\(power - zeros.count)"
        default:
            let (whole, fraction) = (shift == 0 ? "0" : String(digits.prefix(shift)), digits.dropFirst(shift) + zeros)
            return sign + whole + (fraction.isEmpty ? "" : "." + fraction) + "e\(power + digits.count - shift)"
        }
    }

    private static func table(_ random: inout SeededGenerator) -> NaiveTable {
        var rows: [(key: String, value: String)] = []
        for _ in 0 ..< Int.random(in: 1 ... 8, using: &random) {
            let key = spelled(&random)
            if !rows.contains(where: { $0.key == key }) { rows.append((key, spelled(&random))) }
        }
        return NaiveTable(given: rows, otherwise: one([#""error""#, #""keep""#, #"{"value":\#(spelled(&random))}"#], &random))
    }

    @Test("find a number by its value, however it and the word of the table are spelled, up and down", arguments: [1, 2, 3])
    func numbers(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "table", 0)
        var found = 0
        for _ in 0 ..< rounds(30) {
            let table = Self.table(&random)
            let codec = try boundCodec(table.using, from: .number, to: .number)
            for _ in 0 ..< 20 {
                let number = Self.spelled(&random)
                let (up, down) = (converted(number, .number, codec, .up).json, converted(number, .number, codec, .down).json)
                let wanted = [table.up(number), table.down(number)].map { $0.map(NaiveNumber.init) }
                let isRight = [up, down].map { $0.map(NaiveNumber.init) } == wanted
                #expect(isRight, "seed \(seed): \(number) up to \(up ?? "none"), down to \(down ?? "none") by \(table.using)")
                if !isRight { return }
                if table.rows.contains(where: { NaiveNumber($0.key) == NaiveNumber(number) && $0.key != number }) { found += 1 }
            }
        }
        #expect(found > rounds(30), "seed \(seed): \(found) numbers were found by another spelling")
    }

    @Test("have all values of an enum by value, however numbers are spelled there and in the table, and as a store keeps the file")
    func covers() throws {
        var random = SeededGenerator.announced()
        for round in 0 ..< rounds(30) {
            var values: [(spelled: String, key: String)] = []
            while values.count < 3 {
                let spelled = Self.spelled(&random)
                let key = (0 ..< 200).lazy.map { _ in Self.spelled(&random) }.first { NaiveNumber($0) == NaiveNumber(spelled) } ?? spelled
                if !values.contains(where: { NaiveNumber($0.spelled) == NaiveNumber(spelled) }) { values.append((spelled, key)) }
            }
            let lacking = round % 2 == 0 ? nil : values.last
            func check(_ domain: [String]) throws -> [String] {
                let rows = values.filter { $0.key != lacking?.key }.map { "'\($0.key)': w\($0.spelled.count)\($0.key)" }
                return try history([
                    "events: {E: {required: [n], properties: {n: {type: number, enum: [\(domain.joined(separator: ", "))]}}}}",
                    """
                    upcast: [{on: E, do: [{convert: {path: /n, to: string, using: {table: {map: {\(rows.joined(separator: ", "))}}}}}]}]
                    events: {E: {required: [n], properties: {n: {type: string}}}}
                    """,
                ]).check().filter { ["COMPAT102", "OPS310"].contains($0.id) }.map(\.message)
            }
            let canonical = try values.map {
                String(decoding: try JSONValue(parsing: Array($0.spelled.utf8).lent).canonical(), as: UTF8.self)
            }
            for domain in [values.map(\.spelled), canonical] {
                let found = try check(domain)
                #expect(found.count == (lacking == nil ? 0 : 1), "\(domain) by \(values.map(\.key)): \(found)")
            }
        }
    }
}
