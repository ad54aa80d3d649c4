internal import Bytes
internal import EventLog
package import EventModel

/// The positions at which the index has a query's tags, in the order of the log or backwards, some at a time.
///
/// Fast way: whoever does not use it looks at each event. It gives too many positions where two tags have one code, and those of events
/// without an image, which may have any tags; it never gives too few up to its checkpoint, unless the index is
/// damaged. Each page of rows is read in a transaction of
/// its own.
///
/// The rows of several tags are joined by leaps: each goes to the first row at or behind that of the others, so the rarest tag decides how
/// many rows are read.
package struct TagPostings {
    /// How far the index had consumed the log.
    package let checkpoint: Checkpoint
    private let backwards: Bool
    /// The bounds of the positions that are given, both included.
    private let first, last: Position
    private var items: [Item]
    private var quarantined: QuarantineCursor

    /// - Parameters:
    ///   - header: the index's, read before anything else of it.
    ///   - codes: those of the tags of each item; no item is without any.
    ///   - start: the first position, or backwards the last one, that is given.
    package init(
        _ generation: Generation, _ header: GenerationHeader, of codes: [[[UInt8]]], from start: Position, backwards: Bool
    ) throws(EvstoreError) {
        (checkpoint, self.backwards) = (header.checkpoint, backwards)
        first = backwards ? Position(1) : start
        last = backwards ? min(start, header.checkpoint.position) : header.checkpoint.position
        let chunk = TagChunk.number(of: backwards ? last : first)
        items = codes.map { codes in
            Item(
                cursors: codes.map { TagCursor(generation, $0, from: chunk, backwards: backwards) }, chunk: chunk, backwards: backwards)
        }
        quarantined = QuarantineCursor(
            generation, from: backwards ? last : first, backwards: backwards, isEmpty: header.quarantined == 0)
    }

    /// The next positions, in order; nil at the end.
    package mutating func next() throws(EvstoreError) -> [Position]? {
        while true {
            var next: UInt64?
            for index in items.indices { next = earlier(next, try items[index].current()?.number) }
            next = earlier(next, try quarantined.first().map(TagChunk.number))
            guard let next else { return nil }
            var places = TagPlaces()
            for index in items.indices { if let more = try items[index].take(next) { places.bits |= more.bits } }
            while let position = try quarantined.first(), TagChunk.number(of: position) == next {
                places.insert(UInt8(truncatingIfNeeded: position.rawValue))
                quarantined.removeFirst()
            }
            let positions = places.positions(in: next).filter { first <= $0 && $0 <= last }
            if !positions.isEmpty { return backwards ? positions.reversed() : positions }
            if backwards ? next < TagChunk.number(of: first) : next > TagChunk.number(of: last) { return nil }
        }
    }

    private func earlier(_ one: UInt64?, _ other: UInt64?) -> UInt64? {
        guard let one, let other else { return one ?? other }
        return backwards ? max(one, other) : min(one, other)
    }
}

/// Places among 256 positions.
private struct TagPlaces {
    var bits = SIMD4<UInt64>()

    static let all = TagPlaces(bits: SIMD4(repeating: .max))

    init(bits: SIMD4<UInt64> = SIMD4()) { self.bits = bits }

    init(_ row: [UInt8]) {
        for place in row { insert(place) }
    }

    mutating func insert(_ place: UInt8) { bits[Int(place >> 6)] |= 1 << UInt64(place & 63) }

    var isEmpty: Bool { bits == SIMD4() }

    func positions(in chunk: UInt64) -> [Position] {
        var found: [Position] = []
        for word in 0 ..< 4 {
            var rest = bits[word]
            while rest != 0 {
                found.append(Position(chunk * TagChunk.positions + UInt64(word * 64 + rest.trailingZeroBitCount)))
                rest &= rest - 1
            }
        }
        return found
    }
}

/// The events without an image, which may have any tags, a page at a time.
private struct QuarantineCursor {
    private let generation: Generation
    private let backwards: Bool
    private var page: ArraySlice<Position> = []
    /// Where the next page begins.
    private var next: Position
    private var isAtEnd: Bool

    private static let pageRows = 1_000

    init(_ generation: Generation, from start: Position, backwards: Bool, isEmpty: Bool) {
        (self.generation, next, self.backwards, isAtEnd) = (generation, start, backwards, isEmpty)
    }

