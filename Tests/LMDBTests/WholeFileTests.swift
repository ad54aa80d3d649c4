import EvstoreTesting
import Foundation
import Platform
import Testing

@Suite("A file that is under its name whole or not at all")
struct WholeFileTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try Directory.create(directory.path + "/own")
    }

    private var path: String { directory.path + "/own/a" }
    private func names() throws -> [String] { try Directory.names(directory.path + "/own") }
    private func bytes() throws -> [UInt8] { try File(path, .read).read(1 << 20) }

    @Test(
        "replaces what has the name, and what a killed process has left under the other name",
        arguments: [WholeFile.Sync.nothing, .contents, .contentsAndName])
    func replaced(sync: WholeFile.Sync) throws {
        try WholeFile.write([1], to: path, sync)
        #expect(try bytes() == [1] && names() == ["a"])
        try File(path + ".new", .createNew).write([9, 9, 9])
        try WholeFile.write([2], to: path, sync)
        #expect(try bytes() == [2] && names() == ["a"])
        try WholeFile.write([3], to: path, under: path + ".other", sync)
        #expect(try bytes() == [3] && names() == ["a"])
    }

    @Test("leaves what was there where it fails, and nothing under the other name")
    func failed() throws {
        try Directory.create(path)
        try File(path + "/b", .createNew).write([1])
        #expect(throws: StorageError.self) { try WholeFile.write([2], to: path) }
        #expect(try names() == ["a"] && Directory.names(path) == ["b"])
        // A directory has the other name: it is not removed.
        try Directory.create(directory.path + "/own/c.new")
        #expect(throws: StorageError.self) { try WholeFile.write([2], to: directory.path + "/own/c") }
        #expect(try names() == ["a", "c.new"])
    }

    @Test("where others may begin the same one, removes what killed processes have left, and nothing else")
    func amongOthers() throws {
        let living = try WholeFile(amongOthers: path)
        try living.file.write([1])
        for name in ["a.1234567890abcdef", "a.fedcba0987654321"] { try File("\(directory.path)/own/\(name)", .createNew).write([9]) }
        for name in ["a.new", "a.1234", "b.1234567890abcdef", "a.1234567890ABCDEF"] {
            try File("\(directory.path)/own/\(name)", .createNew).write([9])
        }
        let other = try WholeFile(amongOthers: path)
        try other.file.write([2])
        let stays = ["a.new", "a.1234", "b.1234567890abcdef", "a.1234567890ABCDEF"]
        let own = [living, other].map { Directory.name(of: $0.file.path) }
        #expect(try Set(names()) == Set(stays + own))
        try living.replace()
        try other.replace()
        #expect(try bytes() == [2] && Set(names()) == Set(stays + ["a"]))
    }

    @Test("is added where nothing has the name: of several that come at once, one is, and all of it")
    func added() throws {
        let path = path
        let added = Monitor<[UInt8]>([])
        try inParallel(8) { number in
            let made = try WholeFile(amongOthers: path)
            try made.file.write([UInt8](repeating: UInt8(number), count: 100_000))
            if try made.add() { added.withLock { $0.append(UInt8(number)) } }
        }
        let one = try #require(added.withLock { $0 }.first)
        #expect(added.withLock { $0 } == [one])
        #expect(try bytes() == [UInt8](repeating: one, count: 100_000) && names() == ["a"])
        // A link that leads nowhere has the name, too.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "-nowhere")
        #expect(try !WholeFile(path).add())
        #expect(try names() == ["a"])
    }

    @Test("is added with an empty file before it where there are no hard links, but not where something has the name")
    func addedWithoutLinks() throws {
        let made = try WholeFile(path)
        try made.file.write([1])
        #expect(try made.replaceOwn() && bytes() == [1] && names() == ["a"])
        #expect(try !WholeFile(path).replaceOwn())
        #expect(try bytes() == [1] && names() == ["a", "a.new"])
    }

    @Test("has the mode that it is made with or given")
    func mode() throws {
        let made = try WholeFile(path, mode: 0o700)
        #expect(try made.file.status().mode == 0o700)
        try made.file.set(mode: 0o400)
        try made.replace()
        #expect(try Directory.status(path)?.mode == 0o400)
    }
}
