import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Pipes, devices and directories where files should be")
struct HostileFilesTests {
    let shop: Shop
    private var hostile: Hostile { Hostile(shop: shop) }

    init() throws { shop = try Shop.open() }

    @Test("in a backup: an error that names the file, no wait, and nothing restored", arguments: Hostile.Thing.allCases)
    func backups(thing: Hostile.Thing) throws {
        try shop.must("backup \(shop.path("good"))")
        let blocks = try #require(try FileManager.default.contentsOfDirectory(atPath: shop.path("good/blocks")).first)
        for name in ["runs/0000000001.json", "rows/0000000001.evf", "blocks/\(blocks)", "lock"] {
            let copy = shop.path("copy")
            try FileManager.default.copyItem(atPath: shop.path("good"), toPath: copy)
            try hostile.put(thing, at: "\(copy)/\(name)")
            let restored = try hostile.run(["restore", copy, "--into", shop.path("again")])
            // A lock that can't be one is no reason to leave a backup where it is.
            if name != "lock" || restored.exit != 0 {
                #expect(restored.exit == 1 && restored.errors.contains("\(name): it is a"), "\(name): \(restored.errors)")
                #expect(!FileManager.default.fileExists(atPath: shop.path("again")))
            } else {
                try FileManager.default.removeItem(atPath: shop.path("again"))
            }
            let backup = try hostile.run(["backup", copy])
            #expect(backup.exit == 0 || backup.errors.contains("\(name): "), "\(name): \(backup.errors)")
            if backup.exit == 0 {
                #expect(try hostile.run(["restore", copy, "--into", shop.path("again")]).exit == 0, "\(name): a new run stands alone")
                try FileManager.default.removeItem(atPath: shop.path("again"))
            }
            try FileManager.default.removeItem(atPath: copy)
        }
    }

    @Test("in a drill's backup and in a store that is salvaged: an error, and no wait")
    func drillAndSalvage() throws {
        try shop.must("backup \(shop.path("copy"))")
        try hostile.put(.pipe, at: shop.path("copy/runs/0000000001.json"))
        let drill = try hostile.run(["drill", "--backup", shop.path("copy")])
        #expect(drill.exit != 0 && (drill.errors + drill.output).contains("it is a pipe or a device"), "\(drill.errors)\(drill.output)")
        for thing in Hostile.Thing.allCases {
            try hostile.put(thing, at: shop.path("store/log/data.mdb"))
            let salvage = try hostile.run(["salvage", "--into", shop.path("saved")])
            #expect(salvage.exit == 1 && salvage.errors.contains("data.mdb: it is a"), "\(thing): \(salvage.errors)")
            let status = try hostile.run(["status"])
            #expect(status.exit == 1 && status.errors.contains("data.mdb"), "\(thing): \(status.errors)")
        }
    }

    @Test("a run of a backup that claims what can't be is refused, and leads nowhere else")
    func claims() throws {
        try shop.must("backup \(shop.path("good"))")
        // Made by hand, so without the checksum.
        let run = try shop.text("good/runs/0000000001.json").replacing(#/,"xxh3":"[^"]*"/#, with: "")
        let claims: [(String, String)] = [
            (#""bytes":\d+"#, #""bytes":9223372036854775807"#), (#""bytes":\d+"#, #""bytes":-1"#),
            (#""file":"[^"]*""#, #""file":"blocks/../../../etc/passwd""#), (#""rows":"[^"]*""#, #""rows":"/dev/zero""#),
            (#""number":\d+"#, #""number":18446744073709551615"#), (#""format":\d+"#, #""format":9"#),
            (#""position":\d+"#, #""position":99999999999999999999999"#), (#"^\{"#, String(repeating: "[", count: 100_000)),
            (#""link":"[^"]*""#, #""link":"\u001b[31m""#),
        ]
        for (pattern, claim) in claims {
            let changed = try run.replacing(Regex(pattern), with: claim)
            try #require(changed != run, "\(pattern) is not there")
            try shop.write("good/runs/0000000001.json", changed)
            let outcome = try hostile.run(["restore", shop.path("good"), "--into", shop.path("again")])
            let isHarmless = outcome.exit == 0 && (claim.contains("bytes") || claim.contains("link"))
            #expect([6, 7].contains(outcome.exit) || isHarmless, "\(claim.prefix(60)): \(outcome.exit) \(outcome.errors)")
            #expect(!outcome.output.contains("root:") && !outcome.errors.contains("root:"))
            if outcome.exit == 0 { try FileManager.default.removeItem(atPath: shop.path("again")) }
            #expect(!FileManager.default.fileExists(atPath: shop.path("again")))
        }
    }

    @Test("a pipe with a name is restored from when its writer comes, and waiting for one can be interrupted")
    func namedPipe() throws {
        try hostile.put(.pipe, at: shop.path("pipe"))
        let script = "\(shop.program.path) backup - >'\(shop.path("pipe"))' & exec \(shop.program.path) restore '\(shop.path("pipe"))' "
        let shell = BuiltProgram(path: "/usr/bin/timeout", environment: shop.program.environment)
        let restored = try shell.run("300", "sh", "-c", script + "--into '\(shop.path("again"))'")
        #expect(restored.exit == 0, "\(restored.errors)")
        #expect(try shop.must("export --store \(shop.path("again"))").lines.count == 4)

        // What it waits for never comes. The signal may come before its handler is there: then it ends it, which is as well.
        let ended = try shell.run(
            "-s", "INT", "-k", "120", "1", shop.program.path, "restore", shop.path("pipe"), "--into", shop.path("never"))
        #expect(ended.exit == 124, "\(ended.exit) \(ended.errors)")
        #expect(!FileManager.default.fileExists(atPath: shop.path("never")))
    }

    @Test("among schemas: a finding, and no wait", arguments: ["v1.yaml", "v2.yaml", "projections.yaml", "rules.yaml", "schemas.lock"])
    func schemas(name: String) throws {
        for thing in Hostile.Thing.allCases {
            try hostile.put(thing, at: shop.path("schemas/\(name)"))
            for command in ["check", "lint", "fmt --check", "fmt"] {
                let outcome = try hostile.run(["schema"] + command.split(separator: " ").map(String.init) + ["--schemas", shop.schemas])
                // A lock has no layout, and what is wrong with projections is not lint's to say.
                let concerns = !command.hasPrefix("fmt") || name != "schemas.lock"
                if concerns, command != "lint" || name != "projections.yaml" {
                    #expect(outcome.exit == 3 && (outcome.errors + outcome.output).contains("it is no regular file"), "\(thing) \(command)")
                }
            }
        }
    }

    @Test("laying out a pipe or a device is refused; where a link stands, what it leads to is laid out")
    func layout() throws {
        try hostile.put(.pipe, at: shop.path("pipe.yaml"))
        for path in [shop.path("pipe.yaml"), "/dev/zero"] {
            let outcome = try hostile.run(["schema", "fmt", path])
            #expect(outcome.exit == 3 && outcome.output.contains("it is no regular file"), "\(path): \(outcome.output)\(outcome.errors)")
        }
        let link = shop.path("link.yaml")
        try shop.write("schemas/v1.yaml", ShopHistory.v1.replacing("version: 1", with: "version:   1"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: shop.path("schemas/v1.yaml"))
        #expect(try hostile.run(["schema", "fmt", link]).exit == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == shop.path("schemas/v1.yaml"))
        #expect(try shop.text("schemas/v1.yaml").contains("version: 1\n"))
    }
}
