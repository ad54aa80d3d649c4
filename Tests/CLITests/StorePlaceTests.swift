import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Where a store can be made")
struct StorePlaceTests {
    /// The commands that make a store at a path, from a shop that is there.
    private static let makers = ["init", "import", "restore", "recipher", "salvage", "follow"]

    /// A shop with a backup, a damaged copy and an input, and where new stores go.
    private struct Scene {
        let shop: Shop

        init() throws {
            shop = try Shop.open()
            try shop.must("backup \(shop.path("backup"))")
            try FileManager.default.copyItem(atPath: shop.store, toPath: shop.path("damaged"))
            try shop.write("key", String(repeating: "5c", count: 32) + "\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: shop.path("key"))
        }

        /// Runs a maker from the directory `from`, which makes its store at `target`.
        func make(_ maker: String, at target: String, from: String? = nil, as user: [String] = []) throws -> BuiltProgram.Outcome {
            let words =
                switch maker {
                case "init": ["--store", target, "init", "--schemas", shop.schemas, "--at", "v1"]
                case "import": ["--store", target, "import", shop.path("orders.jsonl"), "--as", "v1", "--schemas", shop.schemas]
                case "restore": ["restore", shop.path("backup"), "--into", target]
                case "recipher": ["--store", shop.store, "recipher", "--into", target, "--new-key-file", shop.path("key")]
                case "salvage": ["--store", shop.path("damaged"), "salvage", "--into", target]
                default: ["--store", target, "follow", "--from", shop.path("backup"), "--once"]
                }
            let place = from.map { ["-C", $0] } ?? []
            return try BuiltProgram(path: "/usr/bin/env").run(place + user + [shop.program.path] + words)
        }

        /// Whether there is a whole store.
        func isWhole(_ maker: String, _ store: String) throws -> Bool {
            let key = maker == "recipher" ? ["--key-file", shop.path("key")] : []
            return try shop.program.run(["--store", store, "verify", "--deep"] + key).exit == 0
        }

        func directory(_ name: String) throws -> String {
            try FileManager.default.createDirectory(
                atPath: shop.path(name), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return shop.path(name)
        }
    }

    @Test(
        "every maker makes one in an empty directory, there, behind a link, with a slash, and beside a volume's lost+found",
        arguments: makers)
    func places(maker: String) throws {
        let scene = try Scene()
        func made(_ target: String, from: String? = nil, at store: String) throws {
            let outcome = try scene.make(maker, at: target, from: from)
            #expect(try outcome.exit == 0 && scene.isWhole(maker, store), "\(maker) \(target): \(outcome.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: store).allSatisfy { !$0.hasPrefix(".") }, "\(maker) \(target)")
        }
        let empty = try scene.directory("empty")
        let node = try FileManager.default.attributesOfItem(atPath: empty)[.systemFileNumber] as? Int
        try made(empty, at: empty)
        #expect(try FileManager.default.attributesOfItem(atPath: empty)[.systemFileNumber] as? Int == node)
        let here = try scene.directory("here")
        try made(".", from: here, at: here)
        let real = try scene.directory("real")
        try FileManager.default.createSymbolicLink(atPath: scene.shop.path("link"), withDestinationPath: "real")
        try made(scene.shop.path("link"), at: real)
        try made(scene.directory("slash") + "/", at: scene.shop.path("slash"))
        try made(scene.shop.path("new") + "/", at: scene.shop.path("new"))
        let volume = try scene.directory("volume")
        _ = try scene.directory("volume/lost+found")
        try made(volume, at: volume)
    }

    @Test(
        "and none where something is, where others may write, or behind a link that leads nowhere; nothing there is touched",
        arguments: makers)
    func refused(maker: String) throws {
        let scene = try Scene()
        let taken = try scene.directory("taken")
        try scene.shop.write("taken/mine", "mine")
        let open = try scene.directory("open")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open)
        try FileManager.default.createSymbolicLink(atPath: scene.shop.path("nowhere"), withDestinationPath: "missing")
        for (target, left) in [(taken, ["mine"]), (open, []), (scene.shop.path("nowhere"), nil), (scene.shop.path("none/below"), nil)] {
            let outcome = try scene.make(maker, at: target)
            #expect(outcome.exit == (target == open ? 1 : 2) && outcome.errors.contains("->"), "\(maker) \(target): \(outcome.errors)")
            #expect(!["EBUSY", "ENOTDIR", "EXDEV", "ENOENT"].contains { outcome.errors.contains($0) }, "\(outcome.errors)")
            guard let left else { continue }
            #expect(try FileManager.default.contentsOfDirectory(atPath: target) == left, "\(maker) \(target)")
        }
    }

    @Test("what is not a maker's stays, beside what a killed maker has left and in a directory of that name", arguments: makers)
    func strangers(maker: String) throws {
        let scene = try Scene()
        for (name, mine) in [("left", "archive"), ("named", ".evstore-moving")] {
            let directory = try scene.directory(name)
            _ = try scene.directory("\(name)/\(mine)")
            try scene.shop.write("\(name)/\(mine)/mine", "mine")
            if name == "left" {
                _ = try scene.directory("left/.evstore-moving")
                for file in ["evstore.json", "evstore.lock"] { try scene.shop.write("left/.evstore-moving/\(file)", "") }
            }
            let outcome = try scene.make(maker, at: directory)
            #expect(outcome.exit == 2 && outcome.errors.contains("->"), "\(maker) \(name): \(outcome.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [mine], "\(maker) \(name)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/\(mine)") == ["mine"], "\(maker) \(name)")
        }
    }

    @Test(
        "a user who owns nothing but an empty directory makes one there",
        .enabled(if: getuid() == 0, "only root can run a program as another user"), arguments: makers)
    func ownersDirectory(maker: String) throws {
        let scene = try Scene()
        for name in ["", "schemas", "backup", "damaged"] {
            _ = try BuiltProgram.shell("chmod -R go+rX '\(scene.shop.path(name))'")
        }
        let place = try scene.directory("volume")
        _ = try BuiltProgram.shell("chown 65534:65534 '\(place)'")
        // What only its owner may read stays root's.
        if ["recipher", "salvage"].contains(maker) { return }
        let outcome = try scene.make(maker, at: place, as: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        #expect(try outcome.exit == 0 && scene.isWhole(maker, place), "\(maker): \(outcome.errors)")
    }

    @Test("on a file system whose files are gone with the machine, init and status say so", .enabled(if: isTmpfs("/dev/shm")))
    func passing() throws {
        let scene = try Scene()
        let store = "/dev/shm/evstore-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: store) }
        let note = "tmpfs: it is gone when the machine stops"
        #expect(try scene.make("init", at: store).errors.contains(note))
        #expect(try scene.shop.program.must("--store", store, "status").output.contains("place        \(note)"))
        #expect(try scene.shop.program.must("--store", store, "status", "--json").output.contains(#""passingPlace":"\#(note)""#))
        #expect(try !scene.shop.must("status").output.contains("place  "))
    }

    private static func isTmpfs(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("in an empty directory there is no store, as in none; in one with something else there is none either, and it says so")
    func readers() throws {
        let scene = try Scene()
        for (name, code) in [("empty", "storeNotFound"), ("other", "notAStore")] {
            let directory = try scene.directory(name)
            if name == "other" { try scene.shop.write("other/mine", "mine") }
            let outcome = try scene.shop.program.run("--store", directory, "status", "--json")
            #expect(outcome.exit == 2 && (outcome.output + outcome.errors).contains(code), "\(name): \(outcome.errors)")
        }
    }
}
