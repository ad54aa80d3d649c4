internal import Bytes
package import EventModel
package import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// A block of the log, lent and checked: its records can be read without further checks.
package struct BlockView: ~Escapable {
    package let bytes: RawSpan
    private let offsets: Int
    private let entryBytes: Int
    package let first: Position
    package let count: Int
    /// The records that were asked for: a block may begin before the scanned range and end after it.
    package internal(set) var indices: Range<Int>

    /// Checks rules 1 to 6 of `BlockLayout`.
    /// - Throws: `EvstoreError.corruptBlock`.
    @_lifetime(copy bytes)
    package init(checking bytes: RawSpan, at position: Position, storeTag: UInt64) throws(EvstoreError) {
        (self.bytes, first) = (bytes, position)
        (offsets, entryBytes, count) = try BlockLayout.check(bytes, at: position, storeTag: storeTag)
        indices = 0 ..< count
    }

    /// The copy of a block in which the records of its `indices` were opened, and no others.
    @_lifetime(copy bytes)
    init(opened bytes: RawSpan, _ block: borrowing BlockView) {
        (self.bytes, first, count, indices) = (bytes, block.first, block.count, block.indices)
        (offsets, entryBytes) = (block.offsets, BlockLayout.entryBytes)
    }

    /// Whether envelopes replace the payloads.
    package var isSealed: Bool { flags & BlockLayout.Mark.sealed != 0 }

    /// Whether there is one envelope for all records.
    package var isWhole: Bool { flags & BlockLayout.Mark.whole != 0 }

    /// Lends the block's envelopes: one for each record, or one for all.
    package func forEachEnvelope(_ body: (RawSpan) -> Void) {
        guard isSealed else { return }
        if let place = BlockLayout.envelope(bytes) { return body(bytes.slice(place.lowerBound, place.count)) }
        for index in 0 ..< count { body(record(index).payload) }
    }

    /// The numbers of the data keys that the block is sealed under.
    package var dataKeys: Set<UInt32> {
        var keys: Set<UInt32> = []
        forEachEnvelope { if let id = Envelope.keyID(of: $0) { keys.insert(id) } }
        return keys
    }

    private var flags: UInt32 { bytes.load(UInt32.self, at: BlockLayout.Header.flags) }

    /// Whether the block has the code that the store's keys make; without such keys, whether it has none.
    package func isCoded(by codes: StoreCodes?) -> Bool {
        let hasCode = flags & BlockLayout.Mark.coded != 0
        guard let codes, hasCode else { return hasCode == (codes != nil) }
        let body = body
        let code = bytes.slice(body.byteCount, BlockLayout.codeBytes)
        return codes.blocks.isCode(code, of: body) || !Guard.blockCode.isOn
    }

    /// The bytes before the table of offsets.
    var head: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(0, offsets) }
    }

    package var epoch: Epoch { Epoch(bytes.load(UInt32.self, at: BlockLayout.Header.epoch)) }
    /// The position of the last record.
    package var last: Position { first.plus(UInt64(count) - 1) }
    /// When the block was committed.
    package var time: Timestamp { Timestamp(microseconds: bytes.load(Int64.self, at: BlockLayout.Header.time)) }
    /// Bit (type id mod 64) for each type inside: a hint, never a proof.
    package var mask: UInt64 { bytes.load(UInt64.self, at: BlockLayout.Header.mask) }
    /// The hash chain over the log's bytes up to and including this block.
    package var link: Digest { Digest(linkBytes) ?? .zero }

    /// The block without its code and its checksum: the bytes that the link covers.
    var body: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(0, BlockLayout.bodyEnd(bytes)) }
    }

    var linkBytes: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(BlockLayout.Header.link, BlockLayout.Header.linkBytes) }
    }

    /// The index of the first record after a position; `count` where there is none.
    package func index(after position: Position) -> Int { min(Int(clamping: position.next.events(after: first)), count) }

    /// The record at `index`, from 0 to below `count`.
    @_lifetime(copy self)
    package func record(_ index: Int) -> RecordView {
        precondition(index >= 0 && index < count, "a record of the block")
        let start = Int(bytes.load(UInt32.self, at: offsets + index * entryBytes))
        return RecordView(bytes, at: start, first.plus(UInt64(index)))
    }

    /// The ids and names of the types inside.
    package var types: [(id: TypeID, name: String)] {
        var types: [(id: TypeID, name: String)] = []
        var offset = BlockLayout.headerBytes
        while offset < offsets {
            let count = Int(bytes.byte(at: offset + 4))
            types.append((bytes.load(TypeID.self, at: offset), String(utf8: bytes.slice(offset + 5, count)) ?? ""))
            offset += 5 + count
        }
        return types
    }

    func learn(_ names: TypeNames) {
        var offset = BlockLayout.headerBytes
        while offset < offsets {
            let id = bytes.load(TypeID.self, at: offset)
            let count = Int(bytes.byte(at: offset + 4))
            if names[id] == nil { names.learn(id, String(utf8: bytes.slice(offset + 5, count)) ?? "") }
            offset += 5 + count
        }
    }
}
