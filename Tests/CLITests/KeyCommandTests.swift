import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Keys")
struct KeyCommandTests {
    /// Rows of `key list --json`: kind, id, way or suite, whether it is written under.
    private func listed(_ sealed: SealedShop, _ options: String? = nil) throws -> [String] {
        try sealed.shop.must("key list --json" + (options ?? sealed.key)).lines.map { line in
            let names = try ["kind", "id", member(line, "way") == "null" ? "suite" : "way", "writing"]
            return try names.map { name in try (member(line, name) ?? "").filter { $0 != "\"" } }.joined(separator: " ")
        }
    }

    @Test("a forget that could not read an archive does not say that all is done")
    func unreadArchive() throws {
        let sealed = try SealedShop().open()
        #expect(try sealed.run("forget order-1 --for-good").exit == 0)
        try BuiltProgram.shell("mkdir -m 700 '\(sealed.store)/archive' && echo none > '\(sealed.store)/archive/other.jsonl'")
        let outcome = try sealed.run("forget order-1 --for-good")
        #expect(outcome.exit == 8 && outcome.output.contains("unread     archive/other.jsonl"), "\(outcome.output)\(outcome.errors)")
    }

    @Test("a forget says so where an older version that is promised shows what the event's own version does not mark")
    func shownBelow() throws {
        let sealed = try SealedShop()
        let person = "stream: \"p-{/id}\", required: [id, name], properties: {id: {type: string}, name: {type: string, personal: true}}"
        try sealed.shop.write("persons/v1.yaml", "evstore: 1\nversion: 1\nevents: {P: {\(person)}}\n")
        try sealed.shop.write(
            "persons/v2.yaml",
            "evstore: 1\nversion: 2\nupcast: [{on: P, do: [{move: {from: /name, path: /full}}]}]\n"
                + "events: {P: {stream: \"p-{/id}\", required: [id, full], properties: {id: {type: string}, full: {type: string}}}}\n")
        try sealed.must("init --at v1 --schemas \(sealed.path("persons"))")
        try sealed.must(#"append p-1 P {"id":"1","name":"Ann"}"#)
        try sealed.must("replay --to v2 --schemas \(sealed.path("persons"))")
        try sealed.must(#"append p-2 P {"id":"2","full":"Bob"}"#)
        #expect(try sealed.run("forget p-1 --for-good").exit == 0)
        let shown = try sealed.run("forget p-2 --for-good")
        #expect(shown.exit == 8 && shown.output.contains("SHOWN      p-2: 1 event from position 2 on"), "\(shown.output)\(shown.errors)")
        #expect(try sealed.must("read --at v1").output.contains("Bob"))
        // What a step gives to every event is nobody's.
        try sealed.shop.write(
            "persons/v3.yaml",
            "evstore: 1\nversion: 3\nupcast: [{on: P, do: [{remove: {path: /full, restore: removed, because: nobody needs it}}]}]\n"
                + "events: {P: {stream: \"p-{/id}\", required: [id], properties: {id: {type: string}}}}\n")
        try sealed.must("replay --to v3 --yes --schemas \(sealed.path("persons"))")
        try sealed.must(#"append p-3 P {"id":"3"}"#)
        #expect(try sealed.must("read p-3 --at v1").output.contains(#""name":"removed""#))
        #expect(try sealed.must("forget p-3 --for-good").output.contains("nothing    p-3"))
    }

    @Test("a backup builds on no frame whose code is damaged, so that it can be restored")
    func damagedCode() throws {
        let sealed = try SealedShop().open()
        try sealed.must("backup \(sealed.path("copies"))")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: sealed.path("copies/blocks")).first)
        let file = URL(filePath: sealed.path("copies/blocks/\(name)"))
        var bytes = try Data(contentsOf: file)
        bytes[60] ^= 1
        try bytes.write(to: file)
        #expect(try sealed.run("restore \(sealed.path("copies")) --into \(sealed.path("damaged"))").exit == 7)
        try sealed.append(7)
        try sealed.must("backup \(sealed.path("copies"))")
        try sealed.must("restore \(sealed.path("copies")) --into \(sealed.path("again"))")
        #expect(try sealed.events(sealed.path("again")) == sealed.events())
    }

    @Test("verify of a sealed store without its file keys says what comes before a salvage, and then that works")
    func withoutKeys() throws {
        let sealed = try SealedShop().open()
        let before = try sealed.events()
        try sealed.must("backup \(sealed.path("copies"))")
        try FileManager.default.moveItem(atPath: sealed.store + "/keys", toPath: sealed.path("kept"))
        let verified = try sealed.run("verify")
        #expect(
            verified.exit == 7 && verified.output.contains("put the file keys of a backup there first; then evstore"), "\(verified.output)")
        #expect(try sealed.run("salvage --into \(sealed.path("salvaged"))").exit == 7)
        try FileManager.default.moveItem(atPath: sealed.path("kept"), toPath: sealed.store + "/keys")
        try sealed.must("salvage --into \(sealed.path("salvaged"))")
        #expect(try sealed.events(sealed.path("salvaged")) == before)
    }

