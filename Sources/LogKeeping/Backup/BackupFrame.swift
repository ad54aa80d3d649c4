internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Platform
internal import Sealing

/// A backup is a sequence of frames, each linked to the one before, so that a change, a gap or a missing end is noticed. Integers are
/// little-endian.
///
///     0   u32  "evf" and the format: 1, or 2 where the store's rows have codes
///     4   u8   kind: 1 beginning, 2 blocks, 3 rows, 4 end, 5 keys, 6 subjects
///     5   3    zero
///     8   u64  bytes of the body
///     16  u64  number: 0, 1, 2 …
///     24  32   link: SHA-256(the link of the frame before, 32 zero bytes for the first || the 24 bytes before || body)
///     56  16   in format 2: the code of the link, which only the store's keys make (`StoreCodes`)
///              body
///
/// The first frame is a beginning and the last one an end; there is only one of each.
///
/// - Beginning: 16 store id, i64 microseconds since 1970.
/// - Blocks: blocks in the form of the log (`BlockLayout`), one after the other.
/// - Rows: u8 length, table, u16 length, key, u32 length, value; one after the other. The tables that cannot be made from the
///   log: `types`, `epochs`, of `state` the row "numbers", and the catalogues.
/// - Keys: the key file of a store whose events are sealed (`KeyFile`), directly after the beginning and again wherever it has changed; the
///   last one is valid.
/// - Subjects: the next part of the file of the keys of subjects, beside the rows.
/// - End: the log's end when the rows were read (`LogEnd`).
enum BackupFrame {
    enum Kind: UInt8 { case beginning = 1, blocks, rows, end, keys, subjects }

    static let magic: UInt32 = 0x01_66_76_65
    static let magicWithCode: UInt32 = 0x02_66_76_65
    static let headerBytes = 56
    static let linkedBytes = 24
    static let codeBytes = 16
    static let beginningBytes = 24
    /// How many bytes are collected before a frame is written; the last block or row may exceed this.
    static let bytesWanted = 4 << 20
    static let bytesMax = 64 << 20

    static func link(after link: Digest, _ header: RawSpan, _ body: RawSpan) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(link.bytes)
        hasher.update(header.slice(0, linkedBytes))
        hasher.update(body)
        return hasher.finalize()
    }

    /// What a header says of its frame, whose body is not read; nil where it is no header.
    /// - Parameters:
    ///   - header: the bytes of the header and, where the frame has one, of its code.
    ///   - codes: what the keys make; a frame whose code is not theirs is none, and neither is one with a code where they are nil.
    static func header(_ header: [UInt8], provenBy codes: StoreCodes?) -> (number: UInt64, link: [UInt8], frameBytes: Int)? {
        guard header.count >= headerBytes else { return nil }
        let row = header.lent
        let (magic, size) = (row.load(UInt32.self, at: 0), row.load(UInt64.self, at: 8))
        guard magic == Self.magic || magic == magicWithCode, size <= UInt64(bytesMax) else { return nil }
        let hasCode = magic == magicWithCode
        if Guard.frameCode.isOn {
            guard hasCode == (codes != nil), !hasCode || header.count == headerBytes + codeBytes else { return nil }
            let link = row.slice(linkedBytes, headerBytes - linkedBytes)
            if let codes, !codes.frames.isCode(row.slice(headerBytes, codeBytes), of: link) { return nil }
        }
        return (
            row.load(UInt64.self, at: 16), Array(header[linkedBytes ..< headerBytes]), headerBytes + (hasCode ? codeBytes : 0) + Int(size)
        )
    }
}

struct FrameWriter {
    private var number: UInt64
    private(set) var link: Digest
    private(set) var bytes: UInt64 = 0
    private let codes: StoreCodes?

    /// - Parameter last: the frame that the next one follows; nil begins a backup.
    init(after last: (number: UInt64, link: Digest)? = nil, _ codes: StoreCodes? = nil) {
        (number, link) = last.map { ($0.number &+ 1, $0.link) } ?? (0, .zero)
        self.codes = codes
    }

    var last: UInt64 { number &- 1 }

