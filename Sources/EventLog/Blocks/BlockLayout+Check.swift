internal import Bytes
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

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
        guard flags & Flag.idText == 0 ? idBytes == 16 : (1 ... 64).contains(idBytes) else { return nil }
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

        /// Nil where the names break the rule.
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
