import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Importing from a pipe that stays open")
struct LivePipeTests {
    private static func waitUntil(_ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .patience
        while try !condition() {
            try #require(ContinuousClock.now < end, "it has not come to that in \(Patience.seconds) s")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func lines(_ range: Range<Int>, of tag: String) -> String {
        range.map { ImportTests.line($0, customer: tag) + "\n" }.joined()
    }

    @Test("lines come into the log soon after they were written, however long the inputs of earlier imports were, and none comes twice")
    func quiet() async throws {
        let seed = UInt64.random(in: 0 ... UInt64(UInt32.max))
        var random = SeededGenerator(seed: seed)
        for trial in 0 ..< 2 {
            let temporary = try await ImportTests.store()
            let store = temporary.store
            // Earlier inputs, of which one begins as the pipe does.
            let common = Int.random(in: 0 ... 25, using: &random)
            let earlier = Self.lines(0 ..< common, of: "live") + Self.lines(common ..< 40, of: "earlier")
            for (index, text) in [earlier, Self.lines(0 ..< Int.random(in: 1 ... 60, using: &random), of: "other")].enumerated() {
                let file = try temporary.write(text, to: "earlier-\(index)")
                _ = try await store.importLines(from: .file(file), as: SchemaVersion(1))
            }
            let before = try store.last().position.rawValue
            let pipe = try OpenPipe()
            let importing = Task {
                try await store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
            }
            var written = 0
            for _ in 0 ..< 3 {
                let next = written + Int.random(in: 1 ... 15, using: &random)
                try pipe.writing.write(contentsOf: Data(Self.lines(written ..< next, of: "live").utf8))
                written = next
                if written <= common {
                    // So far these are the earlier input's lines, which are in the log.
                    try await Task.sleep(for: .milliseconds(1_500))
                    try #require(try store.last().position.rawValue == before, "seed \(seed), trial \(trial)")
                } else {
                    // All but those of whole batches of the earlier input are new.
                    try await Self.waitUntil { try store.last().position.rawValue >= before + UInt64(written - common) }
                    try await Self.waitUntil { try store.last().position.rawValue == before + UInt64(written - common / 10 * 10) }
                }
            }
            try pipe.writing.close()
            let report = try await importing.value
            let skipped = written <= common ? written : common / 10 * 10
            #expect((report.read, report.skipped) == (UInt64(written), UInt64(skipped)), "seed \(seed), trial \(trial)")
            let file = try temporary.write(Self.lines(0 ..< written, of: "live"), to: "again")
            let again = try await store.importLines(from: .file(file), as: SchemaVersion(1))
            #expect((again.added, again.skipped) == (0, UInt64(written)), "seed \(seed), trial \(trial)")
        }
    }

    @Test("an import ends where a cut has taken off lines before, and a further one has them all")
    func cut() async throws {
        let temporary = try await ImportTests.store()
        let store = temporary.store
        _ = try await store.takeSnapshot("empty")
        let pipe = try OpenPipe()
        let importing = Task {
            try await store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
        }
        try pipe.writing.write(contentsOf: Data(Self.lines(0 ..< 10, of: "live").utf8))
        try await Self.waitUntil { try store.last().position == Position(10) }
        _ = try await store.rollback(toSnapshot: "empty", discardTail: true)
        try pipe.writing.write(contentsOf: Data(Self.lines(10 ..< 20, of: "live").utf8))
        let ended = await importing.result
        #expect { try ended.get() } throws: { ($0 as? EvstoreError)?.code == "epochChanged" }
        let file = try temporary.write(Self.lines(0 ..< 20, of: "live"), to: "whole")
        #expect(try await store.importLines(from: .file(file), as: SchemaVersion(1)).added == 20)
    }

    @Test("an import goes on where a cut has taken off other events before it appended anything")
    func cutOfOthers() async throws {
        let temporary = try await ImportTests.store()
        let store = temporary.store
        let known = try temporary.write(Self.lines(0 ..< 10, of: "live"), to: "known")
        _ = try await store.importLines(from: .file(known), as: SchemaVersion(1))
        _ = try await store.takeSnapshot("known")
        let other = try temporary.write(Self.lines(0 ..< 3, of: "other"), to: "other")
        _ = try await store.importLines(from: .file(other), as: SchemaVersion(1))
        let pipe = try OpenPipe()
        let importing = Task {
            try await store.importLines(from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1))
        }
        // So far they are the first input's lines, and wait for what follows.
        try pipe.writing.write(contentsOf: Data(Self.lines(0 ..< 5, of: "live").utf8))
        try await Task.sleep(for: .milliseconds(1_500))
        _ = try await store.rollback(toSnapshot: "known", discardTail: true)
        try pipe.writing.write(contentsOf: Data(Self.lines(5 ..< 20, of: "new").utf8))
        try pipe.writing.close()
        #expect(try await importing.value.added == 20)
    }