    /// - Throws: `BackupDamage` where the frame is larger than readers accept.
    mutating func write(_ kind: BackupFrame.Kind, _ body: RawSpan, to sink: (RawSpan) throws -> Void) throws {
        guard body.byteCount <= BackupFrame.bytesMax, number < .max else {
            throw BackupDamage("a frame of \(body.byteCount) bytes is too large")
        }
        var header = ByteBuffer(capacity: BackupFrame.headerBytes)
        header.append(littleEndian: codes == nil ? BackupFrame.magic : BackupFrame.magicWithCode)
        header.append(littleEndian: UInt32(kind.rawValue))
        header.append(littleEndian: UInt64(body.byteCount))
        header.append(littleEndian: number)
        link = BackupFrame.link(after: link, header.bytes, body)
        header.append(link.bytes)
        let bytes = link.bytes
        codes?.frames.appendCode(of: bytes.lent, to: &header)
        try sink(header.bytes)
        try sink(body)
        number += 1
        self.bytes += UInt64(header.count + body.byteCount)
    }
}

/// Reads frames and refuses one that does not follow the frame before it.
struct FrameReader {
    /// Returns the next bytes, fewer only at the end of the input.
    private let source: (Int) throws -> [UInt8]
    /// The number of the next frame, and the link of the one before it.
    private(set) var number: UInt64
    private(set) var link: Digest
    private(set) var bytes: UInt64 = 0

    private var proof = Proof.none
    /// The first two frames, which are read before the keys are known: the link of each with its code, nil where it has none.
    private var unproven: [(link: Digest, code: [UInt8]?)] = []
    private static let beforeKeys: UInt64 = 2

    private enum Proof {
        /// Links are checked; codes can't be, without keys.
        case none
        /// Codes are checked; nil where no frame may have a code.
        case by(StoreCodes?)
    }

    /// - Parameter last: the frame that the first one follows; nil reads from the beginning.
    init(_ source: @escaping (Int) throws -> [UInt8], after last: (number: UInt64, link: Digest)? = nil) {
        self.source = source
        (number, link) = last.map { ($0.number &+ 1, $0.link) } ?? (0, .zero)
    }

    /// Checks the codes of the frames that were read, and of all later ones.
    /// - Parameter codes: nil where the keys make no codes: then no frame may have one.
    /// - Throws: `BackupDamage`.
    mutating func prove(by codes: StoreCodes?) throws {
        proof = .by(codes)
        for (index, frame) in unproven.enumerated() { try prove(UInt64(index), frame.link, frame.code) }
        unproven = []
    }

    private func prove(_ number: UInt64, _ link: Digest, _ code: [UInt8]?) throws {
        guard case .by(let codes) = proof, Guard.frameCode.isOn else { return }
        let bytes = link.bytes
        if codes == nil && code == nil { return }
        if let codes, let code, codes.frames.isCode(code.lent, of: bytes.lent) { return }
        throw BackupDamage(
            "the code of frame \(number) is not one that the store's keys make: it is damaged, or somebody else has written the frame")
    }

    /// - Throws: `BackupDamage`.
    mutating func next() throws -> (kind: BackupFrame.Kind, body: [UInt8]) {
        let header = try source(BackupFrame.headerBytes)
        guard !header.isEmpty else { throw BackupDamage("it ends after frame \(number), before its end") }
        let magic = header.count == BackupFrame.headerBytes ? header.lent.load(UInt32.self, at: 0) : 0
        guard magic == BackupFrame.magic || magic == BackupFrame.magicWithCode else {
            throw BackupDamage(number == 0 ? "it is no backup of evstore" : "frame \(number) does not begin where it should")
        }
        let row = header.lent
        let size = row.load(UInt64.self, at: 8)
        guard let kind = UInt8(exactly: row.load(UInt32.self, at: 4)).flatMap(BackupFrame.Kind.init), size <= UInt64(BackupFrame.bytesMax),
            row.load(UInt64.self, at: 16) == number
        else { throw BackupDamage("the header of frame \(number) is invalid") }
        let code = magic == BackupFrame.magicWithCode ? try source(BackupFrame.codeBytes) : nil
        let body = try source(Int(size))
        guard body.count == Int(size) else { throw BackupDamage("it ends in frame \(number)") }
        link = BackupFrame.link(after: link, row, body.lent)
        guard link.bytes == Array(header[BackupFrame.linkedBytes...]) || !Guard.frameLink.isOn else {
            throw BackupDamage("frame \(number) does not follow the one before it")
        }
        try prove(number, link, code)
        if number < Self.beforeKeys { unproven.append((link, code)) }
        number &+= 1
        bytes += UInt64(BackupFrame.headerBytes + (code?.count ?? 0)) + size
        return (kind, body)
    }

