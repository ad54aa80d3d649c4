internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

/// Makes the images of events that a step merges with others of their append.
///
/// It reads the append around a position, so that the ends of pages, batches and chunks of the log do not matter, and caches the last
/// append until a cut. Used by one thread.
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

    /// The first and the last image of an event of the append, or why it has none.
    private struct Place {
        var first = -1
        var last = -1
        var failure: ImageFailure?
    }

    private let log: EventLog
    private let viewer: PathRunner
    private let names: StreamNames
    private let target: SchemaVersion
    /// The cached append, with an entry for each of its events; the payloads of images are in `texts`.
    private var held: (epoch: Epoch, first: Position)?
    private var places: [Place] = []
    private var images: [Seen] = []
    private var texts = ByteBuffer()
    /// The kinds of the last events, at most four, within one epoch: most appends that are merged contain two.
    private var kinds: [(type: TypeID, born: SchemaVersion, name: String, merges: Bool)] = []

    package init(_ log: EventLog, _ viewer: PathRunner, _ names: StreamNames, at target: SchemaVersion) {
        (self.log, self.viewer, self.names, self.target) = (log, viewer, names, target)
    }

    /// Calls the body with the images that belong to the event at a position: never if they belong to a later event of its append.
    /// - Throws: `EvstoreError.noImage`, or what the body throws.
    package func view(_ position: Position, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void) throws {
        let epoch = reader.last.epoch
        if held?.epoch != epoch || place(of: position) == nil {
            if held?.epoch != epoch { kinds.removeAll() }
            held = nil
            held = (epoch, try read(around: position, reader))
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
        guard let held, position >= held.first else { return nil }
        let place = position.events(after: held.first)
        return place < UInt64(places.count) ? Int(place) : nil
    }

    /// Drops the cached append.
    func removeAll() {
        (held, places, images) = (nil, [], [])
        texts = ByteBuffer()
    }

    /// Reads the append that contains a position. Returns its first position.
    private func read(around position: Position, _ reader: borrowing LogReader) throws -> Position {
        var first = position
        while first > Position(1), try reader.closedRecord(at: first, { $0.continuesAppend }) == true { first = first.previous }
        var (events, groups): ([AppendedEvent], [(key: Key, places: [Int])]) = ([], [])
        places.removeAll(keepingCapacity: true)
        images.removeAll(keepingCapacity: true)
        texts.removeAll()
        // For each event to be merged, the index of its entry in `places`.
        var members: [Int] = []
        try reader.blocks(from: first) { block in
            for index in block.indices {
                let record = block.record(index)
                if record.position > first, !record.continuesAppend { return false }
                places.append(Place())
                let kind = try kind(of: record)
                guard kind.merges else { continue }
                let key = Key(stream: record.streamID, born: record.born)
                if groups.last?.key != key { groups.append((key, [])) }
                groups[groups.count - 1].places.append(events.count)
                members.append(places.count - 1)
                events.append(
                    AppendedEvent(
                        type: kind.name, payload: [UInt8](copying: record.payload), metadata: [UInt8](copying: record.metadata),
                        time: record.time, stream: try names.name(of: record, at: record.born, reader).text))
            }
            return true
        }
        if groups.count < 2 {
            if let key = groups.first?.key { try see(events, members, key, from: first) }
        } else {
            for (key, parts) in Dictionary(grouping: groups, by: \.key) {
                let chosen = parts.flatMap(\.places)
                try see(chosen.map { events[$0] }, chosen.map { members[$0] }, key, from: first)
            }
        }
        return first
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
    private func see(_ events: [AppendedEvent], _ members: [Int], _ key: Key, from first: Position) throws {
        try viewer.view(
            appended: events, born: key.born, at: target,
            failed: { index, failure in
                places[members[index]].failure = failure
                places[members[index]].failure?.position = first.plus(UInt64(members[index]))
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
