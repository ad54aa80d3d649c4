internal import Bytes
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// The block: the unit of the log on disk. Integers are little-endian; offsets count from the
/// block's first byte.
///
///     0   u32  magic: "evb" and the format, 2
///     4   u32  epoch
///     8   u64  store tag: the first 8 bytes of the store id
///     16  u64  first position
///     24  i64  time of the commit, microseconds since 1970
///     32  u64  mask of types: bit (type id mod 64) is set for each type inside
///     40  u32  events
///     44  u32  bytes of the whole block
///     48  32   link: SHA-256(previous link || block without its code and its checksum, with 32 zero bytes here)
///     80  u32  flags: 1 sealed · 2 a code is there · 4 sealed as a whole
///     84  u32  where the table of offsets begins
///     88       names of the types inside, by rising id: u32 id, u8 length, UTF-8
///              table of offsets: for each event u32 where its record begins, u32 the record's own checksum:
///              the low half of its XXH3-64, xor `place` of its position
///              records, one after the other; where the block is sealed as a whole, then an envelope
///     end-24   16   where a code is there: HMAC-SHA256 of all bytes before, cut off (`StoreCodes`)
///     end-8    u64  checksum: XXH3-64 of all bytes before
///
/// Format 1 has no checksums in its table: 4 bytes for each event. It is read, and not written any more.
///
/// A record:
///
///     0   u64  stream id: the position of the stream's first event
///     8   u64  revision
///     16  u64  position of the stream's previous event; 0 for the first
///     24  u64  jump position (`JumpList`); 0 for the first
///     32  i64  time, microseconds since 1970
///     40  u32  type id
///     44  u32  birth version
///     48  u32  payload bytes
///     52  u32  metadata bytes
///     56  u16  flags: 1 stream name present · 2 same append as the record before · 4 id given by
///              the caller · 8 the id is text (else a UUID's 16 bytes) · 16 a shadow is kept
///     58  u8   id bytes
///     59  u8   stream name bytes
///     60       id, stream name, payload, metadata; then, where a shadow is kept, u32 its bytes and the shadow: what
///              older versions see of the event, as `Shadow` writes it
///
/// A block that is sealed as a whole has records without payload, metadata and shadow. Those parts of all records are in the one envelope
/// behind them (`BlockSealer`), which is bound to store id, u32 epoch, u32 zero, u64 first position (its place), then the block's bytes up
/// to the envelope without those from 44 to 80. A stream's personal data is in envelopes within it, bound as follows.
///
/// In a sealed block of a store up to format 6, an `Envelope` replaces each payload, and metadata and shadow are inside it. It is bound to
/// store id, u32 epoch, u32 zero, u64 position (its place), then the record's first 60 bytes with zeros for the lengths of payload and
/// metadata, its id and its stream name.
///
/// A block is valid where it keeps all of these rules:
/// 1. It has at least 96 bytes, and byte 44 holds exactly how many.
/// 2. Magic and format are as above, the checksum holds, no flag is set that is not listed.
/// 3. The store tag is the store's; the first position is its key in the table `blocks`, 1 to 2^62.
/// 4. There is at least one event; names, offsets, records and an envelope of the whole follow each other without a gap and
///    end where the code or the checksum begins. A name is UTF-8 and not empty; every record's type is among the names, and the mask is
///    theirs.
/// 5. Every record's lengths add up to its place; an id has 1 to 255 bytes, and 16 where it is a UUID; a shadow is not empty;
///    the stream name is there exactly for revision 0. Ids and stream names are such as `EventID` and `StreamName` take.
///    In a sealed block there is neither metadata nor a shadow beside the envelope.
/// 6. A stream's first event is its id, with pointers of 0. Another one's lead back: stream id <= jump <= previous < its own
///    position, and between the stream's first and previous event is room for its revision.
/// 7. Within an epoch, first position = the previous block's first position + its events, and the
///    link is as above; the first block of an epoch links to `Epochs.link`. (`verify` checks this.)
/// 8. All blocks of a store that has keys are sealed, and none of another. From format 6 of a store on all of them have a
///    code, and it is right.
/// 9. Every record's own checksum holds. (`verify` checks this; a read of one event checks only this of its record.)
package enum BlockLayout {
    static let magic: UInt32 = 0x02_62_76_65
    private static let magicOfFormat1: UInt32 = 0x01_62_76_65
    /// The bytes of an event in the table of offsets.
    static let entryBytes = 8
    package static let headerBytes = 88
    package static let checksumBytes = 8
    static let codeBytes = 16
    static let recordBytes = 60
    /// The length before a shadow.
    static let shadowBytes = 4

    /// Eight pages of 4 KiB less LMDB's header of an overflow run; one byte more costs a page.
    package static let bytesMax = 32_752

    /// The bytes of an event in the table of offsets in any format; nil where the bytes do not begin a block.
    package static func entryBytes(of magic: UInt32) -> Int? { magic == self.magic ? entryBytes : magic == magicOfFormat1 ? 4 : nil }

    /// The block that begins at an offset, by the length in its header; nil where no block of that length does.
    @_lifetime(copy bytes)
    package static func block(_ bytes: RawSpan, at offset: Int) -> RawSpan? {
        guard offset <= bytes.byteCount - headerBytes else { return nil }
        let count = Int(bytes.load(UInt32.self, at: offset + Header.bytes))
        return count >= headerBytes + checksumBytes && count <= bytes.byteCount - offset ? bytes.slice(offset, count) : nil
    }

    /// The last position of a block, according to its header; nil where the header has another first position or no events.
    static func last(_ block: RawSpan, at first: Position) -> Position? {
        let count = UInt64(block.load(UInt32.self, at: Header.count))
        guard Position(block.load(UInt64.self, at: Header.first)) == first, count > 0, first > .start, first <= .largest else { return nil }
        return first.plus(count - 1)
    }

    /// Where the records of a block end. The bytes hold at least a header and a checksum.
    package static func bodyEnd(_ bytes: RawSpan) -> Int {
        let isCoded = bytes.load(UInt32.self, at: Header.flags) & Mark.coded != 0
        return bytes.byteCount - checksumBytes - (isCoded ? codeBytes : 0)
    }

    /// The value that a record's checksum is combined with, so that it is valid only in its place: bits 32 to 63 of (store tag + position +
    /// epoch * 0xD1B54A32D192ED03) * 0x9E3779B97F4A7C15, modulo 2^64. Both factors are odd, so that no bit of the three is lost.
    package static func place(_ storeTag: UInt64, _ epoch: Epoch, _ position: Position) -> UInt32 {
        let place = storeTag &+ position.rawValue &+ (UInt64(epoch.rawValue) &* 0xD1B5_4A32_D192_ED03)
        return UInt32(truncatingIfNeeded: (place &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }

    package enum Header {
        package static let epoch = 4
        package static let storeTag = 8
        package static let first = 16
        package static let time = 24
        package static let mask = 32
        package static let count = 40
        package static let bytes = 44
        package static let link = 48
        package static let linkBytes = 32
        package static let flags = 80
        package static let offsets = 84
    }

    package enum Mark {
        package static let sealed: UInt32 = 1
        package static let coded: UInt32 = 2
        package static let whole: UInt32 = 4
        package static let known: UInt32 = 7
    }

    enum Record {
        static let stream = 0
        static let revision = 8
        static let previous = 16
        static let jump = 24
        static let time = 32
        static let type = 40
        static let born = 44
        static let payloadBytes = 48
        static let metadataBytes = 52
        static let flags = 56
        static let idBytes = 58
        static let nameBytes = 59
    }

    enum Flag {
        static let named: UInt16 = 1
        static let sameAppend: UInt16 = 2
        static let idGiven: UInt16 = 4
        static let idText: UInt16 = 8
        static let shadow: UInt16 = 16
        static let known: UInt16 = 31
        /// Never set in a log, only in the copy of an opened record: its personal part was left closed, was forgotten, or the part's key is
        /// lost.
        static let closed: UInt16 = 1 << 12
        static let lost: UInt16 = 1 << 13
        static let personal: UInt16 = 1 << 14
        static let forgotten: UInt16 = 1 << 15
    }
}

extension BlockLayout {
    /// Checks rules 1 to 6; returns where the table of offsets begins, the length of its entries and their number.
    package static func check(
        _ bytes: RawSpan, at position: Position, storeTag: UInt64
    ) throws(EvstoreError) -> (offsets: Int, entryBytes: Int, count: Int) {
        func damaged(_ reason: String) -> EvstoreError { .corruptBlock(position: position, reason: reason) }
        let size = bytes.byteCount
        guard size >= headerBytes + checksumBytes else { throw damaged("the block has \(size) bytes, less than its header") }
        guard let entryBytes = entryBytes(of: bytes.load(UInt32.self, at: 0)) else {
            throw damaged("these bytes are not a block of format 1 or 2")
        }
        guard bytes.load(UInt32.self, at: Header.bytes) == UInt32(truncatingIfNeeded: size) else {
            throw damaged("the block's length is wrong")
        }
        let sum = size - checksumBytes
        guard checksum(bytes.slice(0, sum)) == bytes.load(UInt64.self, at: sum) || !Guard.blockChecksum.isOn else {
            throw damaged("the checksum does not fit")
        }
        let end = bodyEnd(bytes)
        let flags = bytes.load(UInt32.self, at: Header.flags)
        let isWhole = flags & Mark.whole != 0
        guard flags & ~Mark.known == 0, !isWhole || flags & Mark.sealed != 0 && entryBytes == Self.entryBytes else {
            throw damaged("a flag is set that this program does not know")
        }
        guard bytes.load(UInt64.self, at: Header.storeTag) == storeTag else { throw damaged("the block belongs to another store") }
        guard bytes.load(UInt64.self, at: Header.first) == position.rawValue else { throw damaged("the block belongs at another position") }
        let offsets = Int(bytes.load(UInt32.self, at: Header.offsets))
        let count = Int(bytes.load(UInt32.self, at: Header.count))
        guard position > .start, position <= .largest else { throw damaged("block position out of range") }
        guard count > 0, offsets >= headerBytes, offsets <= end, count <= (end - offsets) / entryBytes else {
            throw damaged("the table of offsets lies outside the block")
        }
        guard let names = NamedTypes(bytes, before: offsets) else {
            throw damaged("the names of the types inside are invalid, or out of order")
        }
        var (entry, next) = (offsets, offsets + count * entryBytes)
        for index in 0 ..< count {
            let place = position.rawValue &+ UInt64(index)
            guard Int(bytes.load(UInt32.self, at: entry)) == next, let length = recordLength(bytes, at: next, end, place) else {
                throw damaged("record \(index) is invalid, or out of place")
            }
            if isWhole, !isHeadAlone(bytes, at: next) { throw damaged("record \(index) has parts of its own") }
            guard names.contains(bytes.load(TypeID.self, at: next + Record.type), bytes) else {
                throw damaged("record \(index) has a type without a name")
            }
            entry += entryBytes
            next += length
        }
        if isWhole {
            guard end - next >= Envelope.headerBytes else { throw damaged("no envelope follows the last record") }
        } else if next != end {
            throw damaged("bytes follow the last record")
        }
        return (offsets, entryBytes, count)
    }

    /// Whether a record has neither payload nor metadata nor shadow, like all records of a block that is sealed as a whole.
    private static func isHeadAlone(_ bytes: RawSpan, at start: Int) -> Bool {
        bytes.load(UInt64.self, at: start + Record.payloadBytes) == 0
            && bytes.load(UInt16.self, at: start + Record.flags) & Flag.shadow == 0
    }

    /// Checks one record by its own checksum and returns where it begins. Nil where the whole block must be checked instead: the record has
    /// no checksum, or the block does not seem to hold it.
    static func checkRecord(_ bytes: RawSpan, at position: Position, after first: Position, storeTag: UInt64) throws(EvstoreError) -> Int? {
        guard bytes.byteCount >= headerBytes + checksumBytes else { return nil }
        let end = bodyEnd(bytes)
        guard end >= headerBytes, bytes.load(UInt32.self, at: 0) == magic, bytes.load(UInt32.self, at: Header.flags) & ~Mark.known == 0,
            position >= first, bytes.load(UInt64.self, at: Header.first) == first.rawValue
        else { return nil }
        let index = position.events(after: first)
        guard index < UInt64(bytes.load(UInt32.self, at: Header.count)) else { return nil }
        let entry = Int(bytes.load(UInt32.self, at: Header.offsets)) + Int(index) * entryBytes
        guard entry + entryBytes <= end else { return nil }
        let start = Int(bytes.load(UInt32.self, at: entry))
        let place = place(storeTag, Epoch(bytes.load(UInt32.self, at: Header.epoch)), position)
        let isWhole = bytes.load(UInt32.self, at: Header.flags) & Mark.whole != 0
        guard let length = recordLength(bytes, at: start, end, position.rawValue), !isWhole || isHeadAlone(bytes, at: start),
            UInt32(truncatingIfNeeded: checksum(bytes.slice(start, length))) ^ place == bytes.load(UInt32.self, at: entry + 4)
                || !Guard.recordChecksum.isOn
        else { throw .corruptBlock(position: first, reason: "the checksum of the event at \(position) does not fit") }
        return start
    }

    /// Where the envelope of a block lies that is sealed as a whole; nil where there is none. The bytes need not have been checked.
    static func envelope(_ bytes: RawSpan) -> Range<Int>? {
        guard bytes.byteCount >= headerBytes + checksumBytes, bytes.load(UInt32.self, at: Header.flags) & Mark.whole != 0 else {
            return nil
        }
        let (end, offsets) = (bodyEnd(bytes), Int(bytes.load(UInt32.self, at: Header.offsets)))
        let count = Int(bytes.load(UInt32.self, at: Header.count))
        guard count > 0, offsets >= headerBytes, offsets <= end, count <= (end - offsets) / entryBytes else { return nil }
        let start = Int(bytes.load(UInt32.self, at: offsets + (count - 1) * entryBytes))
        let position = bytes.load(UInt64.self, at: Header.first) &+ UInt64(count - 1)
        guard start >= headerBytes, let length = recordLength(bytes, at: start, end, position) else { return nil }
        return end - start - length >= Envelope.headerBytes ? start + length ..< end : nil
    }

    /// The bytes of the record at `start`, or nil where it breaks rule 5 or 6.
    @inline(__always)
    private static func recordLength(_ bytes: RawSpan, at start: Int, _ end: Int, _ position: UInt64) -> Int? {
        guard start &+ recordBytes <= end else { return nil }
        // A slice of known length, so that the loads below need no checks of their own.
        let head = bytes.slice(start, recordBytes)
        // Two loads for five adjacent fields.
        let sizes = head.load(UInt64.self, at: Record.payloadBytes)
        let marks = head.load(UInt32.self, at: Record.flags)
        let flags = UInt16(truncatingIfNeeded: marks)
        let idBytes = Int(marks >> 16 & 0xff)
        let nameBytes = Int(marks >> 24)
        var length = recordBytes &+ idBytes &+ nameBytes &+ Int(UInt32(truncatingIfNeeded: sizes)) &+ Int(sizes >> 32)
        guard start + length <= end, flags & ~Flag.known == 0 else { return nil }
        if flags & Flag.shadow != 0 {
            guard start + length + shadowBytes <= end else { return nil }
            let count = Int(bytes.load(UInt32.self, at: start + length))
            length += shadowBytes + count
            guard count > 0, start + length <= end else { return nil }
        }
        guard flags & Flag.idText == 0 ? idBytes == 16 : idBytes > 0 else { return nil }
        let texts = start + recordBytes
        if flags & Flag.idText != 0, !isID(bytes.slice(texts, idBytes)) { return nil }
        let isFirst = head.load(UInt64.self, at: Record.revision) == 0
        guard isFirst == (flags & Flag.named != 0), isFirst == (nameBytes > 0), leadsBack(head, position) else { return nil }
        if isFirst, !StreamName.isValid(bytes.slice(texts + idBytes, nameBytes)) { return nil }
        return length
    }
}

/// Checks of the texts and pointers in a block: another program may have written it with right checksums and any content.
extension BlockLayout {
    /// Rule 4 for the names of types: rising ids, valid texts, and a mask that matches them.
    struct NamedTypes {
        private let limit: Int
        private var mask: UInt64 = 0
        private var last: TypeID = 0

        init?(_ bytes: RawSpan, before limit: Int) {
            self.limit = limit
            var offset = headerBytes
            while offset < limit {
                guard offset + 5 <= limit else { return nil }
                let id = bytes.load(TypeID.self, at: offset)
                let count = Int(bytes.byte(at: offset + 4))
                guard id > last, count > 0, offset + 5 + count <= limit, isText(bytes.slice(offset + 5, count)) else { return nil }
                mask |= 1 << UInt64(id % 64)
                last = id
                offset += 5 + count
            }
            if mask != bytes.load(UInt64.self, at: Header.mask) { return nil }
        }

        /// Whether a type is among the names. O(1) where each has a bit of its own, else O(names).
        @inline(__always)
        func contains(_ type: TypeID, _ bytes: RawSpan) -> Bool {
            if last < 64 { return type < 64 && mask >> UInt64(type) & 1 == 1 }
            return isNamed(type, bytes)
        }

        private func isNamed(_ type: TypeID, _ bytes: RawSpan) -> Bool {
            var offset = headerBytes
            while offset < limit {
                let id = bytes.load(TypeID.self, at: offset)
                if id >= type { return id == type }
                offset += 5 + Int(bytes.byte(at: offset + 4))
            }
            return false
        }
    }

    /// Rule 6: following a record's pointers leads to its stream's beginning.
    @inline(__always)
    static func leadsBack(_ head: RawSpan, _ position: UInt64) -> Bool {
        let stream = head.load(UInt64.self, at: Record.stream)
        let revision = head.load(UInt64.self, at: Record.revision)
        let previous = head.load(UInt64.self, at: Record.previous)
        let jump = head.load(UInt64.self, at: Record.jump)
        if revision == 0 { return stream == position && previous == 0 && jump == 0 }
        return stream > 0 && stream <= jump && jump <= previous && previous < position && revision - 1 <= previous - stream
    }

    /// Whether `EventID` accepts these bytes.
    static func isID(_ bytes: RawSpan) -> Bool {
        if bytes.byteCount > EventID.longestBytes { return EventID.isValid(bytes) }
        var isPlain = true
        for offset in 0 ..< bytes.byteCount {
            let byte = bytes.byte(at: offset)
            if byte < 0x20 || byte == 0x7f { return false }
            if byte > 0x7f { isPlain = false }
        }
        return isPlain || isText(bytes)
    }

    private static func isText(_ bytes: RawSpan) -> Bool {
        for offset in 0 ..< bytes.byteCount where bytes.byte(at: offset) >= 0x80 { return String(utf8: bytes) != nil }
        return true
    }
}
