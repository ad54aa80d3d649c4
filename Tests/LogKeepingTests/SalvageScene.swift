import Bytes
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import LMDB
import Platform
import TestStores
import TestSupport

@testable import EventLog
@testable import LogKeeping

/// A store that is closed, what its log held, and where its blocks lie.
struct SalvageScene {
    static let pageBytes = 4_096

    /// An event as anybody sees it but for its position.
    struct Event: Hashable {
        var stream: String
        var firstPosition: UInt64
        var type, payload, metadata, id: String
        var time: Int64
        var isGiven: Bool

        /// The same where the stream's name was lost.
        var unnamed: Event {
            var copy = self
            copy.stream = "lost:\(firstPosition)"
            return copy
        }
    }

    let directory: TemporaryDirectory
    let store: String
    /// By position, from 1 on.
    let events: [Event]
    /// The pages that each event's block lies on.
    let pages: [Set<Int>]
    let content: [UInt8]

    var data: String { store + "/log/data.mdb" }
    var pagesCount: Int { get throws { try File(data, .read).status().bytes / Self.pageBytes } }

    /// - Parameter fill: appends to a new log.
    init(_ options: Options = .small(), _ fill: (EventLog) async throws -> Void) async throws {
        directory = try TemporaryDirectory()
        store = directory.store
        let log = try makeLog(directory, options)
        try await fill(log)
        events = try Self.events(of: log)
        content = try log.contentDigest().bytes
        try await log.close()
        pages = try Self.pages(of: store + "/log/data.mdb", events.count)
    }

    static func events(of log: EventLog) throws -> [Event] {
        var names: [UInt64: String] = [:]
        var events: [Event] = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                if let name = record.streamName { names[record.streamID] = name.text }
                events.append(
                    Event(
                        stream: names[record.streamID] ?? "?", firstPosition: record.streamID, type: log.name(ofType: record.type),
                        payload: text(record.payload), metadata: text(record.metadata), id: record.id.text, time: record.time.microseconds,
                        isGiven: record.idGiven))
            }
            return true
        }
        return events
    }

    static func pages(of path: String, _ count: Int) throws -> [Set<Int>] {
        let file = try File(path, .read)
        var tree = try TreeRemains(TreeRemains.commits(in: file)[0], of: file)
        var pages = [Set<Int>](repeating: [], count: count)
        try tree.walk(TableDescriptor.log.kinds) { table, key, value in
            guard table == "blocks" else { return }
            let first = Int(key.load(UInt64.self, at: 0))
            let count = try file.read(4, at: value.offset + BlockLayout.Header.count)
            let events = Int(count.lent.load(UInt32.self, at: 0))
            let own = Set(value.offset / pageBytes ... (value.offset + value.count - 1) / pageBytes)
            for position in first ..< first + events { pages[position - 1] = own }
        }
        return pages
    }

    /// Appends of one to five events of all sizes to forty streams.
    static func fill(_ log: EventLog, _ random: inout SeededGenerator, appends: Int, from start: Int = 0) async throws {
        for number in start ..< start + appends {
            let events = try (0 ..< Int.random(in: 1 ... 5, using: &random)).map { index in
                let size = [10, 80, 700, 3_000, 40_000][[0, 0, 1, 1, 1, 2, 2, 3, 3, 4].randomElement(using: &random) ?? 0]
                return try event(
                    "s-\(Int.random(in: 0 ..< 40, using: &random))", "\"\(number).\(index) \(String(repeating: "x", count: size))\"",
                    type: "type-\(number % 5)", id: index == 0 ? "id-\(number)" : nil, metadata: number % 7 == 0 ? "{\"m\":1}" : "")
            }
            _ = try await log.append(AppendRequest(events: events))
        }
    }

    // MARK: Damage

    /// A copy of the store; what is done to it does nothing to this one.
    func copy(_ name: String) throws -> String {
        let path = directory.path + "/" + name
        try FileManager.default.copyItem(atPath: store, toPath: path)
        return path
    }

    /// Overwrites pages of a store with zeros, or with anything.
    static func damage(_ store: String, _ pages: some Sequence<Int>, _ random: inout SeededGenerator) throws {
        let file = try File(store + "/log/data.mdb", .write)
        for page in pages {
            let isGarbled = Bool.random(using: &random)
            let bytes = (0 ..< pageBytes).map { _ in isGarbled ? UInt8.random(in: 0 ... 255, using: &random) : 0 }
            try file.write(bytes, at: page * pageBytes)
        }
    }
}

/// What a salvage gave back.
struct Salvaged {
    let path: String
    let summary: SalvageReport
    let events: [SalvageScene.Event]
    let content: [UInt8]
    let storeID: StoreID
    let unconfirmed: [SalvageScene.Event]

    /// Salvages a store, opens what comes of it, looks at it in full and closes it again.
    init(_ source: String, into path: String) async throws {
        self.path = path
        var lent: [SalvageScene.Event] = []
        summary = try EventLog.salvage(
            at: source, into: path, options: .small(),
            unconfirmed: { _, _, lend in
                try lend { record, stream, type in
                    lent.append(
                        .init(
                            stream: stream.text, firstPosition: record.streamID, type: type, payload: text(record.payload),
                            metadata: text(record.metadata), id: record.id.text, time: record.time.microseconds, isGiven: record.idGiven))
                }
            },
            finish: { update, rows in
                (update.state.floor, update.state.live) = (rows.newestBirth, rows.newestBirth)
                (update.state.top, update.state.head) = (rows.newestBirth, rows.newestBirth)
            })
        unconfirmed = lent
        let log = try EventLog.open(at: path, options: .small())
        events = try SalvageScene.events(of: log)
        content = try log.contentDigest().bytes
        storeID = log.storeID
        let findings = try log.verify(deep: true)
        if !findings.isEmpty { throw EvstoreError.verificationFailed(reason: "\(findings)") }
        try await log.close()
    }
}