    @Test("are listed with all that anybody may know of them")
    func list() throws {
        let sealed = try SealedShop().open()
        let lines = try sealed.must("key list --json").lines
        for line in lines { #expect(try keys(line) == ["kind", "id", "way", "suite", "created", "label", "writing"]) }
        #expect(try listed(sealed) == ["slot 1 key file false", "data 1 aes-256-gcm true"])
        let words = try sealed.must("key list").output
        #expect(words.contains("slot 1") && words.contains("key file") && words.contains("written under"))
        let plain = try SealedShop(isSealed: false).open()
        #expect(try plain.must("key list").output.isEmpty)
    }

    @Test("come and go: a slot more, another data key, an older one retired, each noted in the journal without a secret")
    func life() throws {
        let sealed = try SealedShop()
        try sealed.must("init --schemas SCHEMAS --at v1")
        let other = " --key-file \(sealed.path("other"))"
        let added = try sealed.must("key add --new-key-file \(sealed.path("other")) --label safe --json").line
        #expect(try member(added, "label") == "\"safe\"" && member(added, "id") == "2")
        #expect(try sealed.refusal("key retire data 1\(sealed.key)") == "keyNeeded 3")
        try sealed.must("key rotate --suite aes-256-cbc-hmac-sha256")
        try sealed.must("key retire data 1")
        _ = try sealed.open()
        try sealed.must("key rotate")
        try sealed.append(7)
        #expect(
            try listed(sealed, other) == [
                "slot 1 key file false", "slot 2 key file false", "data 2 aes-256-cbc-hmac-sha256 false", "data 3 aes-256-gcm true",
            ])
        #expect(try sealed.events(key: other).count == 7)
        let inUse = try sealed.run("key retire data 2")
        #expect(inUse.exit == 3 && inUse.errors.contains("recipher --into"))
        try sealed.shop.must("key retire slot 1\(other)")
        #expect(try sealed.refusal("read\(sealed.key)") == "keysRefused 2")
        #expect(try sealed.refusal("key retire slot 2\(other)") == "keyNeeded 3")
        #expect(try sealed.refusal("key retire slot 9\(other)") == "usage 2")
        #expect(try sealed.events(key: other).count == 7)
        let journal = try sealed.shop.must("journal --json\(other)").lines.filter { try member($0, "what") == "\"key\"" }
        let outcomes = try journal.map { line in try (member(line, "outcome") ?? "").filter { $0 != "\"" } }
        #expect(
            outcomes == [
                "add slot 2", "rotate to data 2", "retire data 1", "rotate to data 3", "retire slot 1",
            ])
    }

    @Test("a passphrase opens where it is stretched one way or another, and one way can take the place of the other")
    func passphrases() throws {
        let sealed = try SealedShop().open()
        try sealed.secret("words", "correct horse battery staple\nnot this\n")
        try sealed.secret("wrong", "incorrect horse battery staple\n")
        let words = " --passphrase-file \(sealed.path("words"))"
        try sealed.must("key add --new-passphrase-file \(sealed.path("words")) --kdf pbkdf2-sha256 --label people")
        #expect(try listed(sealed).contains("slot 2 pbkdf2-sha256 false"))
        #expect(try sealed.refusal("read --passphrase-file \(sealed.path("wrong"))") == "keysRefused 2")
        try sealed.shop.must("key retire slot 1\(words)")
        #expect(try sealed.refusal("read\(sealed.key)") == "keysRefused 2")
        #expect(try sealed.events(key: words).count == 6)
    }

    @Test("a process that has the store open goes on writing and reading while another one changes the keys")
    func otherProcess() async throws {
        let sealed = try SealedShop().open()
        var options = Options.forTests
        options.secret = try .key(file: sealed.path("key"))
        let store = try await EventStore.open(sealed.store, options: options)
        func pay(_ number: Int) async throws {
            _ = try await store.append([try .event("order-\(number)", "OrderPaid", #"{"id":"\#(number)"}"#, id: "paid-\(number)")])
        }
        func last() throws -> String? {
            var text: String?
            try store.readAll { event in
                text = event.json
                return true
            }
            return text
        }
        try await pay(1)
        try sealed.must("key rotate")
        try await pay(2)
        try sealed.append(7)
        #expect(try last()?.contains(#""id":"7""#) == true, "sealed under a key that this process did not have")
        try await pay(3)
        try sealed.must("key add --new-key-file \(sealed.path("other"))")
        try sealed.must("key retire slot 1")
        try await pay(4)
        #expect(try last() == #"{"id":"4"}"#)
        let other = " --key-file \(sealed.path("other"))"
        #expect(try sealed.refusal("key retire data 1\(other)") == "locked 5")
        try await store.close()
        #expect(try sealed.refusal("key retire data 1\(other)") == "keyNeeded 3")
        #expect(try sealed.events(key: other).count == 11)
        #expect(try sealed.shop.must("verify --deep\(other)").exit == 0)
    }

    @Test("plain to sealed, sealed anew and plain again: equal content, other keys, and what each store says is the same")
    func recipher() throws {
        let plain = try SealedShop(isSealed: false).open()
        try plain.must("replay --to v3 --schemas SCHEMAS")
        let content = try member(plain.must("backup \(plain.path("copies")) --json").line, "content")
        let (key, other) = (" --key-file \(plain.path("key"))", " --key-file \(plain.path("other"))")
        let steps: [(from: String, key: String, into: String, option: String)] = [
            ("store", "", "sealed", "--new-key-file \(plain.path("key"))"),
            ("sealed", key, "anew", "--new-key-file \(plain.path("other")) --suite aes-256-cbc-hmac-sha256"),
            ("anew", other, "same", ""), ("same", other, "plain", "--plain"),
        ]
        for step in steps {
            let line = try plain.shop.must(
                "recipher --into \(plain.path(step.into)) \(step.option) --store \(plain.path(step.from)) --json\(step.key)"
            ).line
            #expect(try keys(line) == ["position", "content", "bytes", "seconds"])
            #expect(try member(line, "content") == content && member(line, "position") == "6")
        }
        for (store, key) in [("sealed", key), ("anew", other), ("same", other), ("plain", "")] {
            #expect(try plain.events(plain.path(store), key: key) == plain.events(), "\(store)")
            #expect(try plain.shop.must("query orders --store \(plain.path(store))\(key)").lines == plain.must("query orders").lines)
            #expect(try plain.shop.must("verify --deep --store \(plain.path(store))\(key)").exit == 0)
            #expect(try plain.shop.run("snapshot verify --store \(plain.path(store))\(key)").exit == 0)
            #expect(try plain.marked(store).isEmpty == (key != ""), "\(store)")
        }
        #expect(try plain.refusal("read --store \(plain.path("anew"))\(key)") == "keysRefused 2")
        #expect(try plain.refusal("recipher --into \(plain.path("x"))") == "usage 2")
        #expect(try plain.refusal("recipher --into \(plain.path("plain")) --plain") == "storeExists 2")
        let journal = try plain.shop.must("journal --json --store \(plain.path("plain"))").lines
        #expect(try journal.filter { try member($0, "what") == "\"recipher\"" }.count == 4)
        try plain.shop.must("rollback --to-snapshot before-v3 --discard-tail --store \(plain.path("anew"))\(other)")
        #expect(try plain.shop.must("status --json --store \(plain.path("anew"))\(other)").line.contains(#""live":1"#))
    }

    @Test("a key file is accepted only where no other user can have read or changed it, and where it holds a key")
    func keyFiles() throws {
        let sealed = try SealedShop().open()
        let hex = String(repeating: "4d", count: 32)
        func opens(_ name: String, _ option: String = "--key-file") throws -> String {
            try sealed.refusal("read \(option) \(sealed.path(name))")
        }
        try sealed.secret("raw", String(repeating: "M", count: 32))
        try sealed.secret("bare", hex.uppercased())
        #expect(try opens("raw") == "keyUnusable 2")
        for name in ["key", "bare"] { #expect(try sealed.shop.run("read --key-file \(sealed.path(name))").exit == 0, "\(name)") }
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610] {
            try sealed.secret("open", hex, mode: mode)
            #expect(try opens("open") == "keyUnusable 2", "mode \(String(mode, radix: 8))")
        }
        for (name, text) in [
            ("short", "4d"), ("lines", hex + "\n\n"), ("word", String(hex.dropLast()) + "x"), ("long", hex + "00"), ("empty", ""),
        ] {
            try sealed.secret(name, text)
            #expect(try opens(name) == "keyUnusable 2", "\(name)")
        }
        for (name, text) in [("short", "sevenby\n"), ("long", String(repeating: "x", count: 1_025))] {
            try sealed.secret(name, text)
            #expect(try opens(name, "--passphrase-file") == "keyUnusable 2", "\(name)")
        }
        try FileManager.default.createSymbolicLink(atPath: sealed.path("link"), withDestinationPath: sealed.path("key"))
        for name in ["link", "schemas", "missing"] { #expect(try opens(name) == "keyUnusable 2", "\(name)") }
        try FileManager.default.copyItem(atPath: sealed.path("key"), toPath: sealed.store + "/key")
        #expect(try opens("store/key") == "keyUnusable 2")
        try FileManager.default.createSymbolicLink(atPath: sealed.path("door"), withDestinationPath: sealed.store)
        #expect(try opens("door/key") == "keyUnusable 2")
        #expect(try sealed.refusal("key add --new-key-file \(sealed.store)/key\(sealed.key)") == "keyUnusable 2")
        #expect(try sealed.refusal("read\(sealed.key) --passphrase-file \(sealed.path("key"))") == "usage 2")
    }

    @Test("what systemd hands to a service opens the store where nothing else is named")
    func credentials() throws {
        let sealed = try SealedShop().open()
        let directory = sealed.path("credentials")
        func read(_ more: String = "") throws -> Int32 {
            let program = BuiltProgram(environment: ["EVSTORE_STORE": sealed.store, "CREDENTIALS_DIRECTORY": directory])
            return try program.run(("read" + more).split(separator: " ").map(String.init)).exit
        }
        #expect(try read() == 2)
        // A list that names the service's user shows in the group's bits.
        for mode in [0o400, 0o440] {
            try sealed.secret("credentials/evstore-key", String(repeating: "4d", count: 32), mode: mode)
            #expect(try read() == 0)
            #expect(try read(" --key-file \(sealed.path("other"))") == 2)
            try FileManager.default.removeItem(atPath: directory)
        }
        try sealed.secret("credentials/evstore-key", String(repeating: "4d", count: 32), mode: 0o444)
        #expect(try read() == 2)
    }
}
