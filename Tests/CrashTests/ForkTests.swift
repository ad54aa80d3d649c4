import EventLog
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The forks are made by a program of few threads: the child of this one would have locks whose holders it has not.
@Suite("What is open at a fork")
struct ForkTests {
    private static func lines(_ words: String...) throws -> [String] {
        let outcome = try BuiltProgram.storeWorker.run(words)
        #expect(outcome.exit == 0, "\(outcome.signal ?? 0) \(outcome.errors)")
        return outcome.lines
    }

    @Test("an environment is refused to the child, every use of it")
    func refused() throws {
        let directory = try TemporaryDirectory()
        let lines = try Self.lines("fork-refused", directory.path)
        #expect(lines == Array(repeating: "child: 0", count: 6) + ["rows: 1"])
    }

    @Test("an environment keeps the pages that the parent reads, though the child ends its copy of the transaction")
    func reading() throws {
        let directory = try TemporaryDirectory()
        let lines = try Self.lines("fork-reading", directory.path)
        #expect(lines == ["child: 0", "kept: true", "new: true"])
    }

    @Test("an environment leaves a transaction that is being written to the parent")
    func writing() throws {
        let directory = try TemporaryDirectory()
        let lines = try Self.lines("fork-writing", directory.path)
        #expect(lines == ["child: 0", "rows: 2", "rows: 3"])
    }

    @Test("the child may open an environment anew, and both write")
    func again() throws {
        let directory = try TemporaryDirectory()
        let lines = try Self.lines("fork-again", directory.path)
        #expect(lines == ["child: 0", "rows: 5"])
    }

    @Test("a child that lives on keeps nobody out of the store once the parent has ended")
    func left() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        let child = try pid_t(#require(Self.lines("fork-left", notes.path).first)) ?? 0
        defer { kill(child, SIGKILL) }
        #expect(kill(child, 0) == 0)
        let next = try BuiltProgram.storeWorker.run("note", notes.path, "2")
        #expect(next.exit == 0, "\(next.errors)")
        try StoreLock.presence.acquire(at: notes.path, what: "is alone").release()
    }

    @Test("a store is refused to the child until a program of its own opens it, and the parent notices nothing")
    func store() async throws {
        let notes = try await TemporaryStore.notes()
        let lines = try Self.lines("fork", notes.path)
        #expect(
            lines == [
                "last: misuse", "read: misuse", "append: misuse", "query: misuse", "replay: misuse", "status: misuse", "close: done",
                "child: 0", "parent: 3, held: true",
            ])
        #expect(try notes.store.last().position.rawValue == 3)
        #expect(try await notes.store.maintenance.verify().ok)
    }
}
