import EvstoreTesting
import Foundation
import Glibc
import Platform
import Testing

@testable import LMDB

@Suite("Slots of readers in the file of LMDB's locks", .serialized)
struct LockFileSlotsTests {
    private let directory: TemporaryDirectory
    // A table of one slot, as LMDB lays it out; see LockFile.
    private static let (count, slots, process) = unsafe (8 + MemoryLayout<pthread_mutex_t>.size + 8, 128, 8)

    init() throws { directory = try TemporaryDirectory() }

    private func table() throws -> File {
        let file = try File(directory.path + "/lock.mdb", .createNew)
        try file.truncate(to: 4_096)
        try file.write(words(0xBEEF_C0DE, 1 | 1 << 16))
        try file.write(words(1), at: Self.count)
        return file
    }

    private func words(_ words: UInt32...) -> [UInt8] {
        words.flatMap { word in (0 ..< 4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    @Test("a slot that another process frees and a reader then takes is not wiped, whenever that happens")
    func taken() throws {
        let file = try table()
        let (own, reader) = (UInt32(getpid()), UInt32(getpid()) + 1)
        let lockFile = try #require(try LockFile(directory.path))
        let isDone = Monitor(false)
        let place = Self.slots + Self.process
        let clearing = try WorkerThread.start("clearing") {
            while !isDone.withLock({ $0 }) { do throws(StorageError) { try lockFile.freeSlots() } catch { Issue.record(error) } }
        }
        var wiped = 0
        for _ in 0 ..< 20_000 {
            try file.write(words(own), at: place)
            try file.write(words(0), at: place)
            try file.write(words(reader), at: place)
            for _ in 0 ..< 4 where try file.read(4, at: place) != words(reader) { wiped += 1 }
        }
        isDone.withLock { $0 = true }
        clearing.join()
        #expect(wiped == 0)
        try file.write(words(own), at: place)
        try lockFile.freeSlots()
        #expect(try file.read(4, at: place) == words(0))
    }
}
