import EvstoreTesting
import Foundation
import Testing
import Torturing

@Suite("Keys of streams on a disk that fails", .serialized)
struct SubjectFaultTests {
    private let directory: URL
    private let program: BuiltProgram

    /// A sealed store whose persons have names that can be forgotten.
    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "evstore-crash-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory.appending(path: "schemas"), withIntermediateDirectories: true)
        program = BuiltProgram(
            environment: ["EVSTORE_STORE": directory.appending(path: "store").path, "CREDENTIALS_DIRECTORY": directory.path])
        let version = """
            evstore: 1
            version: 1
            events:
              Joined: {stream: "person-{/id}", required: [id, name], properties: {id: {type: string}, name: {type: string, personal: true}}}
            """
        try version.write(to: directory.appending(path: "schemas/v1.yaml"), atomically: true, encoding: .utf8)
        let key = directory.appending(path: "evstore-key")
        try String(repeating: "4d", count: 32).write(to: key, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
        try must("init", "--schemas", directory.appending(path: "schemas").path)
    }

    private func remove() throws { try FileManager.default.removeItem(at: directory) }

    private func append(_ person: Int) -> [String] {
        ["append", "person-\(person)", "Joined", #"{"id":"\#(person)","name":"Ada"}"#]
    }

    private var subjects: String { directory.appending(path: "store/subjects").path }

    private func size() throws -> Int? { try FileManager.default.attributesOfItem(atPath: subjects)[.size] as? Int }

    /// A program whose `nth` such call on the file of subjects goes wrong.
    private func faulty(_ deed: DiskFault.Deed, _ call: String, _ nth: Int) throws -> BuiltProgram {
        var disk = FaultyDisk(root: FileManager.default.temporaryDirectory.path)
        (disk.fault, disk.calls, disk.file) = (DiskFault(deed, at: nth), call, "/subjects")
        var faulty = program
        faulty.environment.merge(try disk.environment) { $1 }
        return faulty
    }

    @discardableResult
    private func must(_ arguments: String...) throws -> BuiltProgram.Outcome {
        let outcome = try program.run(arguments)
        try #require(outcome.exit == 0, "\(arguments): \(outcome.errors)")
        return outcome
    }

    /// What a sync that failed has left reads as if it were on the disk: whoever goes on from there writes it once more.
    private func isWrittenAgain(_ arguments: [String], _ nth: Int = 1) throws {
        let outcome = try faulty(.fail, "write", nth).run(arguments)
        #expect(outcome.exit == 1 && outcome.errors.contains("writing"), "\(arguments): \(outcome.exit) \(outcome.errors)")
    }

    @Test("an append is refused whose new key could not be synced, and nothing of it is there")
    func newSlot() throws {
        defer { try? remove() }
        // The head of a new file, then the slot.
        for nth in 1 ... 2 {
            let outcome = try faulty(.fail, "sync", nth).run(append(1))
            #expect(outcome.exit == 1 && outcome.errors.contains("syncing"), "sync \(nth): \(outcome.exit) \(outcome.errors)")
            #expect(try must("export").lines.isEmpty)
            try isWrittenAgain(append(1), nth == 1 ? 2 : 1)
        }
        #expect(try program.run(append(1)).exit == 0)
        #expect(try must("verify", "--deep").exit == 0)
    }

    @Test("a key that another process was killed before it synced is synced by who believes it, and not believed where that fails")
    func learned() throws {
        defer { try? remove() }
        #expect(try faulty(.kill, "sync", 2).run(append(1)).signal == SIGKILL)
        #expect(try size() == 256, "the slot was written")
        let outcome = try faulty(.fail, "sync", 1).run(append(1))
        #expect(outcome.exit == 1 && outcome.errors.contains("syncing"), "\(outcome.exit) \(outcome.errors)")
        try isWrittenAgain(append(1))
        #expect(try program.run(append(1)).exit == 0)
        #expect(try must("verify", "--deep").exit == 0)
        #expect(try size() == 256, "it has the key that was there")
    }

    @Test(
        "a forget that is ended anywhere, or whose slot is torn, leaves the person or nothing of it, and said again it is done",
        arguments: [DiskFault.Deed.kill, .tear, .fail])
    func forget(deed: DiskFault.Deed) throws {
        defer { try? remove() }
        for call in deed == .tear ? ["write"] : ["write", "sync"] {
            for person in 1 ... 2 { #expect(try program.run(append(person)).exit == 0) }
            // The first ones are of what other processes have added.
            let outcome = try faulty(deed, call, 2).run(["forget", "person-1", "--for-good"])
            #expect(deed == .fail ? outcome.exit == 1 : outcome.signal == SIGKILL, "\(call): \(outcome.exit) \(outcome.errors)")
            let read = try program.run(["read", "person-1"])
            #expect(read.exit == 0 || deed == .tear && read.exit == 7 && read.errors.contains("person-1"), "\(call): \(read.errors)")
            if call == "sync" { try isWrittenAgain(["forget", "person-1", "--for-good"], 2) }
            try must("forget", "person-1", "--for-good")
            #expect(try !must("read", "person-1").output.contains("Ada") && must("read", "person-2").output.contains("Ada"))
            #expect(try must("verify", "--deep").exit == 0)
        }
    }
}
