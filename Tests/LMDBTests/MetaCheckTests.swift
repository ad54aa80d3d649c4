import Bytes
import EvstoreTesting
import Foundation
import Platform
import Synchronization
import Testing

@testable import LMDB

@Suite("The check before a file is mapped")
struct MetaCheckTests {
    @Test("finds nothing missing of a file that grows meanwhile")
    func growing() throws {
        let directory = try TemporaryDirectory()
        let environment = try directory.environment(mapBytes: 1 << 28)
        defer { environment.close() }
        try environment.setSyncing(false)
        let table = try environment.table("a")
        let isDone = Atomic(false)
        let looks = Mutex((count: 0, failure: (any Error)?.none))
        let looker = Thread {
            while !isDone.load(ordering: .relaxed) {
                do {
                    try MetaCheck.check(File(directory.path + "/data.mdb", .read))
                    looks.withLock { $0.count += 1 }
                } catch { looks.withLock { $0.failure = $0.failure ?? error } }
            }
            isDone.store(false, ordering: .relaxed)
        }
        looker.start()
        for number in 0 ..< 8_000 {
            try environment.write { try $0.put(table, Array("\(number)".utf8).lent, [UInt8](repeating: 1, count: 9_000).lent) }
        }
        isDone.store(true, ordering: .relaxed)
        while isDone.load(ordering: .relaxed) { usleep(1_000) }
        let (count, failure) = looks.withLock { $0 }
        #expect(count > 0 && failure == nil, "\(count) looks: \(String(describing: failure))")
    }
}
