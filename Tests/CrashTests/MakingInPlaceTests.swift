import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

/// A directory that a store is to be made in, as the mount point of a volume is there and empty.
private struct Volume {
    let directory: TemporaryDirectory
    let program: BuiltProgram

    var path: String { directory.path + "/volume" }

    init() throws {
        directory = try TemporaryDirectory()
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.path + "/volume"])
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

    /// Runs a command at one of whose calls on the disk something happens.
    func run(_ fault: DiskFault, _ words: [String], input: String? = nil) throws -> BuiltProgram.Outcome {
        var disk = FaultyDisk(root: directory.path)
        disk.fault = fault
        var faulty = program
        faulty.environment.merge(try disk.environment) { $1 }
        return try faulty.run(words, input: input)
    }

    /// There is no store, or a whole one; a maker makes one then, and nothing is left of the others.
    func check(_ what: String) throws {
        let status = try program.run("status")
        if status.exit == 0 {
            try program.must("verify", "--deep")
        } else {
            #expect(status.exit == 2 && status.errors.contains("there is no store at"), "\(what): \(status.errors)")
            try program.must("init", "--schemas", Orders.schemas, "--at", "v1")
        }
        try program.must("import", "-", "--as", "v1", input: Orders.lines(0 ..< 3))
        try program.must("verify", "--deep")
        let left = try names.filter { $0.hasPrefix(".") }
        #expect(left == [] && !FileManager.default.fileExists(atPath: path + ".new-"), "\(what): \(left)")
    }
}

@Suite("Making a store in a directory that is there", .serialized)
struct MakingInPlaceTests {
    private static let initWords = ["init", "--schemas", Orders.schemas, "--at", "v1"]

    @Test(
        "killed at any call, or failing there, init leaves no store or a whole one, and the next init goes on and clears up",
        arguments: [DiskFault.Deed.kill, .fail])
    func anyCall(deed: DiskFault.Deed) throws {
        var (nth, isMoving) = (1, false)
        while true {
            let volume = try Volume()
            let outcome = try volume.run(DiskFault(deed, at: nth), Self.initWords)
            if deed == .fail { #expect(outcome.signal == nil && [0, 1].contains(outcome.exit), "call \(nth): \(outcome.errors)") }
            let wasMoving = isMoving
            isMoving = try isMoving || !volume.names.allSatisfy { $0.hasPrefix(".new-") }
            if outcome.exit == 1, try !volume.names.contains("evstore.json") {
                #expect(try volume.names == [], "call \(nth): \(outcome.errors)")
            }
            try volume.check("\(deed) at call \(nth)")
            if outcome.exit == 0 { break }
            // Every call of the end, which moves the names up; of what comes before, some.
            nth += isMoving ? wasMoving ? 1 : -6 : 7
        }
        #expect(nth > 20, "init makes more calls than \(nth)")
    }

    @Test("an import of nothing, killed at any call as it takes the new store away again, leaves no store or a whole one")
    func discarded() throws {
        var nth = 1
        while true {
            let volume = try Volume()
            let fault = DiskFault(.kill, at: nth)
            let outcome = try volume.run(fault, ["import", "-", "--as", "v1", "--schemas", Orders.schemas], input: "{}\n")
            if outcome.signal == nil {
                #expect(try outcome.exit == 3 && volume.names == [], "\(outcome.errors)")
                break
            }
            try volume.check("call \(nth)")
            nth += 5
        }
    }

    @Test("what somebody else puts into the directory meanwhile stays, whatever its name")
    func visitors() throws {
        for round in 0 ..< 12 {
            let volume = try Volume()
            let (name, after) = (["anchor", "archive", "drills", "keys", "log"][round % 5], UInt32.random(in: 0 ... 250_000))
            let (made, visitor) = (volume.directory.path + "/visitor", volume.path + "/" + name)
            try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: false)
            try Data("mine".utf8).write(to: URL(filePath: made + "/mine"))
            let maker = try volume.program.start(Self.initWords)
            usleep(after)
            // Not onto what the maker has already.
            let isThere = (try? FileManager.default.moveItem(atPath: made, toPath: visitor)) != nil
            let outcome = try maker.wait()
            // A directory in the place of a file that the maker opens just then is an error of the file system.
            #expect([0, 1, 2].contains(outcome.exit), "\(name) after \(after): \(outcome.errors)")
            if isThere { #expect(FileManager.default.fileExists(atPath: visitor + "/mine"), "\(name) after \(after): \(outcome.errors)") }
        }
    }

    @Test("of several that make a store in one directory at once, one makes it, and the others say that it is there")
    func rivals() throws {
        for _ in 0 ..< 5 {
            let volume = try Volume()
            let makers = try (0 ..< 4).map { _ in try volume.program.start(Self.initWords) }
            let exits = try makers.map { try $0.wait() }
            #expect(exits.filter { $0.exit == 0 }.count == 1 && exits.allSatisfy { [0, 2].contains($0.exit) }, "\(exits.map(\.errors))")
            try volume.check("rivals")
        }
    }
}
