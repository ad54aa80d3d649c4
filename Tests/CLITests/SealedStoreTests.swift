import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Sealed stores on the command line")
struct SealedStoreTests {
    @Test("say the same as a plain store, from the import to the rollback")
    func life() throws {
        let (sealed, plain) = (try SealedShop().open(), try SealedShop(isSealed: false).open())
        let commands = [
            "read", "read order-2", "read --backwards --limit 3", "export --format cloudevents", "query orders",
            "snapshot take here --json",
            "plan --to v3 --schemas SCHEMAS", "replay --to v3 --schemas SCHEMAS", "read --at v1", "query orders",
            "diff orders --at v1 --at v3",
            #"append order-3 OrderPaid {"id":"3"} --id paid --json"#, #"append order-3 OrderPaid {"id":"3"} --id paid --json"#,
            #"append order-4 OrderPaid {"id":"4"} --id paid --json"#, "rollback", "query orders", "query payments", "replay --to v3",
            "verify --deep --laws --seed 1", "quarantine list", "import \(sealed.path("orders.jsonl")) --as v1", "finalize v3",
            "status --json",
        ]
        for command in commands {
            let (one, other) = (try sealed.run(command), try plain.run(command))
            #expect(one.exit == other.exit, "\(command): \(one.errors)")
            #expect(alike(one.output) == alike(other.output), "\(command)")
        }
        #expect(try sealed.must("status").output.contains("sealed       aes-256-gcm, data key 1"))
        #expect(try !plain.must("status").output.contains("sealed"))
    }

