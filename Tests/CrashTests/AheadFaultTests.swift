import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

/// A store of notes in which a process of `tools/torture` appends, with a promise for each append that has returned.
private struct Scene {
    let directory: TemporaryDirectory
    let store: String
    let acks: String
    static let torture = BuiltProgram("evstore-torture")

    init() throws {
        directory = try TemporaryDirectory()
        (store, acks) = (directory.path + "/scene/store", directory.path + "/scene/acks")
        let prepared = try Self.torture.run("worker", "prepare", "append", directory.path + "/scene")
        try #require(prepared.exit == 0, "\(prepared.errors)")
    }

    func append(_ seed: Int, _ program: BuiltProgram = torture) throws {
        let outcome = try program.run("worker", "run", "append", directory.path + "/scene", "\(seed)")
        #expect(outcome.exit == 0 && outcome.signal == nil, "\(outcome.errors)")
    }

    var promises: [Promise] { get throws { try Promise.all(acks) } }

    /// The numbers of the events that a new process finds, in a log that is sound and goes on.
    func judged() throws -> [Int] {
        struct Finding: Decodable {
            struct Facts: Decodable {
                var refused: String?
                var numbers: [Int]
                var findings: [String]
            }
            var found: Facts
            var goesOn: Bool?
        }
        let outcome = try Self.torture.run("worker", "judge", "append", directory.path + "/scene")
        let finding = try JSONDecoder().decode(Finding.self, from: Data(outcome.output.utf8))
        #expect(finding.found.refused == nil && finding.found.findings.isEmpty && finding.goesOn == true, "\(outcome.output.prefix(300))")
        return finding.found.numbers
    }
}

@Suite("Appends ahead of the log on a disk that fails", .serialized)
struct AheadFaultTests {
    @Test("where the disk fails ahead of the log, what was promised is there and what was refused is not", arguments: Fault.all)
    func failing(fault: Fault) async throws {
        for call in [1, 2, 3, 4, 9, 30] {
            let scene = try Scene()
            let before = try scene.judged().count + 1
            // Another process that has the store open: nobody puts anything right in between.
            let reader = try await EventStore.open(scene.store, readOnly: true, options: .forTests)
            try scene.append(3, fault.program(Scene.torture, nth: call, on: "/log/ahead"))
            try await reader.close()
            let (promises, held) = (try scene.promises, try scene.judged())
            #expect(Promise.broken(promises, by: held).isEmpty, "call \(call)")
            guard fault.error == ENOSPC else { continue }
            // A full disk is a refusal, never an unknown outcome: only what was promised is there.
            #expect(held.count == before + promises.reduce(0) { $0 + $1.count }, "call \(call)")
        }
    }

    @Test(
        "a sync that has failed ahead of the log stops every process until all have closed it",
        arguments: Fault.all.filter { $0.error == EIO })
    func failedSync(fault: Fault) async throws {
        let scene = try Scene()
        let open = try await EventStore.open(scene.store, options: .forTests)
        // On a slow machine appends may not follow each other quickly enough to be written ahead.
        var isStopped = false
        for seed in 1 ... 40 where !isStopped {
            try scene.append(seed, fault.program(Scene.torture, nth: 4, on: "/log/ahead"))
            do { _ = try await open.append([Note.event(seed)]) } catch EvstoreError.ioFailure { isStopped = true }
        }
        #expect(isStopped)
        let promised = try scene.promises
        try scene.append(99)
        #expect(try scene.promises == promised, "nobody writes")
        try await open.close()
        #expect(try Promise.broken(promised, by: scene.judged()).isEmpty)
    }
}
