internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// Appends events anew, in their order, if some in between are missing: the new positions and revisions have no gaps.
final class Renumbering {
    /// The progress, copied before each transaction, since a transaction may be repeated.
    struct State {
        var names: SalvagedNames
        var link: Digest
        /// How many blocks were appended.
        var blocks = 0
        var next = Position(1)
        var types: [Name: TypeID] = [:]
        var newestBirth: UInt32 = 0
        fileprivate var streams: [UInt64: Stream] = [:]
        /// The old position of the last event.
        fileprivate var last = Position.start

        init(names: SalvagedNames, link: Digest) { (self.names, self.link) = (names, link) }
    }

    /// A stream in the new log: its id, its last revision, and the positions on the jump chain of its head, with the head last.
    fileprivate struct Stream {
        let id: UInt64
        var revision: UInt64 = 0
        var chain: [UInt64]
    }

    private var writer: BlockWriter

    init(_ access: LogAccess) { writer = BlockWriter(access) }

    func append(_ block: BlockView, _ state: inout State, _ put: BlockWriter.BlockSink) throws {
        let types = Dictionary(block.types.map { ($0.id, $0.name) }) { first, _ in first }
        writer.begin(.first, first: state.next, link: state.link, time: block.time)
        for index in 0 ..< block.count {
            let record = block.record(index)
            let events = [Self.event(record, state.names.name(of: record), types[record.type] ?? "")]
            let place = place(of: record, events[0].type, &state)
            try writer.add(events.span, 0, place, put)
            state.newestBirth = max(state.newestBirth, record.born.rawValue)
            (state.last, state.next) = (record.position, state.next.next)
        }
        try writer.finish(put)
        state.link = writer.lastLink
        state.blocks += 1
    }

    private static func event(_ record: RecordView, _ stream: StreamName, _ type: String) -> StoredEvent {
        // An id that the store had made is kept through `place`, so that it does not count as given by a caller.
        let isMade = !record.idGiven && record.id.uuid != nil
        var event = StoredEvent(
            stream: stream, type: type, born: record.born, payload: [UInt8](copying: record.payload),
            metadata: [UInt8](copying: record.metadata), id: isMade ? nil : record.id, time: record.time)
        event.shadow = [UInt8](copying: record.shadow)
        if record.isPersonal, !record.isForgotten { event.forgotten = [UInt8](copying: record.stays) }
        return event
    }

    private func place(of record: RecordView, _ type: String, _ state: inout State) -> BlockWriter.AssignedFields {
        let id = state.types[type] ?? TypeID(state.types.count + 1)
        state.types[type] = id
        let isSameAppend = record.continuesAppend && state.last > .start && record.position == state.last.next
        var place = BlockWriter.AssignedFields(type: id, isSameAppend: isSameAppend, madeID: record.idGiven ? nil : record.id.uuid)
        let position = state.next.rawValue
        guard var stream = state.streams[record.streamID], let before = stream.chain.last else {
            state.streams[record.streamID] = Stream(id: position, chain: [position])
            place.stream = position
            return place
        }
        stream.revision += 1
        (place.stream, place.revision, place.previous, place.jump) = (stream.id, stream.revision, before, before)
        if JumpList.isMerging(stream.revision), stream.chain.count >= 3 {
            place.jump = stream.chain[stream.chain.count - 3]
            stream.chain.removeLast(2)
        }
        stream.chain.append(position)
        state.streams[record.streamID] = stream
        return place
    }
}
