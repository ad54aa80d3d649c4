import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A series of signed heads")
struct HeadSeriesTests {
    /// A shop with a key, and its heads after each of four appends.
    private func series() throws -> Shop {
        let shop = try Shop.migrated()
        try shop.write("key", String(repeating: "4d", count: 32) + "\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: shop.path("key"))
        try sign(shop, "")
        for number in 1 ... 3 {
            try shop.must(#"append order-9\#(number) OrderPaid {"id":"9\#(number)"}"#)
            try sign(shop, "--since \(shop.path("heads"))")
        }
        return shop
    }

    /// Adds the head of the store as it is now.
    private func sign(_ shop: Shop, _ words: String) throws {
        try shop.write("heads", shop.text("heads") + shop.must("verify --sign \(shop.path("key")) \(words)").output)
    }

    private func lines(_ shop: Shop) throws -> [String] { try shop.text("heads").split(separator: "\n").map(String.init) }

    /// The exit code, and the ids of findings.
    private func judge(_ shop: Shop, _ heads: [String]) throws -> String {
        try shop.write("given", heads.joined(separator: "\n") + "\n")
        let outcome = try shop.run("verify --since \(shop.path("given")) --sign \(shop.path("key")) --json")
        return ([String(outcome.exit)] + outcome.output.matches(of: #/"id":"(STORE1\d+)"/#).map { String($0.1) }).joined(separator: " ")
    }

    @Test("is one file, a line a head: each names the one before it, and the newest is what the store is compared with")
    func whole() throws {
        let shop = try series()
        let heads = try lines(shop)
        #expect(heads.count == 4)
        for (before, head) in zip(heads, heads.dropFirst()) {
            let digest = try BuiltProgram(path: "/usr/bin/sha256sum").run([], input: before).output.prefix(64)
            #expect(try member(head, "previous") == "\"\(digest)\"")
        }
        #expect(try member(heads[0], "previous") == "null" && judge(shop, heads) == "0")
        let outcome = try shop.must("verify --since \(shop.path("heads")) --sign \(shop.path("key")) --json")
        #expect(try member(outcome.line, "since", "heads") == "4" && member(outcome.line, "since", "position") == "7")
        #expect(try judge(shop, Array(heads.dropFirst())) == "0 STORE113", "a note where it does not begin with the first")
        #expect(try judge(shop, [heads[3].replacing(",", with: ",\n").replacing("{\"", with: "{\n\"")]) == "0", "one head of several lines")
    }

    @Test("of which one was left out, exchanged, put in or changed is no series")
    func thinned() throws {
        let shop = try series()
        let heads = try lines(shop)
        for taken in 1 ... 2 {
            var others = heads
            others.remove(at: taken)
            #expect(try judge(shop, others) == "7 STORE111", "head \(taken + 1) was left out")
        }
        #expect(try judge(shop, [heads[0], heads[2], heads[1], heads[3]]) == "7 STORE111 STORE111 STORE111")
        #expect(try judge(shop, [heads[0], heads[1], heads[1], heads[2], heads[3]]) == "7 STORE111")
        let anew = try shop.must("verify --sign \(shop.path("key"))").output.filter { $0 != "\n" }
        #expect(try judge(shop, heads + [anew]) == "7 STORE111", "a head that begins a series is none of this one")
        try shop.write(
            "given", ([heads[0], heads[1].replacing("\"position\":5", with: "\"position\":4")] + heads[2...]).joined(separator: "\n"))
        let changed = try shop.run("verify --since \(shop.path("given")) --json")
        #expect(changed.exit == 7 && changed.output.contains("signatureInvalid") && changed.output.contains("line 2"))
    }

    @Test("goes on behind a cut that was meant, and stops at one that nobody speaks for")
    func cut() throws {
        let shop = try series()
        try shop.must("snapshot take here")
        try shop.must(#"append order-94 OrderPaid {"id":"94"}"#)
        try sign(shop, "--since \(shop.path("heads"))")
        try shop.must("rollback --to-snapshot here --discard-tail")
        let heads = try lines(shop)
        #expect(try judge(shop, heads) == "3 STORE104")
        #expect(try shop.run("verify --since \(shop.path("heads")) --sign \(shop.path("key"))").output.isEmpty, "nothing is signed")
        try sign(shop, "--since \(shop.path("heads")) --accept")
        #expect(try judge(shop, lines(shop)) == "0")
        #expect(try shop.run("verify --accept --since \(shop.path("heads"))").exit == 2)
    }
}
