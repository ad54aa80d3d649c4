import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A replica whose process is killed", .serialized)
struct ReplicaCrashTests {
    @Test("kill -9 at any moment leaves what the original was at some time, while that gets appends and backups; then it goes on")
    func killed() throws {
        let orders = try Orders(count: 200)
        let (copies, standby) = (orders.directory.path + "/copies", orders.directory.path + "/standby")
        var random = SeededGenerator.announced()
        var (count, kills, ends) = (200, 0, Set<Int>())
        try orders.program.must("backup", copies, "--keep", "2")
        for round in 0 ..< 30 {
            let following = try orders.program.start(["--store", standby, "follow", "--from", copies, "--every", "1ms"])
            let more = Int.random(in: 1 ... 400, using: &random)
            try orders.program.must("import", "-", "--as", "v1", input: Orders.lines(count ..< count + more))
            count += more
            if round == 12 { try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas) }
            let backup = try orders.program.start(["backup", copies, "--keep", "2"])
            // From before the backup is there until long after it was taken in.
            if following.isRunning(after: Int32.random(in: 0 ... 250, using: &random)) { kills += 1 }
            following.send(signal: SIGKILL)
            _ = try following.wait()
            #expect(try backup.wait().exit == 0)
            guard FileManager.default.fileExists(atPath: standby) else { continue }
            let lines = try orders.program.must("export", "--store", standby).lines
            #expect(try lines == Array(orders.program.must("export").lines.prefix(lines.count)))
            try orders.program.must("verify", "--deep", "--store", standby)
            ends.insert(lines.count)
        }
        #expect(kills == 30 && ends.count > 3, "\(kills) kills, \(ends.sorted())")
        try orders.program.must("--store", standby, "follow", "--from", copies, "--once")
        #expect(try orders.program.must("export", "--store", standby).lines == orders.program.must("export").lines)
        try orders.program.must("verify", "--deep", "--store", standby)
        try orders.program.must("query", "orders", "--count", "--at", "v5", "--store", standby)
        try orders.program.must("promote", "--store", standby)
        try orders.program.must("append", "order-new", "OrderPlaced", Orders.v5Payload("new"), "--store", standby)
        try orders.program.must("verify", "--deep", "--store", standby)
    }
}
