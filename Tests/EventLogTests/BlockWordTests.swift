import Bytes
import EventModel
import Hashing
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("Names and ids that a block may hold")
struct BlockWordTests {
    /// A block of one event of each type.
    private func withBlock<R>(of types: [TypeID], _ body: (RawSpan) throws -> R) throws -> R {
        var draft = BlockDraft()
        let commit = BlockDraft.Commit(storeTag: 7, epoch: .first, time: 0)
        draft.begin(at: Position(1), commit)
        for (index, type) in types.enumerated() {
            let events = [try event("s-\(index)", type: "t\(type)")]
            let place = BlockWriter.AssignedFields(type: type, isSameAppend: false, madeID: (1, 2), stream: UInt64(index + 1))
            let isAdded = draft.add(events.span, 0, place, RawSpan())
            #expect(isAdded)
        }
        _ = try draft.complete(commit, after: .zero)
        return try body(draft.text)
    }

    @Test("a block has exactly the types of its list, with numbers that the mask tells apart and with others", arguments: [1, 2, 3])
    func types(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "types", 0)
        for round in 0 ..< rounds(60) {
            let largest: TypeID = [63, 63, 64, 130, .max].randomElement(using: &random) ?? 63
            let low = (1 ... min(largest, 130)).filter { _ in Int.random(in: 0 ..< (round % 20 + 2), using: &random) == 0 }
            let high = largest > 130 ? (0 ..< 3).map { _ in TypeID.random(in: 131 ... largest, using: &random) } : []
            let types = Set(low + high + [round % 7 == 0 ? largest : 1])
            try withBlock(of: types.shuffled(using: &random)) { bytes in
                _ = try BlockView(checking: bytes, at: Position(1), storeTag: 7)
                guard let names = BlockLayout.NamedTypes(bytes, before: Int(bytes.load(UInt32.self, at: 84))) else {
                    Issue.record("seed \(seed): the names of \(types.sorted()) break a rule")
                    return
                }
                for type in Array(0 ... 130) + high + [.max - 1, .max] {
                    let isThere = names.contains(type, bytes)
                    #expect(isThere == types.contains(type), "seed \(seed): \(type) of \(types.sorted())")
                }
            }
        }
    }

    /// Bytes that are often a text, and often nearly one.
    private func bytes(_ random: inout SeededGenerator) -> [UInt8] {
        let letters: [[UInt8]] = ["a", "Z", "0", " ", "~", "é", "日", "😀", "\u{80}", "\u{FFFF}", "\u{7F}", "\n"].map { Array($0.utf8) }
        let common = Bool.random(using: &random) ? letters.prefix(5) : letters.prefix(10)
        var bytes: [UInt8] = []
        let count = Int.random(in: 1 ... 64, using: &random)
        while bytes.count < count { bytes += common.randomElement(using: &random) ?? [] }
        // Cut within a character, too.
        bytes.removeLast(bytes.count - count)
        for _ in 0 ..< ([0, 0, 0, 1, 2].randomElement(using: &random) ?? 0) {
            bytes[.random(in: bytes.indices, using: &random)] = .random(in: 0 ... 255, using: &random)
        }
        return Int.random(in: 0 ..< 8, using: &random) == 0 ? bytes.map { _ in .random(in: 0 ... 255, using: &random) } : bytes
    }

    @Test("bytes are an id in a block exactly where an id can be made of the text that they are", arguments: [1, 2, 3])
    func ids(seed: UInt64) {
        var random = SeededGenerator(seed: seed, "ids", 0)
        var (taken, refused) = (0, 0)
        for _ in 0 ..< rounds(5_000) {
            let bytes = bytes(&random)
            let text = String(validating: bytes, as: UTF8.self)
            var isID = false
            do throws(EvstoreError) {
                if let text { isID = Array(try EventID(text).text.utf8) == bytes }
            } catch {}
            let found = BlockLayout.isID(bytes.lent)
            #expect(found == isID, "seed \(seed): \(bytes)")
            (taken, refused) = isID ? (taken + 1, refused) : (taken, refused + 1)
        }
        #expect(taken > rounds(1_000) && refused > rounds(1_000), "seed \(seed): \(taken) ids, \(refused) others")
    }
}