    func isAtEnd() throws -> Bool { try source(1).isEmpty }
}

struct BackupDamage: Error, CustomStringConvertible {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    var description: String { reason }
}

extension EventLog {
    /// Reads a file of block frames that follow `base` (nil for the first file), and checks that it ends exactly at `end`.
    /// - Throws: `EvstoreError.backupDamaged`.
    package static func checkFrames(from source: @escaping (Int) throws -> [UInt8], after base: BackupBase?, through end: BackupBase) throws
    {
        try checking {
            var frames = FrameReader(source, after: base.map { ($0.frame, $0.frameLink) })
            while frames.number <= end.frame {
                guard try frames.next().kind != .end else { throw BackupDamage("it ends before it should") }
            }
            guard frames.link == end.frameLink, try frames.isAtEnd() else { throw BackupDamage("its end is not what was written") }
        }
    }

    /// Reads frames that follow `base`, and checks that the backup ends with this position and content.
    /// - Throws: `EvstoreError.backupDamaged`.
    package static func checkEnd(
        from source: @escaping (Int) throws -> [UInt8], after base: BackupBase?, position: Position, content: String
    ) throws {
        try checking {
            var frames = FrameReader(source, after: base.map { ($0.frame, $0.frameLink) })
            while true {
                let (kind, body) = try frames.next()
                guard kind == .end else { continue }
                guard let end = LogEnd(body), try frames.isAtEnd(), end.last.position == position, end.content.hex == content else {
                    throw BackupDamage("its end is not that of the run")
                }
                return
            }
        }
    }

    private static func checking(_ body: () throws -> Void) throws {
        do { try body() } catch let damage as BackupDamage {
            throw EvstoreError.backupDamaged(path: "that was written", reason: damage.reason)
        }
    }
}

/// The rows that a backup holds in addition to the blocks, because they can't be made from blocks.
enum BackupRows {
    /// The tables that a backup holds; `only` is the key of the only row that it holds, nil for all rows.
    private static func tables(_ tables: Tables) -> [(table: RowTable, only: [UInt8]?)] {
        TableDescriptor.log.compactMap { table in
            guard let kept = table.kept, let rows = tables[table] else { return nil }
            return (rows, kept.backedUp)
        }
    }

