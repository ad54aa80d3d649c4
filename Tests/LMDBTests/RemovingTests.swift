import EvstoreTesting
import Foundation
import Glibc
import LMDB
import Platform
import Testing

@Suite("Removing files and directories")
struct RemovingTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func make(_ path: String, _ text: String = "something") throws {
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    @Test("goes nowhere else when a link takes the place of a directory whose files it is removing")
    func exchanged() throws {
        let (victim, tree) = (directory.path + "/victim", directory.path + "/tree")
        for number in 0 ..< 20 {
            try make(victim + "/file-\(number)")
            try make(tree + "/a/file-\(number)")
        }
        // Somebody else exchanges them when the first file is about to go.
        var isExchanged = false
        let remove = {
            try Directory.remove(tree) { name in
                if name.hasPrefix("file-"), !isExchanged {
                    isExchanged = true
                    _ = unsafe rename(tree + "/a", directory.path + "/aside")
                    _ = unsafe symlink(victim, tree + "/a")
                }
                return false
            }
        }
        // What stands there now is no directory any more.
        #expect(throws: StorageError.self) { try remove() }
        #expect(isExchanged)
        #expect(try Directory.names(victim).count == 20 && Directory.names(directory.path + "/aside").isEmpty)
        try remove()
        #expect(try Directory.ownStatus(tree) == nil && Directory.names(victim).count == 20)
    }

    @Test("a file that comes while the others go, goes too; where one comes each time, the directory stays", arguments: [1, .max])
    func coming(files: Int) throws {
        let tree = directory.path + "/tree"
        try make(tree + "/first")
        var made = 0
        let remove = {
            try Directory.remove(tree) { name in
                if name != "tree", made < files {
                    made += 1
                    do { try make(tree + "/late-\(made)") } catch { Issue.record(error) }
                }
                return false
            }
        }
        if files == 1 { try remove() } else { #expect { try remove() } throws: { ($0 as? StorageError)?.code == ENOTEMPTY } }
        #expect(try (Directory.ownStatus(tree) == nil) == (files == 1))
    }

    @Test("overwrites what it is told to before it goes, and nothing that has another name or lies behind a link")
    func overwritten() throws {
        let tree = directory.path + "/tree"
        try make(tree + "/below/secret", String(repeating: "secret", count: 50_000))
        try make(tree + "/below/other", "other")
        try make(directory.path + "/named", "named")
        try make(directory.path + "/behind", "behind")
        try FileManager.default.linkItem(atPath: directory.path + "/named", toPath: tree + "/secret")
        try FileManager.default.createSymbolicLink(atPath: tree + "/below/link", withDestinationPath: directory.path + "/behind")
        let (secret, other) = (try File(tree + "/below/secret", .read), try File(tree + "/below/other", .read))
        try Directory.remove(tree) { ["secret", "link"].contains($0) }
        #expect(try secret.read(1 << 20) == [UInt8](repeating: 0, count: 300_000))
        #expect(try other.read(9) == Array("other".utf8))
        for name in ["named", "behind"] { #expect(try File(directory.path + "/" + name, .read).read(9) == Array(name.utf8)) }
        #expect(try Directory.ownStatus(tree) == nil)
    }

    @Test("of a directory's files takes no directory, and nothing through a link")
    func files() throws {
        try make(directory.path + "/own/1.new")
        try make(directory.path + "/own/2.new/kept")
        #expect(throws: StorageError.self) {
            try Directory.removeFiles(in: directory.path + "/own", overwriting: false) { $0.hasSuffix(".new") }
        }
        #expect(try Directory.names(directory.path + "/own") == ["2.new"])
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/link", withDestinationPath: directory.path + "/own/2.new")
        #expect(throws: StorageError.self) { try Directory.removeFiles(in: directory.path + "/link", overwriting: false) { _ in true } }
        #expect(try Directory.names(directory.path + "/own/2.new") == ["kept"])
    }

    @Test("that were left behind takes none of another user", .enabled(if: getuid() == 0, "only root can give a directory away"))
    func others() throws {
        let names = ["10c0ffee10c0ffee", "20c0ffee20c0ffee"].map { directory.path + "/made-" + $0 }
        for name in names { try make(name + "/file") }
        let code = unsafe chown(names[0], 12_345, 12_345)
        #expect(code == 0)
        try OwnedDirectory.sweep(directory.path + "/made-")
        #expect(try Directory.names(directory.path) == ["made-10c0ffee10c0ffee"])
        // Root looks after what is another user's in that user's own place.
        let given = unsafe chown(directory.path, 12_345, 12_345)
        #expect(given == 0)
        try OwnedDirectory.sweep(directory.path + "/made-")
        #expect(try Directory.names(directory.path).isEmpty)
    }
}