    /// Without what no two stores have in common.
    private func alike(_ text: String) -> String {
        text.replacing(
            #/[0-9.,]+ (k|M|G|µ|m|n)?(s|B|/s|ms)\b|\d{4}-11-\d\dT[0-9:.]+Z|[0-9]+/s|urn:evstore:[0-9a-f]+|evstore-cli-[0-9A-F-]+|"time":"[^"]*"|"freeBytes":\d+/#,
            with: ""
        )
        .replacing(#/ +/#, with: " ")
    }

    @Test("a watch shows what another process appends, which another one has sealed under a key that was made since")
    func watch() throws {
        let sealed = try SealedShop().open()
        let line = "exec '\(sealed.shop.program.path)' watch\(sealed.key) >\(sealed.path("out")) 2>\(sealed.path("err"))"
        let watching = try BuiltProgram(path: "/bin/sh", environment: sealed.shop.program.environment).start(["-c", line])
        try waitUntil { try sealed.shop.text("err").contains("watching after position 6") }
        try sealed.must("key rotate")
        try sealed.append(7)
        try waitUntil { try sealed.shop.text("out").contains("\n") }
        #expect(try sealed.shop.text("out").contains("placed-7"))
        watching.send(signal: SIGINT)
        #expect(try watching.wait().exit == 0)
    }

    @Test("no payload and no metadata lies in the clear in the log, in read models, backups, archives and reports of drills")
    func canary() throws {
        func everything(_ shop: SealedShop) throws -> [String] {
            try shop.must("replay --to v3 --schemas SCHEMAS")
            try shop.must("backup \(shop.path("copies"))")
            try shop.must("snapshot take here")
            for number in 10 ..< 40 { try shop.append(number) }
            _ = try shop.run(
                "import - --as v1 --on-error quarantine", input: #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"c4n4ry"}}"#)
            try shop.must("drill")
            try shop.must("backup \(shop.path("copies"))")
            try shop.must("rollback --to-snapshot here --discard-tail")
            try shop.append(50)
            try shop.must("verify --deep --laws")
            return try shop.marked("store") + shop.marked("copies")
        }
        let sealed = try SealedShop().open()
        #expect(try everything(sealed).isEmpty)
        // The same on a plain store finds it everywhere, so that it would be found.
        let plain = try everything(SealedShop(isSealed: false).open()).joined(separator: " ")
        for place in ["log/data.mdb", "generations/", "blocks/", "archive/"] { #expect(plain.contains(place), "\(plain)") }
        // What a step of a drill has to say may be an event's: it is printed, and not kept.
        let drills = sealed.store + "/drills/"
        let report = try String(
            contentsOfFile: drills + #require(FileManager.default.contentsOfDirectory(atPath: drills).first), encoding: .utf8)
        #expect(report.matches(of: #/"detail":""/#).count == 8 && report.matches(of: #/"detail":/#).count == 8, "\(report)")
    }

    @Test("backups go to a directory and through a pipe, over a change of keys, and are restored with the keys that they had")
    func backups() throws {
        let sealed = try SealedShop().open()
        let (copies, again) = (sealed.path("copies"), sealed.path("again"))
        let first = try sealed.must("backup \(copies) --json").line
        try sealed.must("key rotate")
        try sealed.append(7)
        let second = try sealed.must("backup \(copies) --json").line
        #expect(try member(first, "content") != member(second, "content"))
        let restored = try sealed.must("restore \(copies) --into \(again) --json").line
        #expect(try member(restored, "content") == member(second, "content"))
        #expect(try sealed.events(again) == sealed.events())
        #expect(try sealed.must("verify --deep --store \(again)").exit == 0)
        let shell = BuiltProgram(path: "/bin/sh", environment: sealed.shop.program.environment)
        let program = "'\(sealed.shop.program.path)'"
        let piped = try shell.run(
            ["-c", "\(program) backup -\(sealed.key) | \(program) restore - --into '\(sealed.path("piped"))' --to 6\(sealed.key)"])
        #expect(piped.exit == 0, "\(piped.errors)")
        #expect(try sealed.events(sealed.path("piped")) == Array(sealed.events().prefix(6)))
        // A restored store goes on, and its own backups do.
        for number in [8, 9] { try sealed.must(#"append order-\#(number) OrderPaid {"id":"\#(number)"} --store \#(again)"#) }
        try sealed.must("backup \(sealed.path("copies2")) --store \(again)")
        #expect(try sealed.must("drill --backup \(copies)").output.contains("PASSED"))
        // The slot that the backup has opens it, also when the store has it no more.
        try sealed.must("key add --new-key-file \(sealed.path("other"))")
        try sealed.shop.must("key retire slot 1 --key-file \(sealed.path("other"))")
        #expect(try sealed.refusal("status\(sealed.key)") == "keysRefused 2")
        try sealed.must("restore \(copies) --into \(sealed.path("old"))")
        let other = "restore \(copies) --into \(sealed.path("new")) --key-file \(sealed.path("other"))"
        #expect(try sealed.refusal(other) == "keysRefused 2")
        let words = try sealed.shop.run(other).errors
        #expect(words.hasPrefix("evstore: \(copies) is not opened: ") && words.contains("when the run was made"), "\(words)")
    }

    @Test("a key is refused that opens nothing, that is missing or that nothing asked for, by whatever opens a store")
    func refused() throws {
        let sealed = try SealedShop().open()
        try sealed.must("backup \(sealed.path("copies"))")
        let plain = try SealedShop(isSealed: false).open()
        try plain.must("backup \(plain.path("copies"))")
        let wrong = " --key-file \(sealed.path("other"))"
        let commands = [
            "status", "read", "append order-1 OrderPaid {}", "verify", "export", "query orders", "backup \(sealed.path("copies"))", "drill",
            "snapshot list", "journal", "key list", "key rotate", "recipher --into \(sealed.path("new")) --plain",
            "import \(sealed.path("orders.jsonl")) --as v1",
        ]
        for command in commands {
            #expect(try sealed.refusal(command) == "keysRefused 2", "\(command)")
            #expect(try sealed.refusal(command + wrong) == "keysRefused 2", "\(command)")
            #expect(try plain.refusal(command + wrong) == "keysRefused 2", "\(command)")
        }
        for option in ["", wrong] {
            #expect(try sealed.refusal("restore \(sealed.path("copies")) --into \(sealed.path("new"))\(option)") == "keysRefused 2")
            #expect(try sealed.refusal("salvage --into \(sealed.path("new"))\(option)") == "keysRefused 2")
        }
        for line in ["restore \(plain.path("copies")) --into \(plain.path("new"))", "salvage --into \(plain.path("new"))"] {
            let outcome = try plain.shop.run(line + wrong)
            #expect(outcome.exit == 2 && outcome.errors.contains("recipher"), "\(outcome.errors)")
        }
        #expect(try sealed.must("salvage --into \(sealed.path("new"))").exit == 0)
        #expect(try sealed.events(sealed.path("new")) == sealed.events())
    }

    @Test("a cut's archive is sealed, comes back by an import, and means nothing to another store")
    func archive() throws {
        let sealed = try SealedShop().open()
        try sealed.must("snapshot take here")
        for number in [10, 11] { try sealed.append(number) }
        try sealed.must("key rotate")
        let before = try sealed.events()
        try sealed.must("rollback --to-snapshot here --discard-tail")
        let archive = sealed.store + "/archive/epoch-1-events-7-8.jsonl"
        #expect(try String(contentsOfFile: archive, encoding: .utf8).matches(of: #/\{"sealed":"/#).count == 2)
        let other = try SealedShop().open()
        let stranger = try other.run("import \(archive) --as v1")
        #expect(stranger.exit == 3 && stranger.errors.contains("another store"), "\(stranger.errors)")
        let plain = try SealedShop(isSealed: false).open()
        #expect(try plain.run("import \(archive) --as v1").exit == 3)
        try sealed.must("import \(archive) --as v1")
        #expect(try sealed.events() == before)
    }

    @Test("a file of keys that is damaged, missing or of another store opens nothing, and put back it opens all")
    func files() throws {
        let (sealed, other) = (try SealedShop().open(), try SealedShop().open())
        let file = URL(filePath: sealed.store + "/keys")
        let good = try Data(contentsOf: file)
        // One bit in each part: header, slot, data key, code.
        for offset in [0, 5, 9, 17, 33, 70, 64 + 60, 64 + 128 + 4, 64 + 128 + 50, good.count - 1] {
            var bytes = good
            bytes[offset] ^= 1
            try bytes.write(to: file)
            #expect(try ["storeDamaged 7", "keysRefused 2"].contains(sealed.refusal("read\(sealed.key)")), "bit of byte \(offset)")
        }
        try good.dropLast().write(to: file)
        #expect(try sealed.refusal("read\(sealed.key)") == "storeDamaged 7")
        try Data(contentsOf: URL(filePath: other.store + "/keys")).write(to: file)
        #expect(try sealed.refusal("read\(sealed.key)") == "storeDamaged 7")
        try FileManager.default.removeItem(at: file)
        #expect(try sealed.refusal("read\(sealed.key)") == "storeDamaged 7")
        try good.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        #expect(try sealed.events() == other.events())
    }

    @Test("a run after a slot was retired, or made, begins anew: what opened the runs before opens it no more; a rotation goes on")
    func retiredSlot() throws {
        let sealed = try SealedShop().open()
        let (copies, other) = (sealed.path("copies"), " --key-file \(sealed.path("other"))")
        func blocks() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: copies + "/blocks").sorted() }
        func opens(_ key: String, _ name: String) throws -> Int32 {
            try sealed.shop.run("restore \(copies) --into \(sealed.path(name))\(key)").exit
        }
        try sealed.must("backup \(copies)")
        try sealed.must("key rotate")
        try sealed.append(7)
        try sealed.must("backup \(copies)")
        #expect(try sealed.shop.text("copies/runs/0000000002.json").matches(of: #/"file"/#).count == 2, "a rotation goes on")
        try sealed.must("key add --new-key-file \(sealed.path("other"))")
        try sealed.must("backup \(copies)")
        #expect(try opens(other, "added") == 0)
        try sealed.shop.must("key retire slot 1\(other)")
        try sealed.shop.must("backup \(copies)\(other)")
        #expect(try sealed.shop.text("copies/runs/0000000004.json").matches(of: #/"file"/#).count == 1)
        #expect(try opens(sealed.key, "refused") == 2)
        #expect(try opens(other, "again") == 0)
        #expect(try sealed.events(sealed.path("again"), key: other).count == 7)
        try sealed.shop.must("backup \(copies) --keep 1\(other)")
        #expect(try sealed.shop.text("copies/runs/0000000005.json").matches(of: #/"file"/#).count == 2, "and then it goes on again")
        #expect(try blocks().allSatisfy { $0 > "0000000004" }, "no file of the older keys is left")
    }

    @Test("a salvage says whose personal data could not be read, after verify has said what can be done")
    func lostKeys() throws {
        let sealed = try SealedShop()
        try sealed.shop.write(
            "persons/v1.yaml",
            """
            evstore: 1
            version: 1
            events:
              Joined: {stream: "person-{/id}", required: [id, name], properties: {id: {type: string}, name: {type: string, personal: true}}}
            """)
        try sealed.must("init --schemas \(sealed.path("persons"))")
        for id in 1 ... 2 { try sealed.must(#"append person-\#(id) Joined {"id":"\#(id)","name":"Ada"}"#) }
        let file = try FileHandle(forUpdating: URL(filePath: sealed.store + "/subjects"))
        try file.seek(toOffset: 128 + 50)
        try file.write(contentsOf: Data([1, 2, 3]))
        try file.close()
        let found = try sealed.run("verify --deep")
        #expect(found.exit == 7 && found.output.contains("STORE016: the key of the stream person-1 (slot 1"), "\(found.output)")
        #expect(found.output.contains("salvage --into") && found.output.contains("skip=1 seek=1"))
        #expect(try sealed.refusal("read person-1\(sealed.key)") == "storeDamaged 7" && sealed.must("read person-2").output.contains("Ada"))
        let words = try sealed.run("salvage --into \(sealed.path("new"))")
        #expect(words.exit == 8 && words.output.contains("key lost   person-1: 1 event without what was personal"), "\(words.output)")
        let report = try sealed.run("salvage --into \(sealed.path("other-new")) --json")
        #expect(report.line.contains(#""lostKeys":[{"stream":"person-1","events":1}],"unopened":0,"dataKeys":[]"#), "\(report.line)")
        let store = " --store \(sealed.path("new"))"
        #expect(try sealed.must("read person-1\(store)").output.contains(#""name":"""#))
        #expect(try sealed.must("verify --deep\(store)").exit == 0 && sealed.must("read person-2\(store)").output.contains("Ada"))
    }
}
