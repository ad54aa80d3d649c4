import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("Turns that follow each other")
struct LeaseTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Takes turn after turn, as quick commits do, until one leaves a lease; whether one does. Who is refused waits, as the committer does.
    private func leases(_ log: EventLog) throws -> Bool {
        let environment = log.access.environment
        for _ in 0 ..< 2_000 {
            _ = try environment.takeTurnIfFree(leasing: true) ?? environment.takeTurn(within: .patience, leasing: true)
            if environment.isLeased { return true }
        }
        return false
    }

    @Test("a lease ends by itself soon after the last append")
    func pause() async throws {
        let log = try makeLog(directory, .small { $0.appendInPlaceLimit = .seconds(600) })
        #expect(try leases(log))
        // Whoever commits has it ended.
        try await log.add(event("a"))
        let end = Instant.now + .patience
        while log.access.environment.isLeased, .now < end { try await Task.sleep(for: .milliseconds(1)) }
        #expect(!log.access.environment.isLeased)
        try await log.close()
    }

    @Test("whoever waits for a turn that is leased gets it, however fast the appends follow each other")
    func asked() async throws {
        let log = try makeLog(directory, .small { $0.appendInPlaceLimit = .seconds(600) })
        let (isDone, appended) = (Monitor(false), Monitor(0))
        let appending = Task {
            while !isDone.withLock({ $0 }) {
                try await log.add(event("a"))
                appended.change { $0 += 1 }
            }
        }
        while appended.withLock({ $0 }) < 10 { try await Task.sleep(for: .milliseconds(1)) }
        let environment = log.access.environment
        for _ in 0 ..< 100 {
            let turn = try await environment.takeTurn(within: .patience) { true }
            #expect(turn != nil)
        }
        isDone.change { $0 = true }
        try await appending.value
        // Nobody asks any more: what was asked for is forgotten, and a writer who is alone is quick again.
        #expect(try leases(log))
        try await log.close()
    }

    @Test(
        "what a process that was killed had acknowledged, and a file has lost since, is missed at the next opening",
        arguments: [true, false])
    func lost(isCut: Bool) async throws {
        // On a busy machine no append may be quick enough to be written ahead, or a checkpoint may have moved all entries into LMDB before the
        // copy is made: then nothing is lost with the file.
        for _ in 1 ... 20 {
            let directory = try TemporaryDirectory()
            if try await isMissed(isCut: isCut, in: directory) { return }
        }
        Issue.record("no copy had an entry that only the file held")
    }

    private func isMissed(isCut: Bool, in directory: TemporaryDirectory) async throws -> Bool {
        let log = try makeLog(directory, .small { $0.appendInPlaceLimit = .seconds(600) })
        for _ in 0 ..< 40 { try await log.add(event("a")) }
        // As a kill leaves it: nothing is closed.
        let copy = directory.path + "/copy"
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        try await log.close()
        let whole = directory.path + "/whole"
        try FileManager.default.copyItem(atPath: copy, toPath: whole)
        let opened = try EventLog.open(at: whole, options: .small())
        #expect(try opened.payloads("a").count == 40)
        try await opened.close()
        // The file ends in the last entry, or has none of it.
        if !FileManager.default.fileExists(atPath: copy + WriteAhead.fileName) { return false }
        let ahead = try File(copy + WriteAhead.fileName, .write)
        guard let place = try entries(ahead).last else { return false }
        if isCut { try ahead.truncate(to: place + 100) } else { try ahead.write([UInt8](repeating: 0, count: 4_096), at: place) }
        do {
            let opened = try EventLog.open(at: copy, options: .small())
            #expect(try opened.payloads("a").count == 40)
            try await opened.close()
            return false
        } catch EvstoreError.storeDamaged(_, let reason) {
            #expect(reason.contains("has held 40"))
            return true
        }
    }

    /// Where the entries begin.
    private func entries(_ file: File) throws -> [Int] {
        var places: [Int] = []
        var place = WriteAhead.entriesStart
        while true {
            let bytes = try file.read(WriteAhead.Entry.headerBytes, at: place)
            guard let entry = WriteAhead.Entry(bytes.lent) else { return places }
            places.append(place)
            place += entry.pagesBytes
        }
    }
}
