internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

/// How a reader comes from one event to the next. It decides what is read around an event that a step merges with others.
package enum ReadOrder: Sendable {
    /// From position to position: the whole append, since its other events come next.
    case log
    /// From event to event of one stream, or to a single event: only this stream's events of the append, since no others are merged.
    case stream
}

/// Makes the images of events that a step merges with others of their append.
///
/// It reads the append around a position, so that the ends of pages, batches and chunks of the log do not matter, and caches what it has
/// read last until a cut. Used by one thread.
package final class MergedAppends {
    /// Events are merged only with events of the same stream and birth version.
    private struct Key: Hashable {
        var stream: UInt64
        var born: SchemaVersion
    }

    /// An image, and the index of the next image of the same event; -1 for the last one.
    private struct Seen {
        let type: String
        let typeIndex: Int
        let text: Range<Int>
        var next = -1
    }

    /// An event that a step may merge: its first and its last image, or why it has none.
    private struct Place {
        let position: Position
        let key: Key
        var first = -1
        var last = -1
        var failure: ImageFailure?
    }

    private let log: EventLog
    private let viewer: PathRunner
    private let names: StreamNames
    private let target: SchemaVersion
    /// The epoch of the cached events; nil where none are.
    private var held: Epoch?
    /// Events of one append, upwards; the payloads of their images are in `texts`.
    private var places: [Place] = []
    private var events: [AppendedEvent] = []
    private var images: [Seen] = []
    private var texts = ByteBuffer()
    /// The kinds of the last events, at most four, within one epoch: most appends that are merged contain two.
    private var kinds: [(type: TypeID, born: SchemaVersion, name: String, merges: Bool)] = []

    package init(_ log: EventLog, _ viewer: PathRunner, _ names: StreamNames, at target: SchemaVersion) {
        (self.log, self.viewer, self.names, self.target) = (log, viewer, names, target)
    }

    /// Calls the body with the images that belong to the event at a position: never if they belong to a later event of its append.
    /// - Throws: `EvstoreError.noImage`, or what the body throws.
    package func view(
        _ position: Position, _ reader: borrowing LogReader, in order: ReadOrder = .log, _ body: (borrowing Image) throws -> Void
    ) throws {
        let epoch = reader.last.epoch
        if held != epoch || place(of: position) == nil {
            if held != epoch { kinds.removeAll() }
            held = nil
            try read(around: position, reader, in: order)
            held = epoch
        }
        guard let place = place(of: position) else { return }
        if let failure = places[place].failure { throw EvstoreError.noImage(failure) }
        var (next, part) = (places[place].first, 0)
        while next >= 0 {
            try Self.show(images[next], part, texts, body)
            (next, part) = (images[next].next, part + 1)
        }
    }

    private static func show(
        _ seen: Seen, _ part: Int, _ texts: borrowing ByteBuffer, _ body: (borrowing Image) throws -> Void
    ) throws {
        let payload = texts.slice(seen.text.lowerBound, seen.text.count)
        try body(Image(type: seen.type, typeIndex: seen.typeIndex, payload: payload, part: part))
    }

    private func place(of position: Position) -> Int? {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < places.count && places[low].position == position ? low : nil
    }

    func removeAll() {
        (held, places, events, images) = (nil, [], [], [])
        texts = ByteBuffer()
    }

    /// Reads the events of an append around a position.
    private func read(around position: Position, _ reader: borrowing LogReader, in order: ReadOrder) throws {
        places.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        images.removeAll(keepingCapacity: true)
        texts.removeAll()
        func take(_ record: borrowing RecordView) throws {
            let kind = try kind(of: record)
            guard kind.merges else { return }
            places.append(Place(position: record.position, key: Key(stream: record.streamID, born: record.born)))
            events.append(
                AppendedEvent(
                    type: kind.name, payload: [UInt8](copying: record.payload), metadata: [UInt8](copying: record.metadata),
                    time: record.time, stream: try names.name(of: record, at: record.born, reader).text))
        }
        switch order {
        case .log: try reader.append(around: position) { try take($0) }
        case .stream: try reader.appendInStream(around: position) { try take($0) }
        }
        guard let key = places.first?.key else { return }
        defer { events.removeAll(keepingCapacity: true) }
        if places.allSatisfy({ $0.key == key }) {
            try see(events, places.indices, key)
        } else {
            for (key, chosen) in Dictionary(grouping: places.indices, by: { places[$0].key }) {
                try see(chosen.map { events[$0] }, chosen, key)
            }
        }
    }

    private func kind(of record: borrowing RecordView) throws -> (type: TypeID, born: SchemaVersion, name: String, merges: Bool) {
        for kind in kinds where kind.type == record.type && kind.born == record.born { return kind }
        let name = log.name(ofType: record.type)
        let kind = (record.type, record.born, name, try viewer.path(type: name, born: record.born, to: target).merges)
        if kinds.count == 4 { kinds.removeFirst() }
        kinds.append(kind)
        return kind
    }

    /// Makes the images of events of one stream and birth version.
    /// - Parameter members: the indexes of their entries in `places`.
    private func see<Members: RandomAccessCollection>(_ events: [AppendedEvent], _ members: Members, _ key: Key) throws
    where Members.Element == Int, Members.Index == Int {
        try viewer.view(
            appended: events, born: key.born, at: target,
            failed: { index, failure in
                var failure = failure
                failure.position = places[members[index]].position
                places[members[index]].failure = failure
            }
        ) { index, image in
            let start = texts.count
            texts.append(image.payload)
            images.append(Seen(type: image.type, typeIndex: image.typeIndex, text: start ..< texts.count))
            let place = members[index]
            if places[place].last < 0 { places[place].first = images.count - 1 } else { images[places[place].last].next = images.count - 1 }
            places[place].last = images.count - 1
        }
    }
}
