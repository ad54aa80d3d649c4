import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Input that means no good")
struct HostileInputTests {
    let shop: Shop
    private var hostile: Hostile { Hostile(shop: shop) }
    private let before: [String]

    init() throws {
        shop = try Shop.open()
        before = try shop.must("export").lines
    }

    /// That nothing has changed in the store.
    private func unchanged(_ what: String) throws { #expect(try shop.must("export").lines == before, "\(what)") }

    @Test("payloads beyond a limit, or that are no JSON, are refused with what was expected, appended or imported")
    func payloads() throws {
        func paid(_ more: String) -> String { #"{"id":"9"\#(more)}"# }
        let payloads: [(payload: String, code: String)] = [
            (paid(#","n":"# + String(repeating: "[", count: 70) + String(repeating: "]", count: 70)), "invalidJSON"),
            (String(repeating: "[", count: 1_000_000), "invalidJSON"), (paid(#","id":"8""#), "invalidJSON"),
            (paid(#","i\u0064":"8""#), "invalidJSON"), (paid(#","n":1e9999999999"#), "invalidJSON"),
            (paid(#","n":NaN"#), "invalidJSON"), (paid(#","n":0x1"#), "invalidJSON"), (paid(#","n":01"#), "invalidJSON"),
            (paid(#","n":"\ud800""#), "invalidJSON"), (paid(",\"n\":\"\u{1b}[2J\""), "invalidJSON"), ("\u{feff}" + paid(""), "invalidJSON"),
            (paid("") + paid(""), "invalidJSON"), ("", "invalidJSON"), (paid(#","n\u001b[31m":1"#), "invalidEvent"),
            (paid(#","__proto__":1"#), "invalidEvent"), (paid(#","n":"# + String(repeating: "9", count: 100_000)), "invalidEvent"),
            (paid("," + (0 ..< 20_000).map { #""m\#($0)":1"# }.joined(separator: ",")), "invalidJSON"),
            (paid(#","n":""# + String(repeating: "x", count: 3_000_000) + "\""), "eventTooLarge"),
        ]
        for (payload, code) in payloads {
            let appended = try hostile.run(["append", "order-9", "OrderPaid", "-", "--json"], input: payload)
            #expect(appended.exit == 3, "\(payload.prefix(60)): \(appended.output)")
            #expect(try member(appended.line, "error", "code") == "\"\(code)\"", "\(payload.prefix(60)): \(appended.output.prefix(300))")
            let line = #"{"stream":"order-9","type":"OrderPaid","data":"# + payload.replacing("\n", with: " ") + "}\n"
            let imported = try hostile.run(["import", "-", "--as", "v1"], input: line)
            #expect(imported.exit == 3 && imported.errors.contains("standard input:1"), "\(payload.prefix(60)): \(imported.errors)")
        }
        try unchanged("payloads")
    }

    @Test("bytes that are no text are refused, from a file too")
    func bytes() throws {
        for bytes in [[0xff], [0x00], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]] as [[UInt8]] {
            let line = Data(#"{"stream":"order-9","type":"OrderPaid","data":{"id":"9"#.utf8) + Data(bytes) + Data("\"}}\n".utf8)
            try line.write(to: shop.directory.url("lines"))
            let outcome = try hostile.run(["import", shop.path("lines"), "--as", "v1"])
            #expect(outcome.exit == 3 && outcome.errors.contains("lines:1"), "\(bytes): \(outcome.errors)")
        }
        for source in ["/dev/zero", "/dev/urandom"] {
            // One of 20,000 random inputs begins as a compressed one does, which is wrong usage.
            #expect(try [2, 3].contains(hostile.run(["import", source, "--as", "v1"]).exit), "\(source)")
            let outcome = try hostile.run(["import", source, "--as", "v1", "--on-error", "quarantine"])
            #expect([2, 3].contains(outcome.exit) && outcome.errors.contains(source), "\(source): \(outcome.errors)")
        }
        try unchanged("bytes")
        // What has begun with an event is read to its end.
        let line = #"{"stream":"order-9","type":"OrderPaid","data":"\#(String(repeating: "x", count: 200))"}"# + "\n"
        let good = #"{"stream":"order-9","type":"OrderPlaced","data":{"id":"9","customer":"Ada","total":5}}"# + "\n"
        try shop.write("lines", good + String(repeating: line, count: 24_000))
        let outcome = try hostile.run(["import", shop.path("lines"), "--as", "v1", "--on-error", "quarantine", "--dry-run", "--json"])
        #expect(outcome.exit == 8 && outcome.output.contains(#""quarantined":24000"#), "\(outcome.exit) \(outcome.output.prefix(300))")
    }

    private static let oddNames = [
        "../x", "-x", "", String(repeating: "x", count: 201), "a/../../b", "\u{1b}[31mx\u{7}", "\u{202e}x", "$x", "a\nb",
    ]

    @Test("names that lead elsewhere name nothing, are shown as they are spelled, and make no file", arguments: oddNames)
    func names(name: String) throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: shop.store).filter { !$0.hasPrefix("generations") }.sorted()
        let commands: [([String], [Int32])] = [
            (["append", "order-9", "--", name, #"{"id":"9"}"#], [3]), (["append", "--", name, "OrderPaid", #"{"id":"9"}"#], [3]),
            (["read", "--", name], [0, 3]), (["read", "--type", "OrderPaid", "--at=\(name)"], [2]), (["query", "--", name], [2]),
            (["query", "orders", "--", name], [0]), (["query", "orders", "--prefix=\(name)", "--json"], [0, 2]),
            (["diff", "orders", "--at", "v1", "--at", "v1", "--", name], [0, 2]), (["replay", "--to=\(name)"], [2]),
            (["snapshot", "verify", "--", name], [2]), (["rollback", "--to-snapshot=\(name)", "--discard-tail"], [2]),
            (["append", "order-9", "OrderPaid", #"{"id":8}"#, "--id=\(name)"], [2, 3]), (["status", "--expect=\(name)"], [2]),
            (["schema", "show", "--schemas", shop.schemas, "--", name], [2, 3]), (["finalize", "--", name], [2]),
        ]
        for (words, exits) in commands {
            let outcome = try hostile.run(words)
            #expect(exits.contains(outcome.exit), "\(words.prefix(3)): \(outcome.exit) \(outcome.errors)")
        }
        let after = try FileManager.default.subpathsOfDirectory(atPath: shop.store).filter { !$0.hasPrefix("generations") }.sorted()
        #expect(after == files)
        try unchanged(name)
    }

    @Test("numbers outside of what they count are refused, or ask for nothing")
    func numbers() throws {
        let commands: [(String, Int32)] = [
            ("read --from 99999999999999999999", 2), ("read --limit -1", 2), ("read --from 18446744073709551615", 0),
            ("read order-1 --from 18446744073709551615", 0), ("append order-1 OrderPaid {\"id\":\"1\"} --expect 18446744073709551615", 3),
            ("read --at 65536", 2), ("read --at 99999999999999999999", 2), ("read --at=v-1", 2), ("read --at v0", 3),
            ("replay --to v65536", 2), ("replay --to v1 --jobs 0", 2), ("snapshot prune --keep 99999999999999999999", 2),
        ]
        for (line, exit) in commands {
            let outcome = try hostile.run(line.split(separator: " ").map(String.init))
            #expect(outcome.exit == exit, "\(line): \(outcome.exit) \(outcome.errors)")
            if exit == 0 { #expect(outcome.output.isEmpty) }
        }
        try unchanged("numbers")
    }

    @Test("a payload's control characters are never printed raw")
    func terminal() throws {
        let payload = #"{"id":"9","customer":"\u001b]0;title\u0007","total":1}"#
        try shop.must("append order-9 OrderPlaced \(payload)")
        for command in ["read order-9", "export", "query orders 9"] {
            #expect(try !shop.must(command).output.hasRawControls, "\(command)")
        }
    }
}
