package import EventModel
package import Hashing

extension EventLog {
    /// The digest of the events themselves up to a position (`ContentHasher`); bound to no block or link.
    package func contentDigest(through: Position? = nil, progress: (Position) throws -> Void = { _ in }) throws -> Digest {
        var hasher = ContentHasher()
        try scan(after: .start, through: through, form: .withoutPersons) { block, _ in
            try hasher.add(block, access.names)
            try progress(block.last)
            return true
        }
        return try digest(of: hasher)
    }

    /// The digest of what was read with personal parts left closed, once their keys have been looked at: each slot has to hold the key of the
    /// stream that names it, and of one slot in so many an event is opened.
    ///
    /// So a file of keys that was lost and begun anew is noticed even where the streams came again in their old order.
    /// - Throws: `EvstoreError.storeDamaged` where a slot was never written, is gone or is another stream's; corruptBlock where it has a key
    ///   that does not open the event.
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

    /// The first slots are all tried, and then one in so many.
    private static let slotsBetweenTries: UInt32 = 64
}
