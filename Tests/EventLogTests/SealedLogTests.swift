import Bytes
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import LMDB
import Platform
import Sealing
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("A log whose events are sealed")
struct SealedLogTests {
    @Test(
        "gives back every part of every event, forwards, backwards, alone and after it was opened again, and none of it lies in its files")
    func whole() async throws {
        let scene = try SealedScene()
        let plain = try TemporaryDirectory()
        let open = try makeLog(plain)
        try await SealedScene.fill(scene.log, 1 ..< 60)
        try await SealedScene.fill(open, 1 ..< 60)
        let parts = try SealedScene.parts(open).map(Self.withoutMadeID)
        #expect(try SealedScene.parts(scene.log).map(Self.withoutMadeID) == parts && parts.count > 60)
        #expect(try scene.log.payloads("s-2") == open.payloads("s-2"))
        #expect(try scene.log.payloads("s-2", from: 1_000, backwards: true) == scene.log.payloads("s-2").reversed())
        #expect(
            try scene.log.read { try $0.record(at: Position(9)) { text($0.payload) } }
                == open.read { try $0.record(at: Position(9)) { text($0.payload) } })
        #expect(try SealedScene.files(under: scene.directory.path, with: SealedScene.canary) == [])
        #expect(try SealedScene.files(under: plain.path, with: SealedScene.canary) != [])
        try await scene.log.close()
        let again = try scene.open("store")
        #expect(try SealedScene.parts(again).map(Self.withoutMadeID) == parts && again.verify(deep: true).isEmpty)
        #expect(try await again.add(event("s-0", id: "id-5")) == .known(again.read { try #require(try $0.position(of: EventID("id-5"))) }))
        try await again.close()
        try await open.close()
    }

    /// Ids that the log makes differ from log to log.
    private static func withoutMadeID(_ line: String) -> String {
        line.split(separator: " ").filter { !($0.count == 36 && $0.contains("-")) }.joined(separator: " ")
    }

    @Test("a key of zeros opens a store that has it, and none is made of it")
    func zeros() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 4)
        try await scene.log.close()
        let (store, zeros) = (scene.directory.store, StoreSecret.key([UInt8](repeating: 0, count: 32)))
        var ring = try KeyRing(opening: KeyFile(#require(try StoreKeys.bytes(at: store))), with: KeySecret(SealedScene.secret))
        _ = try ring.addSlot(KeySecret(zeros), .none, label: "zeros", time: 1)
        try StoreKeys.write(ring.encoded, at: store)
        var options = scene.options
        options.secret = zeros
        try await EventLog.open(at: store, options: options).close()
        #expect(throws: EvstoreError.self) { try EventLog.create(at: scene.directory.path + "/new", options: options) { _ in } }
        #expect(throws: SealError.self) { try KeySecret.new(zeros) }
    }

    @Test("opens with its key alone")
    func refusals() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 4)
        try await scene.log.close()
        for secret in [nil, StoreSecret.key([UInt8](repeating: 9, count: 32)), .key([1, 2]), .passphrase(Array("long enough".utf8))] {
            var options = scene.options
            options.secret = secret
            #expect(throws: EvstoreError.self, "\(String(describing: secret))") {
                try EventLog.open(at: scene.directory.store, options: options)
            }
        }
        let plain = try TemporaryDirectory()
        try await makeLog(plain).close()
        #expect { try EventLog.open(at: plain.store, options: scene.options) } throws: { ($0 as? EvstoreError)?.code == "keysRefused" }
        try Directory.rename(scene.directory.store + "/keys", to: scene.directory.path + "/keys")
        #expect { try scene.open("store") } throws: { ($0 as? EvstoreError)?.code == "storeDamaged" }
        var file = try File(scene.directory.path + "/keys", .read).read(100_000)
        file[70] ^= 1
        try StoreKeys.write(file, at: scene.directory.store)
        #expect(throws: EvstoreError.self) { try scene.open("store") }
    }

    @Test("believes no envelope in another place, and no event that was put in its place with every checksum and code made right")
    func moved() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 9)
        try await scene.log.close()
        for change in Forged.allCases {
            let copy = scene.directory.path + "/\(change)"
            try FileManager.default.copyItem(atPath: scene.directory.store, toPath: copy)
            try change.make(in: copy, #require(scene.log.access.keys?.codes))
            // What is said in the clear does not even open.
            if change == .plain {
                #expect(throws: EvstoreError.self) { try EventLog.open(at: copy, options: scene.options) }
                continue
            }
            let log = try EventLog.open(at: copy, options: scene.options)
            #expect(throws: EvstoreError.self, "\(change)") { try SealedScene.parts(log) }
            #expect(try log.verify(deep: true).contains { $0.id == "STORE015" }, "\(change)")
            try await log.close()
        }
    }

    @Test("is not passed by on the word of a block that somebody else has written: a scan of one type alone finds it, too")
    func passedBy() async throws {
        let scene = try SealedScene()
        for type in ["one", "other", "one"] { try await scene.log.add(event("s", "{}", type: type)) }
        func others() throws -> Int {
            var count = 0
            try scene.log.scan(after: .start, types: ["other"]) { block, _ in
                count += block.count
                return true
            }
            return count
        }
        #expect(try others() == 1)
        let access = scene.log.access
        try scene.log.change { transaction in
            var block: [UInt8] = []
            if let found = try transaction.reads.get(access.tables.blocks, bytes(1 as UInt64).lent) { block = [UInt8](copying: found) }
            block[BlockLayout.Header.time] ^= 1
            block.replaceSubrange(block.count - 8 ..< block.count, with: bytes(checksum(block.lent.slice(0, block.count - 8))))
            try transaction.put(access.tables.blocks, bytes(1 as UInt64).lent, block.lent)
        }
        #expect { try others() } throws: { ($0 as? EvstoreError)?.code == "corruptBlock" }
        try await scene.log.close()
    }

    @Test("that is cut within a block, and written on, has new envelopes at the same positions, under keys that were never used")
    func keysAreUsedOnce() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 40)
        var seen: [[UInt8]: [UInt8]] = [:]
        for round in 0 ..< 6 {
            let uses = try SealedScene.uses(scene.log)
            #expect(uses.contains { seen[$0.key] == nil })
            #expect(uses.allSatisfy { seen[$0.key].map { [envelope = $0.value] known in known == envelope } ?? true })
            seen.merge(uses) { $1 }
            try await scene.log.update { try $0.cut(to: Position(20)) }
            try await SealedScene.fill(scene.log, (100 * round + 100) ..< (100 * round + 120))
        }
        #expect(try scene.log.verify(deep: true).isEmpty)
        try await scene.log.close()
    }

    @Test("is sealed under the newest key, opened under every older one, and tells which it needs")
    func rotation() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 9)
        let other = try scene.open("store")
        let second = try scene.log.changeKeys { ring throws(SealError) in try ring.rotate(.cbcWithHMAC, time: 1) }
        try await SealedScene.fill(scene.log, 10 ..< 19)
        #expect(try SealedScene.parts(other) == SealedScene.parts(scene.log))
        #expect(try scene.log.dataKeysInUse() == [1, second])
        try await scene.log.update { try $0.cut(to: .start) }
        #expect(try scene.log.dataKeysInUse() == [])
        try scene.log.changeKeys { ring throws(SealError) in try ring.retire(.dataKey, 1) }
        try await SealedScene.fill(scene.log, 20 ..< 29)
        #expect(try scene.log.verify(deep: true).isEmpty && scene.log.keyFile?.dataKeys.map(\.id) == [second])
        try await other.close()
        try await scene.log.close()
    }

    @Test("is sealed under the keys that there are once the store was entered, not under one that was given up while that took time")
    func keysOfEntering() async throws {
        let scene = try SealedScene()
        try await SealedScene.fill(scene.log, 1 ..< 9)
        try await scene.log.update { try $0.cut(to: .start) }
        try await scene.log.close()
        // As one that looks at the log after a crash: whoever comes waits.
        let store = scene.directory.store
        let opening = try #require(try StoreLock.opening.acquireIfFree(at: store, what: "a test"))
        let presence = try StoreLock.presence.acquire(at: store, what: "a test")
        let entering = Task.detached { try scene.open("store") }
        // Not a sleep of this task's: the tests beside it may be let go on for minutes before it.
        usleep(300_000)
        var ring = try KeyRing(opening: KeyFile(#require(try StoreKeys.bytes(at: store))), with: KeySecret(SealedScene.secret))
        let second = try ring.rotate(.gcm, time: 1)
        try ring.retire(.dataKey, 1)
        try StoreKeys.write(ring.encoded, at: store)
        try presence.release()
        try opening.release()
        let log = try await entering.value
        try await SealedScene.fill(log, 20 ..< 29)
        #expect(try log.dataKeysInUse() == [second] && log.verify(deep: true).isEmpty)
        try await log.close()
        let again = try scene.open("store")
        #expect(try again.verify(deep: true).isEmpty)
        try await again.close()
    }
}

/// Changes that somebody without the keys makes, who can make every checksum right.
private enum Forged: CaseIterable {
    case exchanged, plain, otherType

    func make(in store: String, _ codes: StoreCodes) throws {
        let environment = try Environment.open(directory: store + "/log", TableDescriptor.log.configuration(.small(), readOnly: false))
        defer { environment.close() }
        let access = try LogAccess(environment, of: Manifest.identity(at: store))
        try environment.writeOwned { transaction in
            var transaction = transaction
            let (key, block) = try self.block(transaction.reads, access, codes)
            try transaction.delete(access.tables.blocks, key.lent)
            try transaction.append(access.tables.blocks, key.lent, block.lent)
        }
    }

    /// The last block, with what its two first records say exchanged, or said in the clear.
    private func block(
        _ transaction: borrowing ReadTransaction, _ access: LogAccess, _ codes: StoreCodes
    ) throws -> (key: [UInt8], block: [UInt8]) {
        var cursor = transaction.cursor(access.tables.blocks)
        _ = try cursor.last()
        let view = try Blocks.view(cursor, access)
        var block = [UInt8](copying: cursor.value)
        func record(_ index: Int) -> Int { Int(block.lent.load(UInt32.self, at: Int(block.lent.load(UInt32.self, at: 84)) + index * 8)) }
        let first = record(0)
        switch self {
        case .exchanged:
            // The salt of an envelope that stands elsewhere.
            let at = try #require(BlockLayout.envelope(cursor.value)?.lowerBound)
            block.replaceSubrange(at + 12 ..< at + 28, with: [UInt8](repeating: 7, count: 16))
        case .plain: block[BlockLayout.Header.flags] ^= 1
        case .otherType: block[first + BlockLayout.Record.born] ^= 2
        }
        Self.seal(&block, view.count, view.first, access, codes)
        return ([UInt8](copying: cursor.key), block)
    }

    /// Makes the records' checksums, the block's code and its checksum right again.
    private static func seal(_ block: inout [UInt8], _ count: Int, _ first: Position, _ access: LogAccess, _ codes: StoreCodes) {
        let table = Int(block.lent.load(UInt32.self, at: 84))
        let starts =
            (0 ..< count).map { Int(block.lent.load(UInt32.self, at: table + $0 * 8)) } + [
                BlockLayout.envelope(block.lent)?.lowerBound ?? block.count - 24
            ]
        let epoch = Epoch(block.lent.load(UInt32.self, at: 4))
        for index in 0 ..< count {
            let place = BlockLayout.place(access.storeID.tag, epoch, Position(first.rawValue + UInt64(index)))
            let sum = checksum(block.lent.slice(starts[index], starts[index + 1] - starts[index]))
            block.replaceSubrange(table + index * 8 + 4 ..< table + index * 8 + 8, with: bytes(UInt32(truncatingIfNeeded: sum) ^ place))
        }
        var code = ByteBuffer(capacity: 16)
        codes.blocks.appendCode(of: block.lent.slice(0, block.count - 24), to: &code)
        block.replaceSubrange(block.count - 24 ..< block.count - 8, with: code.array())
        block.replaceSubrange(block.count - 8 ..< block.count, with: bytes(checksum(block.lent.slice(0, block.count - 8))))
    }
}
