internal import Bytes
internal import EventModel

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
