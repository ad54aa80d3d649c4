import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Signed heads")
struct SignedHeadTests {
    private static let secret = String(repeating: "4d", count: 32)

    /// The shop's store with a key beside it, and its head signed.
    private func signed() throws -> Shop {
        let shop = try Shop.migrated()
        try write(Self.secret + "\n", to: shop.path("key"), mode: 0o600)
        try sign(shop, as: "head.json")
        return shop
    }

    private func write(_ text: String, to path: String, mode: Int) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func sign(_ shop: Shop, as name: String, key: String = "key") throws {
        let outcome = try shop.must("verify --sign \(shop.path(key))")
        #expect(outcome.lines.count == 1 && outcome.errors.contains("ok: "), "the head alone is on standard output")
        try shop.write(name, outcome.output)
    }

    /// What comparing says: the exit code, and the ids of findings.
    private func judge(_ shop: Shop, _ head: String = "head.json", store: String? = nil) throws -> String {
        let words = "verify --since \(shop.path(head)) --sign \(shop.path("key")) --json --store \(store ?? shop.store)"
        let outcome = try shop.run(words)
        let code = (try member(outcome.line, "error", "code") ?? "").filter { $0 != "\"" }
        // STORE2…: read models that are not built are no matter of the log.
        let ids = outcome.output.matches(of: #/"id":"(STORE[01]\d+)"/#).map { String($0.1) }
        return ([String(outcome.exit)] + ids + (code.isEmpty ? [] : [code])).joined(separator: " ")
    }

    private func replace(_ store: String, by other: String) throws {
        try BuiltProgram.shell("rm -rf '\(store)' && cp -a '\(other)' '\(store)'")
    }

    @Test("what was signed still is so, also where more was appended, migrated and rolled back since")
    func holds() throws {
        let shop = try signed()
        #expect(try judge(shop) == "0")
        try shop.must(#"append order-9 OrderPaid {"id":"9"}"#)
        try shop.must("rollback")
        #expect(try judge(shop) == "0 STORE112", "another version is live, which is a note")
        let line = try shop.must("verify --since \(shop.path("head.json")) --sign \(shop.path("key")) --json").line
        #expect(try member(line, "since", "holds") == "true" && member(line, "since", "trusted") == "true")
        #expect(try member(line, "since", "position") == "4" && member(line, "head", "position") == "5")
        let words = try shop.must("verify --since \(shop.path("head.json"))")
        #expect(words.output.contains("as signed: positions 1 to 4") && words.output.contains("STORE106"))
    }

    @Test("a whole older copy of the store put back is found, which nothing else tells from the store")
    func olderCopy() throws {
        let shop = try signed()
        try replace(shop.path("older"), by: shop.store)
        try shop.must(#"append order-9 OrderPaid {"id":"9"}"#)
        try sign(shop, as: "newer.json")
        try replace(shop.store, by: shop.path("older"))
        #expect(try shop.must("verify --deep").exit == 0)
        #expect(try judge(shop, "newer.json") == "7 STORE102")
        #expect(try judge(shop) == "0", "what the older copy holds is as it was signed")
        try shop.must(#"append order-8 OrderPaid {"id":"8"}"#)
        #expect(try judge(shop, "newer.json") == "7 STORE103", "another event stands where the signed one stood")
    }

    @Test("an older copy from before a cut is found by its epoch, and a cut is told from a change")
    func cuts() throws {
        let shop = try signed()
        try shop.must("snapshot take here")
        try shop.must(#"append order-9 OrderPaid {"id":"9"}"#)
        try sign(shop, as: "longer.json")
        try replace(shop.path("older"), by: shop.store)
        try shop.must("rollback --to-snapshot here --discard-tail")
        #expect(try judge(shop) == "0", "the cut was above what was signed")
        let cut = try shop.run("verify --since \(shop.path("longer.json"))")
        #expect(cut.exit == 3 && cut.output.contains("STORE104") && cut.output.contains("cut at position 4"))
        try sign(shop, as: "cut.json")
        try replace(shop.store, by: shop.path("older"))
        #expect(try judge(shop, "cut.json") == "7 STORE105")
    }

    @Test("another store is named as that, and a restored backup is what was signed")
    func stores() throws {
        let shop = try signed()
        let other = try Shop.migrated()
        #expect(try judge(shop, store: other.store) == "7 STORE101")
        try shop.must("backup \(shop.path("copies"))")
        try shop.must("restore \(shop.path("copies")) --into \(shop.path("again"))")
        #expect(try judge(shop, store: shop.path("again")) == "0")
    }

    @Test(
        "a head that was changed, cut off or signed by another proves nothing",
        arguments: [
            ("s/\"position\":4/\"position\":3/", "7 signatureInvalid"), ("s/.$//", "7 signatureInvalid"),
            ("s/\"content\":\"[0-9a-f]\\{10\\}/&f/", "7 signatureInvalid"), ("s/\"format\":2/\"format\":1/", "7 signatureInvalid"),
            ("s/{/{\"more\":1,/", "7 signatureInvalid"), ("s/.*//", "7 signatureInvalid"), ("s/,/ , /g", "0"),
        ])
    func changed(_ edit: String, _ verdict: String) throws {
        let shop = try signed()
        let text = try BuiltProgram(path: "/usr/bin/sed").run(edit, shop.path("head.json")).output
        try shop.write("head.json", text)
        #expect(try judge(shop) == verdict, "\(text)")
    }

    @Test("another's signature is no proof where a key is trusted, and a warning where none is named")
    func keys() throws {
        let shop = try signed()
        try write(String(repeating: "77", count: 32), to: shop.path("other"), mode: 0o400)
        try sign(shop, as: "theirs.json", key: "other")
        #expect(try judge(shop, "theirs.json") == "7 signatureInvalid")
        let unproved = try shop.run("verify --since \(shop.path("theirs.json"))")
        #expect(unproved.exit == 0 && unproved.output.contains("STORE106"))
        #expect(try shop.run("verify --strict --since \(shop.path("theirs.json"))").exit == 3)
        let key = try #require(try member(shop.text("theirs.json"), "key")).filter { $0 != "\"" }
        try write(key, to: shop.path("other.pub"), mode: 0o644)
        try shop.must("verify --strict --since \(shop.path("theirs.json")) --trust \(shop.path("other.pub"))")
        #expect(try shop.run("verify --since \(shop.path("head.json")) --trust \(shop.path("other.pub"))").exit == 7)
    }

    @Test("nothing is signed where something is wrong")
    func damaged() throws {
        let shop = try signed()
        let file = URL(filePath: shop.path("store/log/data.mdb"))
        var bytes = try Data(contentsOf: file)
        let place = try #require(bytes.range(of: Data("Ada".utf8)))
        bytes.replaceSubrange(place, with: Data("Eve".utf8))
        try bytes.write(to: file)
        let outcome = try shop.run("verify --sign \(shop.path("key"))")
        #expect(outcome.exit == 7 && outcome.output.isEmpty)
        let found = try judge(shop)
        #expect(found.hasPrefix("7 ") && found.contains("STORE001"))
        #expect(try member(shop.run("verify --sign \(shop.path("key")) --json").line, "head") == "null")
    }

    @Test("keys are read as openssl writes them, and from files that are the user's own alone")
    func files() throws {
        let shop = try signed()
        let pem = "MC4CAQAwBQYDK2VwBCIEIE1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1N"
        try write("-----BEGIN PRIVATE KEY-----\n\(pem)\n-----END PRIVATE KEY-----\n", to: shop.path("pem"), mode: 0o600)
        try sign(shop, as: "pem.json", key: "pem")
        #expect(try judge(shop, "pem.json") == "0", "the same key as the one in hexadecimal digits")
        try write(Self.secret, to: shop.path("open"), mode: 0o640)
        try write(String(repeating: "a", count: 5_000), to: shop.path("long"), mode: 0o600)
        try write("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", to: shop.path("public"), mode: 0o600)
        try write("", to: shop.path("empty"), mode: 0o600)
        try FileManager.default.createSymbolicLink(atPath: shop.path("link"), withDestinationPath: shop.path("key"))
        #expect(try BuiltProgram(path: "/usr/bin/mkfifo").run("-m", "600", shop.path("fifo")).exit == 0)
        for name in ["open", "long", "public", "empty", "link", "fifo", "missing", "store", "head.json"] {
            let outcome = try shop.run("verify --sign \(shop.path(name)) --json")
            #expect(outcome.exit == 2, "\(name): \(outcome.output)\(outcome.errors)")
            #expect(try member(outcome.line, "error", "code") == "\"keyUnusable\"")
            #expect(!outcome.output.contains(Self.secret))
        }
        #expect(try shop.run("verify --trust \(shop.path("key"))").exit == 2)
        #expect(try shop.run("verify --since \(shop.path("missing"))").exit == 2)
    }
}
