import Bytes
import EventModel
import EvstoreTesting
import Hashing
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("A block that is sealed as a whole")
struct WholeBlockTests {
    /// A sealed log of one block, of three events of which one has personal data.
    private func sealed() async throws -> (scene: SealedScene, block: [UInt8]) {
        let scene = try SealedScene()
        var personal = try event("p", #"{"name":"Ada"}"#)
        personal.forgotten = Array(#"{"name":""}"#.utf8)
        _ = try await scene.log.append(
            AppendRequest(events: [try event("a", "1", id: "given"), personal, try event("a", "2", type: "other", metadata: "{}")]))
        var block: [UInt8] = []
        var scan = LogScan(scene.log.access, scene.log.options, after: .start, form: .sealed)
        _ = try scene.log.access.environment.read { transaction in
            try scan.runChunk(transaction) {
                block = [UInt8](copying: $0.bytes)
                return true
            }
        }
        return (scene, block)
    }

    /// Whether the block opens as one, and whether each of its records does.
    private func opens(
        _ block: BlockView, _ access: LogAccess, _ transaction: borrowing ReadTransaction
    ) -> (asOne: Bool, each: [Bool]) {
        let each = (0 ..< block.count).map { index in
            do { return try access.open(block.record(index)) { _ in true } } catch { return false }
        }
        do { return (try access.open(block, transaction) { _ in true }, each) } catch { return (false, each) }
    }

    @Test("opens as one exactly where each of its records does, whichever bit of it was changed", arguments: 0 ..< 8)
    func anyBit(bit: Int) async throws {
        let (scene, whole) = try await sealed()
        let access = scene.log.access
        var opened = 0
        try access.environment.read { transaction in
            for place in whole.indices.dropLast(8) {
                var changed = whole
                changed[place] ^= 1 << UInt8(bit)
                // The checksum is put right, as whoever changes a block can do.
                let sum = bytes(checksum(changed.lent.slice(0, changed.count - 8)))
                changed.replaceSubrange(changed.count - 8 ..< changed.count, with: sum)
                let block: BlockView
                do { block = try BlockView(checking: changed.lent, at: Position(1), storeTag: access.storeID.tag) } catch { continue }
                let found = opens(block, access, transaction)
                #expect(found.each == found.each.map { _ in found.asOne }, "bit \(bit) of byte \(place)")
                // Its envelope covers all but the link and the code, which have checks of their own.
                #expect(found.asOne == ((48 ..< 80).contains(place) || place >= whole.count - 24), "bit \(bit) of byte \(place)")
                opened += 1
            }
        }
        #expect(opened > 200)
        try await scene.log.close()
    }
}
