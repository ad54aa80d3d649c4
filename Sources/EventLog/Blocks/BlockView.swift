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
    /// Which of the records were asked for: a block may begin before and end after what a scan wants.
    package internal(set) var indices: Range<Int>

    /// Checks rules 1 to 6 of `BlockLayout`.
    /// - Throws: `EvstoreError.corruptBlock`.
    @_lifetime(copy bytes)
    package init(checking bytes: RawSpan, at position: Position, storeTag: UInt64) throws(EvstoreError) {
        (self.bytes, first) = (bytes, position)
        (offsets, entryBytes, count) = try BlockLayout.check(bytes, at: position, storeTag: storeTag)
        indices = 0 ..< count
    }

    /// The copy of a block whose records were opened: those of its `indices`, and no others.
    @_lifetime(copy bytes)
    init(opened bytes: RawSpan, _ block: borrowing BlockView) {
        (self.bytes, first, count, indices) = (bytes, block.first, block.count, block.indices)
        (offsets, entryBytes) = (block.offsets, BlockLayout.entryBytes)
    }

    /// Whether envelopes stand in the places of payloads.
    package var isSealed: Bool { flags & BlockLayout.Mark.sealed != 0 }

    /// Whether there is one envelope for all records.
    package var isWhole: Bool { flags & BlockLayout.Mark.whole != 0 }

    /// Lends the envelopes that stand in it: one of each record, or one of all.
    package func forEachEnvelope(_ body: (RawSpan) -> Void) {
        guard isSealed else { return }
        if let place = BlockLayout.envelope(bytes) { return body(bytes.slice(place.lowerBound, place.count)) }
        for index in 0 ..< count { body(record(index).payload) }
    }

    /// The numbers of the data keys that it is sealed under.
    package var dataKeys: Set<UInt32> {
        var keys: Set<UInt32> = []
        forEachEnvelope { if let id = Envelope.keyID(of: $0) { keys.insert(id) } }
        return keys
    }

    private var flags: UInt32 { bytes.load(UInt32.self, at: BlockLayout.Header.flags) }

    /// Whether it has the code that the store's keys make, or none where those make none.
    package func isCoded(by codes: StoreCodes?) -> Bool {
        let hasCode = flags & BlockLayout.Mark.coded != 0
        guard let codes, hasCode else { return hasCode == (codes != nil) }
        let body = body
        let code = bytes.slice(body.byteCount, BlockLayout.codeBytes)
        return codes.blocks.isCode(code, of: body) || !Guard.blockCode.isOn
    }

    /// What stands before its table of offsets.
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
    /// The hash chain over the log's bytes up to and with this block.
    package var link: Digest { Digest(linkBytes) ?? .zero }

    /// All of it but the code and the checksum: what the link is over.
    var body: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(0, BlockLayout.bodyEnd(bytes)) }
    }

    var linkBytes: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(BlockLayout.Header.link, BlockLayout.Header.linkBytes) }
    }

    /// The index of the first record behind a position; `count` where all lie at or before it.
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
