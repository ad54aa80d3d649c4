package import EventLog
package import EventModel
internal import Glibc
internal import JSONText
internal import Projections

/// The log of actions on a store: what was done, by whom, and the outcome. Rows of the log environment are only ever added.
package enum Journal {
    /// Adds a row within the transaction that makes the change.
    package static func append(_ row: JournalRow, to update: inout LogUpdate) throws { try update.appendJournal(row.bytes) }

    package static func list(_ log: EventLog) throws(EvstoreError) -> [JournalRow] {
        let rows = try log.reading { reader in try reader.rows(.journal) }
        return try rows.map { (row) throws(EvstoreError) in try JournalRow(key: row.key, value: row.value) }
    }

    /// Reads the rows behind a number, newest first, until `body` returns false.
    package static func readBackwards(
        _ log: EventLog, after number: UInt64 = 0, _ body: (JournalRow) throws -> Bool
    ) throws(EvstoreError) {
        try log.reading { reader in
            try reader.rowsBackwards(.journal) { key, value in
                try JournalRow.number(of: key) > number && body(JournalRow(key: key, value: value))
            }
        }
    }

    /// Whether personal data was forgotten since a snapshot was taken: by `forget`, or again by a restore. Then read models that are built
    /// from the same events have other digests.
    package static func hasForgotten(since snapshot: SnapshotReport, _ log: EventLog) throws(EvstoreError) -> Bool {
        guard try log.reading({ reader in try reader.forgetCount }) > 0 else { return false }
        var found = false
        try readBackwards(log) { row in
            found = row.kind == .forget || row.kind == .restore
            let isTaking = row.kind == .snapshot && row.outcome == snapshot.name && row.position == snapshot.position
            return !found && !isTaking
        }
        return found
    }

    /// The user and the process, such as `uid 1000, pid 4711`.
    static let caller = "uid \(getuid()), pid \(getpid())"
}

extension JournalRow {
    /// A row of this moment and caller, without the number that writing it gives.
    package init(
        _ kind: JournalKind, from: SchemaVersion? = nil, to: SchemaVersion? = nil, position: Position? = nil,
        duration: Duration? = nil, readModelBytes: UInt64? = nil, outcome: String = "done", digest: String? = nil
    ) {
        (number, time, by, self.kind, self.from, self.to) = (0, Timestamp.now, Journal.caller, kind, from, to)
        (self.position, self.duration, self.readModelBytes) = (position, duration, readModelBytes)
        (self.outcome, self.digest) = (outcome, digest)
    }

    var bytes: [UInt8] {
        var fields = JSONRow()
        fields.set("time", time.description)
        fields.set("what", kind.rawValue)
        fields.set("from", from.map { UInt64($0.rawValue) })
        fields.set("to", to.map { UInt64($0.rawValue) })
        fields.set("position", position?.rawValue)
        fields.set("seconds", duration.map { .number(shortDecimal($0 / .seconds(1), digits: 6)) } ?? .null)
        fields.set("readModelBytes", readModelBytes)
        fields.set("outcome", outcome)
        fields.set("by", by)
        fields.set("digest", digest)
        return fields.bytes
    }

    /// - Throws: `EvstoreError.storeDamaged`.
    package init(key: [UInt8], value: [UInt8]) throws(EvstoreError) {
        let fields = try JSONRow(value, of: "journal")
        guard let time = fields.text("time").flatMap({ Timestamp($0) }), let what = fields.text("what"),
            let outcome = fields.text("outcome")
        else { throw .storeDamaged(path: "journal", reason: "a row lacks its time, what or outcome") }
        guard key.count == 8, Position(Self.number(of: key)) < .largest else {
            throw .storeDamaged(path: "journal", reason: "the row of \(what) has a number that no row has")
        }
        number = Self.number(of: key)
        (self.time, kind, self.outcome) = (time, JournalKind(rawValue: what), outcome)
        (from, to, position) = (fields.version("from"), fields.version("to"), fields.number("position").map { Position($0) })
        (duration, by, digest) = (fields.duration("seconds"), fields.text("by") ?? "", fields.text("digest"))
        readModelBytes = fields.number("readModelBytes")
    }

    static func number(of key: [UInt8]) -> UInt64 { key.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Formats a number that is not negative with up to so many decimal digits, without trailing zeros.
func shortDecimal(_ number: Double, digits: Int) -> String {
    let scale = (0 ..< digits).reduce(Int64(1)) { scale, _ in scale * 10 }
    let whole = Int64(nearest(Swift.max(0, number) * Double(scale)))
    let fraction = String(whole % scale)
    var text = "\(whole / scale)." + String(repeating: "0", count: max(0, digits - fraction.utf8.count)) + fraction
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
}
