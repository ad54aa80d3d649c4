import Foundation
import GRDB

/// One event as the table takes it.
struct Row: Sendable {
    var stream: String
    var revision: Int
    var payload: String
}

/// The usual event table behind a pool in WAL mode that syncs every commit.
struct Base: Sendable {
    let pool: DatabasePool

    init(path: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -262144") }
        pool = try DatabasePool(path: path, configuration: configuration)
        // A pool sets NORMAL when it turns to WAL, which syncs no commit.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        try pool.write {
            try $0.execute(
                sql: """
                    CREATE TABLE events (position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, type TEXT NOT NULL,
                        time INTEGER NOT NULL DEFAULT (unixepoch()), payload TEXT NOT NULL, UNIQUE (stream, revision))
                    """)
        }
    }

    static func insert(_ rows: [Row], _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT INTO events (stream, revision, type, payload) VALUES (?, ?, 'OrderPlaced', ?)")
        for row in rows { try statement.execute(arguments: [row.stream, row.revision, row.payload]) }
    }

    func append(_ rows: [Row]) async throws { try await pool.write { try Base.insert(rows, $0) } }
}

/// Makes rows that wait together one transaction: while one is written, the next gathers.
actor Committer {
    private let base: Base
    private var waiting: [(row: Row, resume: CheckedContinuation<Void, any Error>)] = []
    private var isWriting = false

    init(_ base: Base) { self.base = base }

    func append(_ row: Row) async throws {
        try await withCheckedThrowingContinuation { resume in
            waiting.append((row, resume))
            if !isWriting {
                isWriting = true
                Task { await write() }
            }
        }
    }

    private func write() async {
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            do {
                try await base.append(batch.map(\.row))
                for each in batch { each.resume.resume() }
            } catch {
                for each in batch { each.resume.resume(throwing: error) }
            }
        }
        isWriting = false
    }
}

/// One row of the orders, as a value.
struct Order: FetchableRecord {
    var first: String
    var last: String
    var cents: Int
    var placedAt: String
    var orders: Int

    init(row: GRDB.Row) {
        (first, last) = (row[0], row[1])
        (cents, placedAt, orders) = (row[2], row[3], row[4])
    }
}

/// Rows of a file that is only read, each in a transaction of its own.
struct Orders: Sendable {
    let pool: DatabasePool

    init(path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase {
            try $0.execute(sql: "PRAGMA cache_size = -262144")
            try $0.execute(sql: "PRAGMA mmap_size = 17179869184")
        }
        pool = try DatabasePool(path: path, configuration: configuration)
    }

    func order(_ key: String) throws -> Order? {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: "SELECT first, last, cents, placed_at, orders FROM orders WHERE id = ?")
            return try Order.fetchOne(statement, arguments: [key])
        }
    }

    /// How many of `count` rows were there, drawn in the same order as in the other drivers.
    func look(from seed: UInt64, count: Int, keys: Int) throws -> Int {
        var (state, found) = (seed, 0)
        for _ in 0 ..< count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let digits = String(Int(state >> 33) % keys)
            if try order(String(repeating: "0", count: max(7 - digits.utf8.count, 0)) + digits) != nil { found += 1 }
        }
        return found
    }
}
