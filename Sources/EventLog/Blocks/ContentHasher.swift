package import EventModel
package import Hashing

/// SHA-256 over events, in order: position, stream name, revision, id, time, type, birth version, payload and metadata; the length comes
/// before each text and run of bytes. Equal content has equal hashes in any store. Of personal data only what stays when it is forgotten is
/// hashed, so that the hash is equal before and after.
package struct ContentHasher {
    /// Hashes payloads as readers see them, with personal data: for a comparison with a store without keys.
    private let hashesShownPayloads: Bool
    private var hasher = SHA256Hasher()
    private var streams: [UInt64: String] = [:]
    /// The slots with the keys of personal parts, whether or not these were opened: each with the stream and the first event that name it.
    private(set) var slots: [UInt32: (stream: String, first: Position)] = [:]

    package init(hashesShownPayloads: Bool = false) { self.hashesShownPayloads = hashesShownPayloads }

    /// Adds the events of a block that are in its `indices`.
    package mutating func add(_ block: BlockView, _ names: TypeNames) throws {
        for index in block.indices {
            let record = block.record(index)
            if let name = record.streamName { streams[record.streamID] = name.text }
            guard let stream = streams[record.streamID] else {
                throw EvstoreError.corruptBlock(position: record.position, reason: "the stream has no name")
            }
            hasher.update(record.position.rawValue)
            text(stream)
            hasher.update(record.revision.rawValue)
            text(record.id.text)
            hasher.update(UInt64(bitPattern: record.time.microseconds))
            text(names[record.type] ?? "")
            hasher.update(UInt64(record.born.rawValue))
            if record.isPersonal, slots[record.subject] == nil { slots[record.subject] = (stream, record.position) }
            let payload = hashesShownPayloads ? record.payload : record.stays
            hasher.update(UInt64(payload.byteCount))
            hasher.update(payload)
            hasher.update(UInt64(record.metadata.byteCount))
            hasher.update(record.metadata)
        }
    }

    package consuming func finalize() -> Digest { hasher.finalize() }

    private mutating func text(_ text: String) {
        hasher.update(UInt64(text.utf8.count))
        hasher.update(text)
    }
}

extension EventLog {
    /// The digest of the events up to a position (`ContentHasher`); it does not depend on blocks or links.
    package func contentDigest(through: Position? = nil, progress: (Position) throws -> Void = { _ in }) throws -> Digest {
        var hasher = ContentHasher()
        try scan(after: .start, through: through, form: .withoutPersons) { block, _ in
            try hasher.add(block, access.names)
            try progress(block.last)
            return true
        }
        return try digest(of: hasher)
    }

    /// The digest of a hasher that has read events with personal parts left closed. Checks their keys first: each slot must hold the key of
    /// the stream that names it, and for a sample of slots an event is opened.
    ///
    /// So a key file that was lost and begun anew is noticed even if the streams came again in their old order.
    /// - Throws: `EvstoreError.storeDamaged` where a slot was never written, is gone or belongs to another stream; corruptBlock where its
    ///   key does not open the event.
    package func digest(of hasher: consuming ContentHasher) throws -> Digest {
        try access.keys?.subjects.require(hasher.slots.mapValues(\.stream))
        let tried = hasher.slots.filter { $0.key <= Self.slotsBetweenTries || $0.key % Self.slotsBetweenTries == 0 }
        try read { reader in
            for position in tried.values.map(\.first).sorted() {
                guard let record = try Blocks.record(at: position, reader.transaction, access) else { continue }
                try access.open(record, reader.transaction) { _ in }
            }
        }
        return hasher.finalize()
    }

    /// All slots up to this number are tried, and after that every one whose number is a multiple of it.
    private static let slotsBetweenTries: UInt32 = 64
}