    @Test("the same lines again through a slow pipe are known, also where some of them are refused or were said to be of another version")
    func slowAgain() async throws {
        let temporary = try await ImportTests.store()
        let good = (0 ..< 9).map { ImportTests.line($0) + "\n" }
        let text = good[..<4].joined() + "nonsense\n" + good[4...].joined()
        let options = ImportOptions(onError: .quarantine)
        let file = try temporary.write(text, to: "first")
        #expect(try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: options).added == 9)
        let pipe = try OpenPipe()
        let importing = Task {
            try await temporary.store.importLines(
                from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1), options: options)
        }
        for line in text.split(separator: "\n").enumerated() {
            try pipe.writing.write(contentsOf: Data((line.element + "\n").utf8))
            try await Task.sleep(for: .milliseconds(line.offset % 3 == 1 ? 1_300 : 20))
        }
        try pipe.writing.close()
        let report = try await importing.value
        #expect((report.added, report.skipped, report.quarantined) == (0, 9, 1))
    }

    /// Imports lines one by one, with a pause behind the first that a reader takes for the writer's last word.
    private func slowly(_ store: EventStore, _ lines: [String], _ options: ImportOptions = .init()) async throws -> ImportReport {
        let pipe = try OpenPipe()
        let importing = Task {
            try await store.importLines(
                from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1), options: options)
        }
        for (number, line) in lines.enumerated() {
            try pipe.writing.write(contentsOf: Data((line + "\n").utf8))
            try await Task.sleep(for: .milliseconds(number == 0 ? 1_300 : 20))
        }
        try pipe.writing.close()
        return try await importing.value
    }

    @Test("a first line that does not tell whether the input is known makes none behind it new", arguments: ["known", "blank", "bad"])
    func silentBeginning(_ kind: String) async throws {
        let temporary = try await ImportTests.store()
        let first = ["known": ImportTests.line(0, eventID: "zero"), "blank": "", "bad": "nonsense"][kind] ?? ""
        let lines = [first] + (1 ..< 5).map { ImportTests.line($0) }
        let options = ImportOptions(onError: .quarantine)
        let file = try temporary.write(lines.map { $0 + "\n" }.joined(), to: "first")
        let added = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: options).added
        #expect(added == (kind == "known" ? 5 : 4))
        for _ in 0 ..< 2 { #expect(try await slowly(temporary.store, lines, options).added == 0) }
        // What goes on otherwise is new.
        #expect(try await slowly(temporary.store, [first, ImportTests.line(7)], options).added == 1)
    }

    @Test("lines of somebody who was forgotten are known again through a slow pipe, and their personal data stays away")
    func forgotten() async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        let lines = (5 ..< 9).map { #"{"stream":"person-\#($0)","type":"Joined","data":{"id":"\#($0)","name":"Grace \#($0)"}}"# }
        let file = try temporary.write(lines.map { $0 + "\n" }.joined(), to: "lines")
        #expect(try await store.importLines(from: .file(file), as: SchemaVersion(1)).added == 4)
        _ = try await store.forget([StreamName("person-5"), StreamName("person-7")])
        #expect(try await slowly(store, lines).added == 0)
        #expect(try store.read(StreamName("person-5")).map(\.json) == [#"{"id":"5","name":""}"#])
        // Another event of the same person is another one.
        let other = lines[0].replacing("}}", with: #","homes":[]}}"#)
        #expect(try await slowly(store, [other] + lines[1...]).added == 4)
    }
}
