import Bytes
import EventLog
import EventModel
import Foundation
import Hashing
import LMDB
import Platform
import TestSupport
import Testing

@testable import Projections

private let orders = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          on: {OrderPlaced: {set: {/total: /total}}}
    """

@Suite("Which read models' pages are checked before LMDB maps them")
struct GenerationMarkTests {
    /// Changes a byte of the newest meta page: where the main tree's entries are counted, which LMDB never looks at.
    private static func spoil(_ directory: String) throws {
        let file = try File(directory + "/data.mdb", .write)
        func transaction(_ page: Int) throws -> [UInt8] { try file.read(8, at: page + 144).reversed() }
        let newest = try transaction(0).lexicographicallyPrecedes(transaction(4_096)) ? 4_096 : 0
        let offset = newest + 88 + 32
        try file.write([try file.read(1, at: offset)[0] + 1], at: offset)
    }

    private static func open(_ name: String, in store: TestStore) throws -> Generation {
        try Generation.open(named: name, in: store.path, of: store.log)
    }

    /// What is said of one that is damaged.
    private static func damage(of name: String, in store: TestStore) -> String {
        do {
            _ = try open(name, in: store)
            return "nothing"
        } catch {
            guard case EvstoreError.storeDamaged(_, let reason) = error else { return "\(error)" }
            return reason
        }
    }

    /// A store with a read model that nobody has open, its name and its directory.
    private static func closed() async throws -> (store: TestStore, name: String, directory: String) {
        let store = try TestStore(orders)
        try await store.append(randomEvents(50, seed: 1))
        let (name, directory) = try {
            let generation = try store.build()
            return (generation.name, generation.directory)
        }()
        // A thread that has helped to build it may be at its end still.
        let end = Instant.now + .patience
        while try !mark(directory).isClosed, .now < end { try await Task.sleep(for: .milliseconds(5)) }
        return (store, name, directory)
    }

    private static func mark(_ directory: String) throws -> FileMark {
        let bytes = try File(directory + "/mark", .read).read(68)
        let row = bytes.lent
        return FileMark(row.slice(4, FileMark.size))
    }

    private static func isVouchedFor(_ directory: String) throws -> Bool {
        try mark(directory).matches(File(directory + "/data.mdb", .read).status())
    }

    @Test("a read model in use on this boot is not checked, and the last process to close it marks it as closed")
    func inUse() async throws {
        let (store, name, directory) = try await Self.closed()
        #expect(try Self.mark(directory).isClosed)
        var one: Generation? = try Self.open(name, in: store)
        #expect(try Self.mark(directory).isClosed, "nothing was written yet")
        try await store.append(randomEvents(5, seed: 2))
        try Follower(store.evolving).catchUp(try #require(one), try store.definition())
        #expect(try !Self.mark(directory).isClosed)
        // Who has walked it would have found this.
        try Self.spoil(directory)
        var other: Generation? = try Self.open(name, in: store)
        #expect(try other?.checkedHeader().checkpoint.position == Position(55))
        one = nil
        #expect(try !Self.mark(directory).isClosed)
        other = nil
        #expect(try Self.mark(directory).isClosed && one == nil && other == nil)
        _ = try Self.open(name, in: store)
        try await store.end()
    }

    @Test("a read model changed after it was closed is checked, found to be damaged, and noted as damaged")
    func changed() async throws {
        let (store, name, directory) = try await Self.closed()
        try Self.spoil(directory)
        for reason in ["rule 23", "was found to be damaged"] {
            let damage = Self.damage(of: name, in: store)
            #expect(damage.contains(reason), "\(damage)")
        }
        try await store.end()
    }

    @Test("a header that counts fewer rows than are deleted is damage")
    func forgedCount() async throws {
        let store = try TestStore(Shop.file("key: /id\non: {OrderPlaced: {set: {/total: /total}}, OrderVoided: delete}"))
        try await store.append([("OrderPlaced", #"{"id":"o1","total":1,"customer":"c","lines":[]}"#)])
        let generation = try store.build()
        var header = try generation.header
        header.rows = 0
        try generation.environment.write { try generation.put(header, &$0) }
        try await store.append([("OrderVoided", #"{"id":"o1"}"#)])
        #expect {
            try Follower(store.evolving).catchUp(generation, try store.definition())
        } throws: { if case EvstoreError.storeDamaged = $0 { true } else { false } }
        try await store.end()
    }

    @Test("a row whose key was changed after the read model was closed is found without a query for it")
    func key() async throws {
        let (store, name, directory) = try await Self.closed()
        let data = URL(filePath: directory + "/data.mdb")
        var bytes = try Data(contentsOf: data)
        let first = try Self.open(name, in: store).page(limit: 1)
        let key = Data(first[0].key)
        var found = bytes.startIndex
        while let range = bytes.range(of: key + Data([0]), in: found ..< bytes.endIndex) {
            bytes[range.upperBound - 2] -= 1
            found = range.upperBound
        }
        try bytes.write(to: data)
        let damage = Self.damage(of: name, in: store)
        #expect(damage.contains("rule 26"), "\(damage)")
        try await store.end()
    }

    @Test("a read model in use when the machine stopped is checked once")
    func afterBoot() async throws {
        let (store, name, directory) = try await Self.closed()
        let file = try File(directory + "/mark", .write)
        func stop() throws {
            // In use, on another boot.
            var row = try file.read(68)
            for index in 12 ..< 28 { row[index] = 0 }
            for index in 28 ..< 64 { row[index] = UInt8(ascii: "x") }
            let sum = checksum(row.lent)
            try file.write(row + (0 ..< 8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) })
            #expect(try !Self.isVouchedFor(directory))
        }
        try stop()
        _ = try Self.open(name, in: store)
        #expect(try Self.isVouchedFor(directory))
        try stop()
        try Self.spoil(directory)
        #expect(Self.damage(of: name, in: store).contains("rule 23"))
        try await store.end()
    }

    @Test("many handles can open a copied read model at once, and its mark is right afterwards")
    func atOnce() async throws {
        let (store, name, directory) = try await Self.closed()
        for _ in 0 ..< 5 {
            try FileManager.default.copyItem(atPath: directory, toPath: directory + "-copy")
            try FileManager.default.removeItem(atPath: directory)
            try FileManager.default.moveItem(atPath: directory + "-copy", toPath: directory)
            #expect(try !Self.isVouchedFor(directory))
            let (path, log) = (store.path, store.log)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0 ..< 8 {
                    group.addTask {
                        let generation = try Generation.open(named: name, in: path, of: log)
                        #expect(try generation.checkedHeader().checkpoint.position == Position(50))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try Self.isVouchedFor(directory))
        }
        try await store.end()
    }

    @Test("a process that has a read model open under an invalid mark keeps no other from checking or reading it")
    func unmarked() async throws {
        let (store, name, directory) = try await Self.closed()
        let one = try Self.open(name, in: store)
        try FileManager.default.removeItem(atPath: directory + "/mark")
        try File(directory + "/mark", .create).write([1, 2, 3])
        let other = try Self.open(name, in: store)
        let rows = try one.texts()
        #expect(try other.texts() == rows)
        try await store.end()
    }

    @Test("one whose directory is removed while it is open counts as missing when its pages are checked, and nothing is put back")
    func removed() async throws {
        let (store, name, directory) = try await Self.closed()
        let generation = try Self.open(name, in: store)
        try Generation.remove(named: name, in: store.path)
        #expect { try generation.checkPages() } throws: { if case EvstoreError.storeDamaged = $0 { true } else { false } }
        #expect(try Directory.status(directory) == nil)
        try await store.end()
    }
}
