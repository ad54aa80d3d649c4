internal import Bytes

/// The member names of the objects that are open while a text is read, to detect duplicates.
struct NameStack: ~Copyable {
    /// The range of a name's bytes: in the text, or in `unescaped`.
    struct Name: BitwiseCopyable {
        var start: Int32
        var count: Int32
        var hash: UInt32
        /// The offset of the opening quote in the text, for error messages.
        var quote: Int32
        var isUnescaped: Bool
    }

    /// Up to so many members, each name is compared with the earlier ones. In larger objects, the hashes of all are compared at the end.
    static let fewNames = 16

    private var names = UniqueArray<Name>(capacity: 32)
    private var unescaped: [UInt8] = []

    var count: Int { names.count }

    @inline(__always)
    mutating func removeLast(_ count: Int) { names.removeLast(count) }

    /// Pushes a name, given the content of its literal.
    @inline(__always)
    mutating func append(_ text: RawSpan, _ start: Int, _ count: Int, hasEscapes: Bool) -> Name {
        let name: Name
        if hasEscapes {
            name = unescape(text, start, count)
        } else {
            name = Name(
                start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count),
                hash: NameStack.hash(text, start, count), quote: Int32(truncatingIfNeeded: start - 1), isUnescaped: false)
        }
        names.append(name)
        return name
    }

    /// Whether the object whose names follow the first `outer` ones already has the name that was pushed last.
    @inline(never)
    func hasTwice(_ name: Name, after outer: Int, in text: RawSpan) -> Bool {
        for index in outer ..< names.count - 1 where names[index].hash == name.hash {
            if compare(names[index], name, text) == 0 { return true }
        }
        return false
    }

    /// The offset of the first duplicate name, in an object of any size. If hashes collide or the hash table fills badly, the names are
    /// sorted by hash and then bytewise, which bounds the cost even for names that were chosen to collide.
    mutating func duplicate(after outer: Int, in text: RawSpan) -> Int? {
        if haveOwnHashes(after: outer) { return nil }
        var own = (outer ..< names.count).map { names[$0] }
        own.sort { left, right in
            if left.hash != right.hash { return left.hash < right.hash }
            let order = compare(left, right, text)
            return order == 0 ? left.quote < right.quote : order < 0
        }
        var first: Int?
        for index in 1 ..< max(own.count, 1) where own[index].hash == own[index - 1].hash {
            if compare(own[index], own[index - 1], text) == 0 { first = min(first ?? .max, Int(own[index].quote)) }
        }
        return first
    }

    private func haveOwnHashes(after outer: Int) -> Bool {
        let count = names.count - outer
        let size = 1 << (Int.bitWidth - count.leadingZeroBitCount + 1)
        // An open-addressing table indexed by the low bits; zero marks a free entry.
        var table = [UInt32](repeating: 0, count: size)
        var stepsLeft = count
        for index in outer ..< names.count {
            let hash = max(names[index].hash, 1)
            var place = Int(hash) & (size - 1)
            while table[place] != 0 {
                if table[place] == hash || stepsLeft == 0 { return false }
                stepsLeft -= 1
                place = (place + 1) & (size - 1)
            }
            table[place] = hash
        }
        return true
    }

    @inline(never)
    private mutating func unescape(_ text: RawSpan, _ start: Int, _ count: Int) -> Name {
        var plain = ByteBuffer(capacity: count)
        appendUnescaped(text.slice(start, count), into: &plain)
        let first = unescaped.count
        unescaped.append(copying: plain.bytes)
        return Name(
            start: Int32(first), count: Int32(plain.count), hash: NameStack.hash(plain.bytes, 0, plain.count),
            quote: Int32(truncatingIfNeeded: start - 1), isUnescaped: true)
    }

    private func compare(_ left: Name, _ right: Name, _ text: RawSpan) -> Int {
        let a = (left.isUnescaped ? unescaped.lent : text).slice(Int(left.start), Int(left.count))
        let b = (right.isUnescaped ? unescaped.lent : text).slice(Int(right.start), Int(right.count))
        return a.compare(b)
    }

    @inline(__always)
    private static func hash(_ text: RawSpan, _ start: Int, _ count: Int) -> UInt32 {
        var hash = UInt64(truncatingIfNeeded: count)
        // Most names fit one word.
        if count &- 1 < 8, count > 0, start &+ 8 <= text.byteCount {
            hash = (hash ^ text.load(UInt64.self, at: start) &<< UInt64(truncatingIfNeeded: 64 &- 8 &* count)) &* 0x9E37_79B9_7F4A_7C15
            return UInt32(truncatingIfNeeded: hash ^ hash &>> 32)
        }
        return hashWords(text, start, count)
    }

    @inline(never)
    private static func hashWords(_ text: RawSpan, _ start: Int, _ count: Int) -> UInt32 {
        var hash = UInt64(truncatingIfNeeded: count)
        var offset = start
        let end = start &+ count
        while offset < end {
            let own = min(end &- offset, 8)
            let word = text.loadOrZeros(UInt64.self, at: offset)
            // Bytes beyond the name are shifted out, so that a name's hash does not depend on its location.
            hash = (hash ^ word &<< UInt64(truncatingIfNeeded: 64 &- 8 &* own)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash &>> 32
            offset &+= 8
        }
        return UInt32(truncatingIfNeeded: hash)
    }
}
