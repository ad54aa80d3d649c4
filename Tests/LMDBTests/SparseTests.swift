import Bytes
import EvstoreTesting
import Foundation
import Platform
import Testing

@testable import LMDB

@Suite("A file of more pages than there is memory for")
struct SparseTests {
    @Test("is walked with memory for the pages that something is on")
    func sparse() throws {
        let directory = try TemporaryDirectory()
        let environment = try directory.environment()
        let table = try environment.table("a")
        for number in 0 ..< 5 as Range<UInt8> { try environment.write { try $0.put(table, [number].lent, [1].lent) } }
        environment.close()
        let file = try File(directory.path + "/data.mdb", .write)
        // 8 TiB, all of it a hole, which both meta pages call theirs: the last page stands at 136 of each.
        let pages: UInt64 = 1 << 31
        try file.truncate(to: Int(pages) * 4_096)
        for meta in 0 ... 1 { try file.write((0 ..< 8).map { UInt8(truncatingIfNeeded: (pages - 1) >> ($0 * 8)) }, at: meta * 4_096 + 136) }
        let report = try StructuralCheck.run(File(directory.path + "/data.mdb", .read), tables: ["a": false, "b": false])
        #expect(report.lostPages > pages - 100)
    }

    @Test("is a set that takes any number")
    func set() {
        var pages = PageSet()
        for page in [0, 1, 63, 64, 32_767, 32_768, 1 << 40, .max] as [UInt64] {
            #expect(!pages.contains(page) && pages.insert(page) && !pages.insert(page) && pages.contains(page))
        }
        #expect(pages.count == 8 && !pages.contains(2) && !pages.contains(.max - 1))
    }
}
