import EvstoreTesting
import Foundation
import Testing
import Torturing

@Suite("A disk that keeps other bytes than it was given")
struct BackupFaultTests {
    @Test("makes a run of a backup fail, which does not count, and the run before it is restored", arguments: [".new", ".evf"])
    func altered(file: String) throws {
        let orders = try Orders(count: 30)
        defer { try? orders.remove() }
        let (copies, again) = (orders.directory.appending(path: "copies").path, orders.directory.appending(path: "again").path)
        try orders.mustSucceed("backup", copies)
        try orders.mustSucceed("import", "-", "--as", "v1", input: Orders.lines(30 ..< 60))
        var disk = FaultyDisk(root: orders.directory.path)
        (disk.fault, disk.calls, disk.file) = (DiskFault(.alter, at: 1), "write", file)
        var faulty = orders.program
        faulty.environment.merge(try disk.environment) { $1 }
        let outcome = try faulty.run(["backup", copies])
        #expect(outcome.exit == 7 && outcome.errors.contains("restored"), "\(outcome.exit) \(outcome.errors)")
        try orders.mustSucceed("restore", copies, "--into", again)
        #expect(try orders.mustSucceed("export", "--store", again).lines.count == 30)
        try orders.mustSucceed("backup", copies)
    }
}