    mutating func first() throws(EvstoreError) -> Position? {
        if page.isEmpty, !isAtEnd {
            page = try generation.quarantinedPositions(from: next, backwards: backwards, limit: Self.pageRows)[...]
            isAtEnd = page.count < Self.pageRows
            if let last = page.last { next = backwards ? last.previous : last.next }
        }
        return page.first
    }

    mutating func removeFirst() { page.removeFirst() }
}

/// The rows of one tag, of which one is at hand.
private struct TagCursor {
    private let generation: Generation
    private let code: [UInt8]
    private let backwards: Bool
    private var page: ArraySlice<(key: [UInt8], value: [UInt8])> = []
    /// Whether no row is behind the page.
    private var isAtEnd = false
    private var pageRows = pageRowsFirst
    /// The chunk at which the next page begins.
    private var next: UInt64

    private static let (pageRowsFirst, pageRowsMax) = (4, 1_024)

    init(_ generation: Generation, _ code: [UInt8], from chunk: UInt64, backwards: Bool) {
        (self.generation, self.code, self.backwards, next) = (generation, code, backwards, chunk)
    }

    /// The first row at or behind a chunk; nil where there is none.
    mutating func seek(_ chunk: UInt64) throws(EvstoreError) -> (number: UInt64, places: TagPlaces)? {
        while true {
            while let row = page.first {
                guard let number = TagChunk.number(in: row.key) else { throw generation.damaged("a row of the tag index has no place") }
                if backwards ? number <= chunk : number >= chunk { return (number, TagPlaces(row.value)) }
                page.removeFirst()
            }
            if isAtEnd { return nil }
            let start = backwards ? min(next, chunk) : max(next, chunk)
            // Behind a leap the rows that follow may be leapt over, too.
            if start != next { pageRows = Self.pageRowsFirst }
            page = try generation.page(range(from: start), backwards: backwards, limit: pageRows)[...]
            isAtEnd = page.count < pageRows
            pageRows = min(pageRows * 4, Self.pageRowsMax)
            guard let last = page.last.flatMap({ TagChunk.number(in: $0.key) }) else { continue }
            if backwards && last == 0 { isAtEnd = true } else { next = backwards ? last - 1 : last + 1 }
        }
    }

    private func range(from chunk: UInt64) -> KeyRange {
        var bound = ByteBuffer(capacity: 32)
        bound.append(code)
        bound.append(chunk: backwards ? chunk + 1 : chunk)
        let end = code + [UInt8](repeating: 0xff, count: TagChunk.numberBytes + 1)
        return backwards ? KeyRange(lower: code, upper: bound.array()) : KeyRange(lower: bound.array(), upper: end)
    }
}

/// The chunks in which all tags of one item have a common place.
private struct Item {
    private var cursors: [TagCursor]
    private let backwards: Bool
    /// Where the search goes on; nil at the end.
    private var chunk: UInt64?
    private var found: (number: UInt64, places: TagPlaces)?

    init(cursors: [TagCursor], chunk: UInt64, backwards: Bool) {
        (self.cursors, self.chunk, self.backwards) = (cursors, chunk, backwards)
    }

    mutating func current() throws(EvstoreError) -> (number: UInt64, places: TagPlaces)? {
        while found == nil, let start = chunk {
            guard let common = try leap(from: start) else {
                chunk = nil
                break
            }
            if !common.places.isEmpty { found = common }
            chunk = backwards ? (common.number == 0 ? nil : common.number - 1) : common.number + 1
        }
        return found
    }

    /// The places in a chunk, which is then left; nil where the item has none there.
    mutating func take(_ chunk: UInt64) throws(EvstoreError) -> TagPlaces? {
        guard let current = try current(), current.number == chunk else { return nil }
        found = nil
        return current.places
    }

    /// The first chunk at or behind another one in which each tag has a row.
    private mutating func leap(from start: UInt64) throws(EvstoreError) -> (number: UInt64, places: TagPlaces)? {
        var chunk = start
        while true {
            var places = TagPlaces.all
            var isCommon = true
            for index in cursors.indices where isCommon {
                guard let row = try cursors[index].seek(chunk) else { return nil }
                isCommon = row.number == chunk
                chunk = row.number
                places.bits &= row.places.bits
            }
            if isCommon { return (chunk, places) }
        }
    }
}
