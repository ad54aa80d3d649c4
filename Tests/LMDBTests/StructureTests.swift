import Bytes
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@Suite("The structure of a file")
struct StructureTests {
    let directory: TemporaryDirectory
    private var data: String { directory.path + "/data.mdb" }
    private let tables = ["a": false, "b": true]

    init() throws { directory = try TemporaryDirectory() }

    private func check() throws -> StructureReport { try StructuralCheck.run(File(data, .read), tables: tables) }

    private func environment() throws -> Environment { try directory.environment { $0.integerKeyTables = ["b"] } }

    /// Two tables of three levels or two, data with pages of its own, and a free list.
    private func fill() throws {
        let environment = try environment()
        defer { environment.close() }
        let (a, b) = (try environment.table("a"), try environment.table("b"))
        let reader = try environment.pin()
        for round in 0 ..< 6 as Range<UInt64> {
            try environment.write { transaction in
                for key in 0 ..< 300 as Range<UInt64> {
                    let text = Array("key-\((key &* 7919) % 1_000)-\(round % 3)".utf8)
                    try transaction.put(a, text.lent, [UInt8](repeating: 1, count: Int(key % 50) * 20).lent)
                    try transaction.put(
                        b, integer(round * 1_000 + key).lent, [UInt8](repeating: 2, count: key % 15 == 0 ? 9_000 : 100).lent)
                }
                if round > 3 { for key in 0 ..< 150 as Range<UInt64> { try transaction.delete(b, integer(key).lent) } }
            }
        }
        withExtendedLifetime(reader) {}
    }

    private func integer(_ value: UInt64) -> [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

    @Test("is sound after any walk of writes, and every entry and page is counted")
    func sound() throws {
        var random = SeededGenerator.announced()
        let environment = try environment()
        defer { environment.close() }
        let (a, b) = (try environment.table("a"), try environment.table("b"))
        for _ in 0 ..< 40 {
            // A commit that a reader keeps has pages that can't be used again yet.
            let reader = Bool.random(using: &random) ? try environment.pin() : nil
            try environment.write { transaction in
                for _ in 0 ..< Int.random(in: 1 ... 200, using: &random) {
                    let key = UInt64.random(in: 0 ..< 800, using: &random)
                    let value = [UInt8](repeating: 3, count: Int.random(in: 0 ... 200, using: &random) * (key % 9 == 0 ? 90 : 1))
                    let text = Array(String(repeating: "k", count: Int(key % 90)).utf8) + integer(key)
                    switch Int.random(in: 0 ..< 5, using: &random) {
                    case 0: try transaction.delete(a, text.lent)
                    case 1: try transaction.delete(b, integer(key).lent)
                    case 2: try transaction.put(a, text.lent, value.lent)
                    default: try transaction.put(b, integer(key).lent, value.lent)
                    }
                }
            }
            let report = try check()
            #expect(try environment.read { [try $0.count(a), try $0.count(b)] } == ["a", "b"].map { Int(report.entries[$0] ?? 0) })
            let pages = 2 + report.branchPages + report.leafPages + report.overflowPages + report.freePages + report.lostPages
            #expect(try environment.usage.pages == Int(pages))
            withExtendedLifetime(reader) {}
        }
    }

    @Test("an extreme number anywhere in the meta pages, even in both alike, is damage and never ends the process")
    func extremeMetaPages() throws {
        try fill()
        let sound = try Data(contentsOf: URL(fileURLWithPath: data))
        let extremes: [UInt64] = [0, 1, 2, 3, 0xffff_ffff, 1 << 48, (1 << 48) + 1, 1 << 62, 1 << 63, .max - 1, .max]
        var found = 0
        for offset in stride(from: 0, to: MetaPage.size, by: 8) {
            for number in extremes {
                var bytes = sound
                for page in [0, 4_096] { bytes.replaceSubrange(page + offset ..< page + offset + 8, with: integer(number)) }
                try bytes.write(to: URL(fileURLWithPath: data))
                do { _ = try check() } catch { found += 1 }
                // What goes back to a commit refuses numbers that no commit has.
                let first = try File(data, .write)
                do { try MetaPage(first.read(MetaPage.size), number: 0, in: data).restore(to: first) } catch { found += 1 }
            }
        }
        #expect(found > 200, "\(found) were refused")
    }

    @Test("is sound where a transaction took pages at the end of the file and gave them back")
    func givenBack() throws {
        let environment = try environment()
        defer { environment.close() }
        let (a, b) = (try environment.table("a"), try environment.table("b"))
        for size in [100, 3_000, 20_000] {
            for count in [1, 60, 500] as [UInt64] {
                try environment.write { transaction in
                    for key in 0 ..< count { try transaction.put(b, integer(key).lent, [UInt8](repeating: 1, count: size).lent) }
                    for key in 0 ..< count { try transaction.delete(b, integer(key).lent) }
                    try transaction.put(a, integer(count).lent, [UInt8](repeating: 2, count: size).lent)
                }
                _ = try check()
                try directory.environment { $0.integerKeyTables = ["b"] }.close()
            }
        }
    }

    @Test("is told by the rule that it breaks", arguments: Breakage.all)
    func broken(_ breakage: Breakage) throws {
        try fill()
        let sound = try check()
        #expect(sound.branchPages > 2 && sound.overflowPages > 0 && sound.freePages > 0)
        var pages = try Pages(data)
        try breakage.apply(&pages)
        try Data(pages.bytes).write(to: URL(fileURLWithPath: data))
        let error = #expect(throws: StructureDamage.self) { _ = try check() }
        #expect(error?.rule == breakage.rule, "\(error?.description ?? "")")
    }

    @Test("is found broken, or can be read by LMDB, whatever bytes are changed")
    func anyBytes() throws {
        var random = SeededGenerator.announced()
        try fill()
        let sound = try Data(contentsOf: URL(fileURLWithPath: data))
        var found = 0
        for _ in 0 ..< 150 {
            var damaged = sound
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &random) {
                // Headers and nodes are what LMDB believes; most other bytes are values.
                let page = Int.random(in: 0 ..< sound.count / 4_096, using: &random) * 4_096
                let offset =
                    Bool.random(using: &random) ? Int.random(in: 0 ..< 64, using: &random) : Int.random(in: 0 ..< 4_096, using: &random)
                damaged[page + offset] ^= 1 << UInt8.random(in: 0 ..< 8, using: &random)
            }
            try damaged.write(to: URL(fileURLWithPath: data))
            do { _ = try check() } catch {
                #expect(error is StructureDamage || (error as? StorageError)?.isDamage == true, "\(error)")
                found += 1
                continue
            }
            let environment = try environment()
            for name in ["a", "b"] { _ = try environment.rows(environment.table(name)) }
            try environment.write { try $0.put(environment.table("a"), [1].lent, [2].lent) }
            environment.close()
        }
        #expect(found > 5)
    }
}
