internal import Bytes
internal import EventModel
internal import Sealing

/// The additional data that an envelope is bound to: its place in a store, and the record or the block around it. `BlockLayout` lists the
/// bytes.
struct RecordBinding: ~Copyable {
    private var room = ByteBuffer()
    private let storeID: [UInt8]

    init(_ storeID: StoreID) { self.storeID = storeID.bytes }

    /// Begins with the place; the caller appends the rest.
    mutating func begin(_ epoch: Epoch, _ position: Position) {
        room.removeAll()
        room.append(storeID)
        room.append(littleEndian: epoch.rawValue)
        room.append(littleEndian: 0 as UInt32)
        room.append(littleEndian: position.rawValue)
    }

    mutating func append(head write: (inout ByteBuffer) -> Void) { write(&room) }

    mutating func append(_ record: borrowing RecordView) { record.appendHead(to: &room, payloadBytes: 0, metadataBytes: 0) }

    /// Appends a block up to its envelope, without its length and its link, which depend on what is sealed.
    mutating func append(blockWithoutEnvelope block: RawSpan) {
        room.append(block.slice(0, BlockLayout.Header.bytes))
        room.append(block.slice(BlockLayout.Header.flags, block.byteCount - BlockLayout.Header.flags))
    }

    var bytes: RawSpan {
        @_lifetime(borrow self)
        get { room.bytes }
    }
}
