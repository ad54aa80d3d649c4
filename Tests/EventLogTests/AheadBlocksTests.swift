import Bytes
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LMDB

@Suite("Events that LMDB does not have yet")
struct AheadBlocksTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let quick = Options.small { $0.appendInPlaceLimit = .seconds(600) }

    private static func isAhead(_ log: EventLog) throws -> Bool { try log.access.environment.read { $0.ahead != nil } }

    /// Appends until an event is ahead of LMDB: on a slow machine appends may not follow each other quickly enough.
    private func goAhead(_ log: EventLog) async throws {
        for _ in 0 ..< 500 {
            try await log.add(event("quick"))
            if try Self.isAhead(log) { return }
        }
        Issue.record("no append was written ahead")
    }

    /// A copy of the store as a kill leaves it: nothing is closed.
    private func killed(_ name: String) throws -> String {
        let copy = directory.path + "/" + name
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        return copy
    }

    @Test("every way of reading finds them, and LMDB has them after a pause")
    func read() async throws {
        let log = try makeLog(directory, Self.quick)
        var (attempt, isAhead) = (0, false)
        repeat {
            attempt += 1
            try await goAhead(log)
            try await log.add(event("a\(attempt)", "1"), event("a\(attempt)", "2", id: "given\(attempt)"))
            // On a slow machine there is a pause before it, in which LMDB takes what is ahead.
            isAhead = try Self.isAhead(log)
        } while !isAhead && attempt < 50
        #expect(isAhead, "no append stayed ahead for a moment")
        let (a, last) = ("a\(attempt)", try log.read { $0.last.position })
        #expect(try log.payloads(a) == ["1", "2"] && log.payloads(a, from: 9, backwards: true) == ["2", "1"])
        #expect(try log.read { try $0.position(of: EventID("given\(attempt)")) } == last)
        #expect(try log.read { try $0.head(of: StreamName(a))?.position } == last)
        #expect(try log.everything().count == Int(last.rawValue))
        #expect(try log.read { try $0.census().reduce(0) { $0 + $1.count } } == last.rawValue)
        #expect(try log.verify(deep: true).isEmpty)
        let end = Instant.now + .patience
        while try Self.isAhead(log), .now < end { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try !Self.isAhead(log) && log.read { $0.last.position } == last && log.payloads(a) == ["1", "2"])
        try await log.close()
    }

    @Test("they are there after a kill, and after another kill while they are put right")
    func kill() async throws {
        let log = try makeLog(directory, Self.quick)
        try await goAhead(log)
        let all = try log.everything()
        let copy = try killed("copy")
        try await log.close()
        try FileManager.default.copyItem(atPath: copy, toPath: copy + "-2")
        // As a kill before the header says that there is nothing more.
        let header = try File(copy + WriteAhead.fileName, .read).read(WriteAhead.Header.bytes)
        try await EventLog.open(at: copy, options: .small()).close()
        try File(copy + WriteAhead.fileName, .write).write(header)
        for path in [copy, copy + "-2"] {
            let again = try EventLog.open(at: path, options: .small())
            #expect(try again.everything() == all && again.verify(deep: true).isEmpty)
            try await again.add(event("more"))
            #expect(try again.everything().count == all.count + 1)
            try await again.close()
        }
    }

    @Test("an entry that was changed, its checksum too, is damage or the end of the log, and nothing worse")
    func forged() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed, "ahead", 1)
        let log = try makeLog(directory, Self.quick)
        try await goAhead(log)
        for number in 0 ..< 6 { try await log.add(event("s-\(number % 2)", "\(number)")) }
        let all = try log.everything()
        let copy = try killed("copy")
        try await log.close()
        let whole = try File(copy + WriteAhead.fileName, .read).read(WriteAhead.fileBytes)
        for number in 0 ..< 80 {
            let path = directory.path + "/forged-\(number)"
            try FileManager.default.copyItem(atPath: copy, toPath: path)
            var (file, places, place) = (whole, [(Int, Int)](), WriteAhead.entriesStart)
            while let entry = WriteAhead.Entry(file.lent.slice(place, file.count - place)) {
                places.append((place, entry.byteCount))
                place += entry.pagesBytes
            }
            let (start, count) = try #require(places.randomElement(using: &random))
            let end = count - 8
            // Half of them in the header.
            let most = Bool.random(using: &random) ? WriteAhead.Entry.headerBytes : end
            file[start + .random(in: 0 ..< most, using: &random)] = .random(in: 0 ... 255, using: &random)
            let sum = bytes(checksum(file.lent.slice(start, end)))
            file.replaceSubrange(start + end ..< start + count, with: sum)
            try File(path + WriteAhead.fileName, .write).write(file)
            do {
                let opened = try EventLog.open(at: path, options: .small())
                #expect(try opened.everything() == all || !opened.verify(deep: true).isEmpty, "seed \(seed)")
                try await opened.close()
            } catch is EvstoreError {}
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test("once a sync has failed, no turn writes, also none that continues another, until all have closed the log")
    func failed() async throws {
        let log = try makeLog(directory, Self.quick)
        try await goAhead(log)
        let all = try log.everything()
        log.access.ahead?.words?.fail()
        for _ in 0 ..< 8 {
            await #expect { try await log.add(event("a")) } throws: { ($0 as? EvstoreError)?.code == "ioFailure" }
        }
        #expect(try log.everything() == all)
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        try await again.add(event("a"))
        #expect(try again.everything().count == all.count + 1 && again.verify(deep: true).isEmpty)
        try await again.close()
    }

    @Test("a commit of LMDB that may not be durable is made so before anything is built on it")
    func durable() async throws {
        let log = try makeLog(directory, Self.quick)
        try await goAhead(log)
        let words = try #require(log.access.ahead?.words)
        // Looked up first: on a slow machine what follows is a pause, in which LMDB commits what is ahead.
        let before = try log.access.environment.lastTransaction
        // As it is where the process that made the commit was killed before it could say so.
        words.durableTransaction = 0
        try await Task.sleep(for: .milliseconds(30))
        try await log.add(event("a"))
        let after = try log.access.environment.lastTransaction
        #expect(after > before && words.durableTransaction == after)
        try await log.close()
    }

    @Test("an entry behind the end, whose writer was killed before it acknowledged it, is taken over by the next writer")
    func takeover() async throws {
        let log = try makeLog(directory, Self.quick)
        for attempt in 0 ..< 50 {
            let stream = "late\(attempt)"
            try await goAhead(log)
            let (words, last) = (try #require(log.access.ahead?.words), try log.read { $0.last })
            let transaction = try log.access.environment.lastTransaction
            try await log.add(event(stream, "1"))
            // As the kill leaves it, seen by a process that has not looked since.
            words.acknowledge(last)
            let inFile = try log.access.environment.write { Checkpoint(epoch: last.epoch, position: try Blocks.last($0.reads, log.access)) }
            log.access.ahead?.restart(inFile)
            try await Task.sleep(for: .milliseconds(30))
            let seen = (events: try log.payloads(stream), last: try log.read { $0.last })
            // On a slow machine that was a pause, in which LMDB takes what is ahead.
            if try log.access.environment.lastTransaction != transaction { continue }
            #expect(seen.events.isEmpty && seen.last == last)
            await #expect(throws: EvstoreError.self) {
                try await log.add(event(stream, "2"), conditions: [StreamCondition(StreamName(stream), .noStream)])
            }
            #expect(try log.payloads(stream) == ["1"])
            return try await log.close()
        }
        Issue.record("no entry stayed ahead for a moment")
    }

    @Test("random appends, updates, cuts, pauses and kills leave what a plain list says", arguments: 1 ... 6 as ClosedRange<UInt64>)
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed, "ahead", 0)
        var options = Self.quick
        options.sweepForcedEvents = [40, 100_000].randomElement(using: &random) ?? 40
        var log = try makeLog(directory, options)
        var (expected, path) = ([String](), directory.store)
        for step in 0 ..< 120 {
            switch Int.random(in: 0 ..< 40, using: &random) {
            case 0:
                let kept = Int.random(in: max(0, expected.count - 5) ... expected.count, using: &random)
                try await log.update { try $0.cut(to: Position(UInt64(kept))) }
                expected.removeLast(expected.count - kept)
            case 1: try await log.update { try $0.put(Catalogue.notes, [UInt8(step)], [1]) }
            case 2: try await Task.sleep(for: .milliseconds(250))
            case 3:
                try await log.close()
                log = try EventLog.open(at: path, options: options)
            case 4:
                let copy = directory.path + "/copy-\(step)"
                try FileManager.default.copyItem(atPath: path, toPath: copy)
                try await log.close()
                (log, path) = (try EventLog.open(at: copy, options: options), copy)
            default:
                let size = [3, 300, 20_000, 90_000][[0, 0, 0, 1, 1, 1, 2, 2, 3].randomElement(using: &random) ?? 0]
                let events = try (0 ..< Int.random(in: 1 ... 3, using: &random)).map { number in
                    try event("s-\(step % 7)", "\(step).\(number)" + String(repeating: "x", count: size), type: "type-\(step / 40)")
                }
                _ = try await log.append(AppendRequest(events: events, conditions: []))
                expected += events.map { "\($0.stream.text) \(String(decoding: $0.payload, as: UTF8.self))" }
            }
            guard step % 20 == 0 else { continue }
            let found = try log.read { reader -> [String] in
                var found: [String] = []
                try reader.blocks(from: Position(1)) { block in
                    for index in block.indices {
                        let record = block.record(index)
                        found.append("\(try reader.name(ofStream: record.streamID).text) \(text(record.payload))")
                    }
                    return true
                }
                return found
            }
            #expect(found == expected, "seed \(seed), step \(step)")
        }
        #expect(try log.verify(deep: true).isEmpty, "seed \(seed)")
        try await log.close()
    }
}

