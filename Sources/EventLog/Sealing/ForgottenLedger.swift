internal import Bytes
internal import EventModel
package import LMDB
package import Sealing

/// A stream whose personal data was forgotten: its code, and the last slot at that time. Events appended later use later slots.
package struct ForgottenSubject: Hashable, Sendable {
    package var code: [UInt8]
    package var through: UInt32
    /// False where its keys were forgotten before.
    package var isNew = true

    package init(code: [UInt8], through: UInt32, isNew: Bool = true) { (self.code, self.through, self.isNew) = (code, through, isNew) }
}

/// The list of what was forgotten in a log, by which an older copy of the file `subjects` is recognised. It consists of rows of the table
/// `notes` that are only added, never changed, and that are copied to the directories of backups. Integers are little-endian.
///
///     key     "forgotten/", u64 number (BE): 1, 2, 3 …
///     value   0  16  code of the stream (`SubjectSlot`)
///             16 u32 the last slot at that time
///             20 16  HMAC-SHA256, truncated, of store id, u64 number, bytes 0 … 19, which needs the store's keys
package enum ForgottenLedger {
    static let prefix = Array("forgotten/".utf8)
    private static let rowBytes = 36

    package struct Entry: Hashable, Sendable {
        package var number: UInt64
        package var forgotten: ForgottenSubject
        package var proof: [UInt8]

        package init(number: UInt64, _ forgotten: ForgottenSubject, proof: [UInt8]) {
            (self.number, self.forgotten, self.proof) = (number, forgotten, proof)
        }

        fileprivate init?(key: [UInt8], value: [UInt8]) {
            guard key.count == prefix.count + 8, value.count == rowBytes else { return nil }
            number = key.lent.load(UInt64.self, at: prefix.count).byteSwapped
            forgotten = ForgottenSubject(code: Array(value[..<16]), through: value.lent.load(UInt32.self, at: 16))
            proof = Array(value[20...])
        }

        fileprivate init(number: UInt64, _ forgotten: ForgottenSubject, _ ring: KeyRing) {
            (self.number, self.forgotten) = (number, forgotten)
            proof = ring.proof(ofForgotten: Self.claim(number, forgotten))
        }

        fileprivate var key: [UInt8] { prefix + sortable(number) }
        fileprivate var value: [UInt8] { forgotten.code + bytes(forgotten.through) + proof }

        package func isProven(by ring: KeyRing) -> Bool { ring.isProof(proof, ofForgotten: Self.claim(number, forgotten)) }

        private static func claim(_ number: UInt64, _ forgotten: ForgottenSubject) -> [UInt8] {
            bytes(number) + forgotten.code + bytes(forgotten.through)
        }
    }

    /// Whether a key of the table `notes` belongs to the ledger.
    package static func has(_ key: [UInt8]) -> Bool { key.starts(with: prefix) }

    /// How often something was forgotten; it only grows.
    static func count(_ transaction: borrowing ReadTransaction, _ tables: Tables) throws -> UInt64 {
        guard let key = try tables[.notes].lastKey(transaction), key.starts(with: prefix), key.count == prefix.count + 8 else { return 0 }
        return key.lent.load(UInt64.self, at: prefix.count).byteSwapped
    }

    /// - Parameter ring: the log's keys, which prove each row.
    /// - Throws: `EvstoreError.corruptBlock` where a row differs from what was written.
    package static func entries(_ transaction: borrowing ReadTransaction, _ tables: Tables, _ ring: KeyRing) throws -> [Entry] {
        try Rows.all(prefix, transaction, tables[.notes]).map { row in
            guard let entry = Entry(key: row.key, value: row.value), entry.isProven(by: ring) else {
                throw EvstoreError.corruptBlock(
                    position: .start, reason: "a row of the ledger of what was forgotten is not as it was written")
            }
            return entry
        }
    }
}

extension LogReader {
    /// How often something was forgotten. A cache of events' contents is stale once this has changed.
    package var forgetCount: UInt64 { get throws { try ForgottenLedger.count(transaction, access.tables) } }
}

extension LogUpdate {
    /// Adds to the ledger what it lacks, and what was forgotten again.
    package mutating func note(_ forgotten: [ForgottenSubject]) throws {
        guard let ring = access.keys?.subjects.ring else { return }
        var known: [[UInt8]: UInt32] = [:]
        var number: UInt64 = 0
        for entry in try ForgottenLedger.entries(transaction.reads, access.tables, ring) {
            known[entry.forgotten.code] = max(known[entry.forgotten.code] ?? 0, entry.forgotten.through)
            number = entry.number
        }
        for one in forgotten where one.isNew || known[one.code].map({ $0 < one.through }) ?? true {
            number = number.plus(1)
            let entry = ForgottenLedger.Entry(number: number, one, ring)
            try put(.notes, entry.key, entry.value)
        }
    }

    /// Adds the rows of another log's ledger that the keys of this log prove.
    package mutating func takeForgotten(_ rows: [(key: [UInt8], value: [UInt8])]) throws {
        guard let ring = access.keys?.subjects.ring else { return }
        try note(rows.compactMap { ForgottenLedger.Entry(key: $0.key, value: $0.value) }.filter { $0.isProven(by: ring) }.map(\.forgotten))
    }
}

extension EventLog {
    /// The ledger of what was forgotten; empty where events are not sealed.
    package func ledger() throws -> [ForgottenLedger.Entry] {
        guard let keys = access.keys else { return [] }
        return try converting("reading the ledger of what was forgotten") {
            try access.environment.read { try ForgottenLedger.entries($0, access.tables, keys.subjects.ring) }
        }
    }
}
