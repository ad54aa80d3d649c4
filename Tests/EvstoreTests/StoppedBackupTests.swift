import EventModel
import EvstoreTesting
import Foundation
import LogKeeping
import TestSupport
import Testing

@testable import Evstore

@Suite("Work on backups that is cancelled")
struct StoppedBackupTests {
    @Test("ends at its next read, and leaves nothing behind")
    func stopped() async throws {
        let temporary = try await Orders.store(at: 1)
        _ = try await temporary.store.append([try Orders.placed("1", at: 1)])
        let copies = temporary.path + "-copies"
        _ = try await temporary.store.maintenance.backUp(into: copies)
        #expect(try Backup.verify(copies, Job("look")).map(\.damage) == [nil])

        // Cancelled when the first run is announced: its files are not read to their ends any more.
        let job = Job("look")
        let cancelling = job.reporting { _ in job.cancel() }
        #expect(throws: EvstoreError.interrupted(again: "look again")) { try Backup.verify(copies, cancelling) }
        let place = temporary.path + "-restored"
        let restored = RestoredStore(at: place + "/store", to: nil, options: temporary.store.options)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        for isBegun in [false, true] {
            let job = Job("restore")
            if !isBegun { job.cancel() }
            let cancelling = job.reporting { _ in job.cancel() }
            #expect(throws: EvstoreError.interrupted(again: "restore again")) { try Restore.run(from: copies, into: restored, cancelling) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [])
        }
    }
}