@Suite("Readers beside a writer who moves what is ahead")
struct AheadReadersTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("a transaction that was begun before LMDB took what is ahead takes nothing back from who writes", arguments: [false, true])
    func slow(isCut: Bool) async throws {
        let log = try makeLog(directory, .small { $0.appendInPlaceLimit = .seconds(600) })
        let ahead = try #require(log.access.ahead)
        func goAhead() async throws {
            for _ in 0 ..< 500 {
                try await log.add(event("a"))
                if try log.access.environment.read({ $0.ahead != nil }) { return }
            }
            Issue.record("no append was written ahead")
        }
        try await goAhead()
        for _ in 0 ..< 600 { try await log.add(event("a")) }
        try await goAhead()
        let end = try ahead.end()
        let (hasBegun, goesOn, isEarly) = (Monitor(false), Monitor(false), Monitor<Bool?>(nil))
        let reader = try WorkerThread.start("reader") {
            do {
                var old = try log.access.environment.beginRead()
                // As it is before that is looked up, where the thread is held up for as long as the rest takes.
                old.ahead = nil
                hasBegun.change { $0 = true }
                _ = goesOn.wait(milliseconds: Patience.seconds * 1_000) { $0 }
                let answer = try ahead.rows(upTo: end, old)
                if case .begunTooEarly = answer { isEarly.withLock { $0 = true } }
            } catch { Issue.record(error) }
        }
        #expect(hasBegun.wait(milliseconds: Patience.seconds * 1_000) { $0 })
        try await log.update { if isCut { try $0.cut(to: Position(1)) } else { try $0.put(Catalogue.notes, [1], [1]) } }
        try await goAhead()
        let last = try log.read { $0.last }
        let place = ahead.walk(behind: last)
        goesOn.change { $0 = true }
        reader.join()
        #expect(isEarly.withLock { $0 } == true)
        let after = ahead.walk(behind: last)
        #expect(place?.offset == after?.offset && place?.pass == after?.pass && place != nil)
        try await log.add(event("a"))
        #expect(try log.everything().count == Int(last.position.rawValue) + 1)
        try await log.close()
    }

    @Test("readers on many threads see every acknowledged event while the file is written from the front again and again")
    func beside() async throws {
        let log = try makeLog(directory, .small { $0.appendInPlaceLimit = .seconds(600) })
        let (isDone, acknowledged, findings) = (Monitor(false), Monitor(0 as UInt64), Monitor<[String]>([]))
        // Threads of their own: the tasks of other tests would wait for these.
        let readers = try (0 ..< 3).map { _ in
            try WorkerThread.start("reader") {
                while !isDone.withLock({ $0 }) {
                    let least = acknowledged.withLock { $0 }
                    do {
                        let (last, isThere) = try log.read { reader in
                            (reader.last.position, try reader.record(at: reader.last.position) { $0.position == reader.last.position })
                        }
                        let isWhole = last.rawValue >= least && (last == .start || isThere == true)
                        if !isWhole { findings.withLock { $0.append("\(last) of \(least)") } }
                    } catch { findings.withLock { $0.append("\(error)") } }
                }
            }
        }
        let payload = "\"" + String(repeating: "x", count: 60_000) + "\""
        for number in 1 ... 400 {
            try await log.add(event("s-\(number % 5)", number % 3 == 0 ? payload : "{}"))
            acknowledged.withLock { $0 = UInt64(number) }
            if number % 37 == 0 { try await log.update { try $0.put(Catalogue.notes, [UInt8(number % 251)], [1]) } }
        }
        isDone.change { $0 = true }
        for reader in readers { reader.join() }
        #expect(findings.withLock { $0 } == [])
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        #expect(try again.everything().count == 400 && again.verify(deep: true).isEmpty)
        try await again.close()
    }
}
