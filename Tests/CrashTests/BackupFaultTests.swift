import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("A disk that keeps other bytes than it was given")
struct BackupFaultTests {
    @Test("makes a run of a backup fail, which does not count, and the run before it is restored", arguments: [".new", ".evf"])
    func altered(file: String) throws {
        let orders = try Orders(count: 30)
        let (copies, again) = (orders.directory.path + "/copies", orders.directory.path + "/again")
        try orders.program.must("backup", copies)
        try orders.program.must("import", "-", "--as", "v1", input: Orders.lines(30 ..< 60))
        let outcome = try orders.program.withFault(DiskFault(.alter, at: 1), at: "write", of: file).run(["backup", copies])
        #expect(outcome.exit == 7 && outcome.errors.contains("restored"), "\(outcome.exit) \(outcome.errors)")
        try orders.program.must("restore", copies, "--into", again)
        #expect(try orders.program.must("export", "--store", again).lines.count == 30)
        try orders.program.must("backup", copies)
    }
}
