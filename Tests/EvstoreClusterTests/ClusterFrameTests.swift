import Bytes
import ClusterLog
import EventLog
import EventModel
import EvstoreTesting
import Hashing
import LMDB
import TestStores
import TestSupport
import Testing

/// Frames as a PostgreSQL gives them that nobody vouches for.
@Suite("Frames of a cluster log")
struct ClusterFrameTests {
    private static let member = ClusterMembership(log: "shop", id: [UInt8](repeating: 7, count: 16), node: "a")

    /// The frames of a log with some events, and its id.
    private static func frames() async throws -> (store: StoreID, frames: [[UInt8]]) {
        let directory = try TemporaryDirectory()
        let log = try makeLog(directory)
        try await log.update { update in try update.put(.schemas, [0, 0, 0, 1], [UInt8](repeating: 1, count: 40)) }
        for number in 0 ..< 40 {
            try await log.add(event("s-\(number % 5)", "{\"n\":\(number)}", id: number % 3 == 0 ? "id-\(number)" : nil))
        }
        var frames: [[UInt8]] = []
        _ = try log.frames(node: NodeRow(member, live: SchemaVersion(1))) { frames.append($0.bytes) }
        let store = log.storeID
        try await log.close()
        return (store, frames)
    }

    /// A node that is being made, without frames yet.
    private static func node(of store: StoreID, in directory: TemporaryDirectory) throws -> LogBuilder {
        try directory.write("", to: "made/place")
        let builder = try LogBuilder(at: directory.path + "/made", store, .small(), nil)
        try builder.become(member)
        return builder
    }

    @Test("they make the same log on a node, and the node has all events in its indexes")
    func taken() async throws {
        let (store, frames) = try await Self.frames()
        let directory = try TemporaryDirectory()
        let builder = try Self.node(of: store, in: directory)
        defer { builder.close() }
        let (end, last) = try builder.access.takeIn(frames)
        #expect(end.number == UInt64(frames.count) && last == Position(40))
        #expect(try builder.complete {} == nil)
    }

    @Test("one that is missing, comes twice, is cut anywhere or has any byte changed is refused, and nothing of it stays")
    func damaged() async throws {
        let (store, frames) = try await Self.frames()
        let directory = try TemporaryDirectory()
        let access = try Self.node(of: store, in: directory).access
        defer { access.environment.close() }
        _ = try access.takeIn([frames[0]])
        let seed = UInt64.random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        for _ in 0 ..< 300 {
            var frame = frames[1]
            if Bool.random(using: &chance) {
                frame[Int.random(in: 0 ..< frame.count, using: &chance)] ^= UInt8.random(in: 1 ... 255, using: &chance)
            } else {
                frame.removeLast(Int.random(in: 1 ... frame.count, using: &chance))
            }
            #expect(throws: EvstoreError.self, "seed \(seed)") { try access.takeIn([frame]) }
        }
        #expect(throws: EvstoreError.self) { try access.takeIn([frames[0]]) }
        #expect(try access.takeIn([frames[1]]).last == Position(40))
    }

    @Test("one that somebody has made with a right link and anything in it ends in an error or is taken in, and never ends the process")
    func hostile() async throws {
        let (store, frames) = try await Self.frames()
        let seed = UInt64.random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        var (directory, node) = try Self.begun(of: store, frames[0])
        defer { node.access.environment.close() }
        var (refused, taken) = (0, 0)
        for _ in 0 ..< 600 {
            var frame = frames[1]
            for _ in 0 ..< Int.random(in: 1 ... 4, using: &chance) {
                // The lengths of the parts and what they hold.
                let place = Int.random(in: 0 ..< 5, using: &chance) == 0 ? 16 ..< 40 : 72 ..< frame.count
                frame[Int.random(in: place, using: &chance)] =
                    [0, 1, 0x7f, 0x80, 0xff, .random(in: 0 ... 255, using: &chance)]
                    .randomElement(using: &chance) ?? 0
            }
            do {
                _ = try node.access.takeIn([Self.linked(frame, after: node.end)])
                // What was changed is free to be anything. The next one meets a node that has not taken it in.
                taken += 1
                node.access.environment.close()
                (directory, node) = try Self.begun(of: store, frames[0])
            } catch { refused += 1 }
        }
        #expect(refused > 200 && taken < 400, "seed \(seed): \(refused) refused, \(taken) taken in")
        withExtendedLifetime(directory) {}
    }

    /// A node that has the first frame.
    private static func begun(of store: StoreID, _ frame: [UInt8]) throws -> (TemporaryDirectory, (access: LogAccess, end: ClusterLogEnd)) {
        let directory = try TemporaryDirectory()
        let access = try node(of: store, in: directory).access
        return (directory, (access, try access.takeIn([frame]).end))
    }

    /// The frame with the link that its bytes have.
    private static func linked(_ frame: [UInt8], after end: ClusterLogEnd) -> [UInt8] {
        var hasher = SHA256Hasher()
        hasher.update(end.link)
        hasher.update(Array(frame[..<40]))
        hasher.update(Array(frame[72...]))
        return Array(frame[..<40]) + hasher.finalize().bytes + Array(frame[72...])
    }

    @Test("rows for tables that are no cluster's, of no length and beyond their frame are refused")
    func rows() async throws {
        let (store, frames) = try await Self.frames()
        let directory = try TemporaryDirectory()
        let access = try Self.node(of: store, in: directory).access
        defer { access.environment.close() }
        let (end, _) = try access.takeIn([frames[0]])
        func row(_ table: String, _ key: String, _ size: UInt32, _ value: [UInt8]) -> [UInt8] {
            var row = ByteBuffer()
            row.append(UInt8(table.utf8.count))
            row.append(table)
            row.append(littleEndian: UInt16(key.utf8.count))
            row.append(key)
            row.append(littleEndian: size)
            row.append(value)
            return row.array()
        }
        let wrong = [
            row("journal", "k", 2, [1]), row("notes", "consumer/x", 2, [1]), row("state", "numbers", 2, [1]), row("schemas", "", 2, [1]),
            row("schemas", "k", .max, [1]), row("numbers", "shared", 3, [1, 2]), row("blocks", "k", 2, [1]), [9, 1],
            row("numbers", "shared", 49, [UInt8](repeating: 0xff, count: 48)),
        ]
        for rows in wrong {
            var frame = ByteBuffer()
            frame.append(littleEndian: 0x01_63_76_65 as UInt32)
            frame.append(littleEndian: 1 as UInt32)
            for number in [end.number + 1, 0, UInt64(rows.count), 0] { frame.append(littleEndian: number) }
            frame.append(zeros: 32)
            frame.append(rows)
            #expect(throws: EvstoreError.self, "\(rows)") { try access.takeIn([Self.linked(frame.array(), after: end)]) }
        }
        #expect(try access.takeIn([frames[1]]).last == Position(40))
    }
}
