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
    package var last: Position { first.plus(UInt64(count) - 1) }
    package var time: Timestamp { Timestamp(microseconds: bytes.load(Int64.self, at: BlockLayout.Header.time)) }
    /// Bit (type id mod 64) for each type inside: a hint, never a proof.
    package var mask: UInt64 { bytes.load(UInt64.self, at: BlockLayout.Header.mask) }
    /// The hash chain over the log's bytes up to and including this block.
    package var link: Digest { Digest(bytes.slice(BlockLayout.Header.link, BlockLayout.Header.linkBytes)) ?? .zero }

    /// The block without its code and its checksum: the bytes that the link covers.
    var body: RawSpan {
        @_lifetime(copy self)
        get { bytes.slice(0, BlockLayout.bodyEnd(bytes)) }
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

/// One event in its block: lent, nothing is copied.
package struct RecordView: ~Escapable {
    private let block: RawSpan
    private let start: Int
    package let position: Position

    @_lifetime(copy block)
    init(_ block: RawSpan, at start: Int, _ position: Position) {
        (self.block, self.start, self.position) = (block, start, position)
    }

    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, _ offset: Int) -> T {
        block.load(type, at: start + offset)
    }

    package var epoch: Epoch { Epoch(block.load(UInt32.self, at: BlockLayout.Header.epoch)) }
    /// The position of the stream's first event.
    package var streamID: UInt64 { load(UInt64.self, BlockLayout.Record.stream) }
    package var revision: Revision { Revision(load(UInt64.self, BlockLayout.Record.revision)) }
    /// The stream's previous event; 0 for the first one.
    package var previous: Position { Position(load(UInt64.self, BlockLayout.Record.previous)) }
    package var jump: Position { Position(load(UInt64.self, BlockLayout.Record.jump)) }
    package var time: Timestamp { Timestamp(microseconds: load(Int64.self, BlockLayout.Record.time)) }
    /// The type at birth; `EventLog.name(ofType:)` returns its name.
    package var type: TypeID { load(TypeID.self, BlockLayout.Record.type) }
    package var born: SchemaVersion { SchemaVersion(rawValue: load(UInt32.self, BlockLayout.Record.born)) }
    /// Whether the caller gave the id, which makes it unique in the store.
    package var idGiven: Bool { flags & BlockLayout.Flag.idGiven != 0 }
    /// Whether the event was appended together with the one before it.
    package var continuesAppend: Bool { flags & BlockLayout.Flag.sameAppend != 0 }

    /// Whether an envelope replaces the payload.
    package var isSealed: Bool { block.load(UInt32.self, at: BlockLayout.Header.flags) & BlockLayout.Mark.sealed != 0 }

    var flags: UInt16 { load(UInt16.self, BlockLayout.Record.flags) }
    private var idCount: Int { Int(load(UInt8.self, BlockLayout.Record.idBytes)) }
    private var nameCount: Int { Int(load(UInt8.self, BlockLayout.Record.nameBytes)) }
    private var payloadCount: Int { Int(load(UInt32.self, BlockLayout.Record.payloadBytes)) }
    private var metadataCount: Int { Int(load(UInt32.self, BlockLayout.Record.metadataBytes)) }
    private var afterID: Int { start + BlockLayout.recordBytes + idCount }
    private var afterMetadata: Int { afterID + nameCount + payloadCount + metadataCount }
    private var shadowCount: Int { Int(block.load(UInt32.self, at: afterMetadata)) }

    /// Whether a shadow, which older versions see of the event, is stored with it.
    package var hasShadow: Bool { flags & BlockLayout.Flag.shadow != 0 }

    var bytes: RawSpan {
        @_lifetime(copy self)
        get { block.slice(start, afterShadow - start) }
    }

    /// The whole block, of which perhaps only this record was checked.
    var blockBytes: RawSpan {
        @_lifetime(copy self)
        get { block }
    }

    var isWhole: Bool { block.load(UInt32.self, at: BlockLayout.Header.flags) & BlockLayout.Mark.whole != 0 }

    /// Appends the part before the payload, with other lengths of payload and metadata.
    func appendHead(to target: inout ByteBuffer, payloadBytes: Int, metadataBytes: Int, adding flags: UInt16 = 0) {
        let from = target.count
        target.append(block.slice(start, BlockLayout.recordBytes + idCount + nameCount))
        target.store(littleEndian: UInt32(payloadBytes), at: from + BlockLayout.Record.payloadBytes)
        target.store(littleEndian: UInt32(metadataBytes), at: from + BlockLayout.Record.metadataBytes)
        target.store(littleEndian: self.flags | flags, at: from + BlockLayout.Record.flags)
    }

    /// The id's bytes in the log: the 16 bytes of a UUID, most significant first, or a text.
    var idBytes: RawSpan {
        @_lifetime(copy self)
        get { block.slice(start + BlockLayout.recordBytes, idCount) }
    }

    package var id: EventID {
        if flags & BlockLayout.Flag.idText != 0 { return EventID(unchecked: String(utf8: idBytes) ?? "") }
        return EventID(uuid: (idBytes.load(UInt64.self, at: 0).byteSwapped, idBytes.load(UInt64.self, at: 8).byteSwapped))
    }

    /// The stream's name, which only its first event carries.
    package var streamName: StreamName? {
        nameCount == 0 ? nil : StreamName(unchecked: String(utf8: nameBytes) ?? "")
    }

    /// The bytes of the stream's name; empty for every later event.
    var nameBytes: RawSpan {
        @_lifetime(copy self)
        get { block.slice(afterID, nameCount) }
    }

    /// The payload's bytes, as they were appended.
    package var payload: RawSpan {
        @_lifetime(copy self)
        get { block.slice(afterID + nameCount, payloadCount) }
    }

    /// What older versions see of the event, as given in `StoredEvent.shadow`; empty where nothing is kept.
    package var shadow: RawSpan {
        @_lifetime(copy self)
        get { block.slice(hasShadow ? afterMetadata + BlockLayout.shadowBytes : afterMetadata, hasShadow ? shadowCount : 0) }
    }

    /// Whether the event has personal data that can be forgotten.
    package var isPersonal: Bool { flags & BlockLayout.Flag.personal != 0 }

    /// Whether its personal data was forgotten or lost: then the payload is what stays without it.
    package var isForgotten: Bool { flags & BlockLayout.Flag.forgotten != 0 }

    /// Whether its personal data was not looked at, as the reader wished: then the payload is what stays without it.
    package var isClosed: Bool { flags & BlockLayout.Flag.closed != 0 }

    /// Whether its personal data is missing because the key was damaged and the caller asked for the rest.
    package var isLost: Bool { flags & BlockLayout.Flag.lost != 0 }

    /// The number of the slot with its key, where the event has personal data.
    package var subject: UInt32 { block.load(UInt32.self, at: afterShadow) }

    private var afterShadow: Int { afterMetadata + (hasShadow ? BlockLayout.shadowBytes + shadowCount : 0) }

    /// What stays of the payload when personal data is forgotten; the payload itself where there is none.
    package var stays: RawSpan {
        @_lifetime(copy self)
        get {
            guard isPersonal else { return payload }
            return block.slice(afterShadow + 8, Int(block.load(UInt32.self, at: afterShadow + 4)))
        }
    }

    /// The metadata's bytes; empty where the event has none.
    package var metadata: RawSpan {
        @_lifetime(copy self)
        get { block.slice(afterID + nameCount + payloadCount, metadataCount) }
    }
}