    /// Returns the bodies of the frames that hold the rows.
    static func bodies(_ transaction: borrowing ReadTransaction, _ all: Tables) throws -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        var body = ByteBuffer()
        for (table, only) in tables(all) {
            try table.forEach(transaction) { key, value in
                if only.map({ key.equals($0.lent) }) ?? true {
                    append(table.name, key, value, to: &body)
                    if body.count >= BackupFrame.bytesWanted {
                        bodies.append(body.array())
                        body.removeAll()
                    }
                }
                return true
            }
        }
        if body.count > 0 { bodies.append(body.array()) }
        return bodies
    }

    private static func append(_ table: String, _ key: RawSpan, _ value: RawSpan, to body: inout ByteBuffer) {
        body.append(UInt8(table.utf8.count))
        body.append(table)
        body.append(littleEndian: UInt16(key.byteCount))
        body.append(key)
        body.append(littleEndian: UInt32(value.byteCount))
        body.append(value)
    }

    /// Lends the rows of a frame's body, each with its table.
    /// - Throws: `BackupDamage`.
    static func forEach(_ body: [UInt8], _ all: Tables, _ each: (RowTable, _ key: RawSpan, _ value: RawSpan) throws -> Void) throws {
        let bytes = body.lent
        let known = tables(all)
        var offset = 0
        func take(_ count: Int) throws -> Int {
            guard count <= bytes.byteCount - offset else { throw BackupDamage("a row ends outside its frame") }
            defer { offset += count }
            return offset
        }
        while offset < bytes.byteCount {
            let nameBytes = Int(bytes.byte(at: try take(1)))
            let name = String(utf8: bytes.slice(try take(nameBytes), nameBytes))
            let keyBytes = Int(bytes.load(UInt16.self, at: try take(2)))
            let key = bytes.slice(try take(keyBytes), keyBytes)
            let valueBytes = Int(bytes.load(UInt32.self, at: try take(4)))
            let value = bytes.slice(try take(valueBytes), valueBytes)
            guard let entry = known.first(where: { $0.table.name == name }), entry.only.map({ key.equals($0.lent) }) ?? true,
                (1 ... 511).contains(keyBytes)
            else { throw BackupDamage("it has a row for a table that no backup holds") }
            if let complaint = complaint(entry.table.name, [UInt8](copying: key), [UInt8](copying: value)) { throw BackupDamage(complaint) }
            try each(entry.table, key, value)
        }
    }

    // MARK: Checking rows

    /// Why no store can have written a row, although its checksums are right; nil for a possible row.
    private static func complaint(_ table: String, _ key: [UInt8], _ value: [UInt8]) -> String? {
        switch table {
        case TableDescriptor.types.name:
            let isType = String(utf8: key.lent) != nil && value.count == 4 && value.lent.load(TypeID.self, at: 0) > 0
            return isType ? nil : "a row of the table types is invalid"
        case TableDescriptor.epochs.name: return Epochs.cut(key.lent, value.lent) == nil ? "a row of the table epochs is invalid" : nil
        case TableDescriptor.state.name:
            return StateRows.numbers(of: value) == nil ? "its numbers are invalid" : nil
        default:
            guard let catalogue = Catalogue(rawValue: table) else { return "no store has a table \(table)" }
            do throws(EvstoreError) { try CatalogueRows.check(catalogue, key, value, in: table) } catch {
                return "a row of the table \(table): \(error.message)"
            }
            return nil
        }
    }

    /// The id of the finding for a row that no store has written.
    static let foreignRow = "STORE022"
    private static let findingsMax = 10

    /// The findings about the rows of a log that can't be made from its events: the first ones of each table, up to `findingsMax`.
    static func findings(_ log: EventLog) throws -> [Finding] {
        var findings: [Finding] = []
        try log.read { reader in
            for (table, only) in tables(log.access.tables) {
                var left = findingsMax
                try table.forEach(reader.transaction) { key, value in
                    guard only.map({ key.equals($0.lent) }) ?? true else { return true }
                    guard let complaint = complaint(table.name, [UInt8](copying: key), [UInt8](copying: value)) else { return true }
                    findings.append(Finding(id: foreignRow, message: complaint))
                    left -= 1
                    return left > 0
                }
            }
            let (numbers, versions) = (try reader.state.numbers, try reader.count(.schemas))
            if !numbers.fit(versions) {
                findings.append(
                    Finding(id: foreignRow, message: "the store's numbers are \(numbers), and it has \(versions) registered versions"))
            }
        }
        return findings
    }

    /// Makes a log's rows equal to `wanted`, by table and key: removes other rows, and does not write equal ones again.
    static func replace(with wanted: [String: [[UInt8]: [UInt8]]], _ transaction: inout WriteTransaction, _ all: Tables) throws {
        for (table, only) in tables(all) {
            var missing = wanted[table.name] ?? [:]
            var gone: [[UInt8]] = []
            try table.forEach(transaction.reads) { key, value in
                if let only, !key.equals(only.lent) { return true }
                let name = [UInt8](copying: key)
                if let new = missing[name] {
                    if value.equals(new.lent) { missing[name] = nil }
                } else {
                    gone.append(name)
                }
                return true
            }
            for key in gone { try table.delete(key.lent, &transaction) }
            for (key, value) in missing { try table.put(key.lent, value.lent, &transaction) }
        }
    }
}
