import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("Keys of streams on a disk that fails", .serialized)
struct SubjectFaultTests {
    private let directory: TemporaryDirectory
    private let program: BuiltProgram

    /// A sealed store whose persons have names that can be forgotten.
    init() throws {
        directory = try TemporaryDirectory()
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store, "CREDENTIALS_DIRECTORY": directory.path])
        try directory.write(SealedPersons.versions[0], to: "schemas/v1.yaml")
        let key = try directory.write(String(repeating: "4d", count: 32), to: "evstore-key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        try program.must("init", "--schemas", directory.path + "/schemas")
    }

    private func append(_ person: Int) -> [String] {
        ["append", "person-\(person)", "Joined", #"{"id":"\#(person)","name":"Ada"}"#]
    }

    private var subjects: String { directory.store + "/subjects" }

    private func size() throws -> Int? { try FileManager.default.attributesOfItem(atPath: subjects)[.size] as? Int }

    /// A program whose `nth` such call on the file of subjects goes wrong.
    private func faulty(_ deed: DiskFault.Deed, _ call: String, _ nth: Int) throws -> BuiltProgram {
        try program.withFault(DiskFault(deed, at: nth), at: call, of: "/subjects")
    }

    /// What a sync that failed has left reads as if it were on the disk: whoever goes on from there writes it once more.
    private func isWrittenAgain(_ arguments: [String], _ nth: Int = 1) throws {
        let outcome = try faulty(.fail, "write", nth).run(arguments)
        #expect(outcome.exit == 1 && outcome.errors.contains("writing"), "\(arguments): \(outcome.exit) \(outcome.errors)")
    }

    @Test("an append is refused whose new key could not be synced, and nothing of it is there")
    func newSlot() throws {
        // The head of a new file, then the slot.
        for nth in 1 ... 2 {
            let outcome = try faulty(.fail, "sync", nth).run(append(1))
            #expect(outcome.exit == 1 && outcome.errors.contains("syncing"), "sync \(nth): \(outcome.exit) \(outcome.errors)")
            #expect(try program.must("export").lines.isEmpty)
            try isWrittenAgain(append(1), nth == 1 ? 2 : 1)
        }
        #expect(try program.run(append(1)).exit == 0)
        #expect(try program.must("verify", "--deep").exit == 0)
    }

    @Test("a key that another process was killed before it synced is synced by who believes it, and not believed where that fails")
    func learned() throws {
        #expect(try faulty(.kill, "sync", 2).run(append(1)).signal == SIGKILL)
        #expect(try size() == 256, "the slot was written")
        let outcome = try faulty(.fail, "sync", 1).run(append(1))
        #expect(outcome.exit == 1 && outcome.errors.contains("syncing"), "\(outcome.exit) \(outcome.errors)")
        try isWrittenAgain(append(1))
        #expect(try program.run(append(1)).exit == 0)
        #expect(try program.must("verify", "--deep").exit == 0)
        #expect(try size() == 256, "it has the key that was there")
    }

    @Test(
        "a forget that is ended anywhere, or whose slot is torn, leaves the person or nothing of it, and said again it is done",
        arguments: [DiskFault.Deed.kill, .tear, .fail])
    func forget(deed: DiskFault.Deed) throws {
        for call in deed == .tear ? ["write"] : ["write", "sync"] {
            for person in 1 ... 2 { #expect(try program.run(append(person)).exit == 0) }
            // The first ones are of what other processes have added.
            let outcome = try faulty(deed, call, 2).run(["forget", "person-1", "--for-good"])
            #expect(deed == .fail ? outcome.exit == 1 : outcome.signal == SIGKILL, "\(call): \(outcome.exit) \(outcome.errors)")
            let read = try program.run(["read", "person-1"])
            #expect(read.exit == 0 || deed == .tear && read.exit == 7 && read.errors.contains("person-1"), "\(call): \(read.errors)")
            if call == "sync" { try isWrittenAgain(["forget", "person-1", "--for-good"], 2) }
            try program.must("forget", "person-1", "--for-good")
            #expect(try !program.must("read", "person-1").output.contains("Ada") && program.must("read", "person-2").output.contains("Ada"))
            #expect(try program.must("verify", "--deep").exit == 0)
        }
    }
}
