package import EventModel
package import Hashing

extension EventLog {
    /// SHA-256 over the events themselves, in order, up to a position: position, stream name,
    /// revision, id, time, type, birth version, payload and metadata, each text and run of bytes with
    /// its length before it. Equal for equal content in whatever store; bound to no block or link.
    package func contentDigest(through: Position? = nil, progress: (UInt64) -> Void = { _ in }) throws -> Digest {
        var hasher = SHA256Hasher()
        var streams: [UInt64: String] = [:]
        try scan(after: .start, through: through) { block in
            for index in block.indices {
                let record = block.record(index)
                if let name = record.streamName { streams[record.streamID] = name.text }
                guard let stream = streams[record.streamID] else {
                    throw EvstoreError.corruptBlock(position: record.position, reason: "the stream has no name")
                }
                hasher.update(record.position.rawValue)
                hasher.updateText(stream)
                hasher.update(record.revision.rawValue)
                hasher.updateText(record.id.text)
                hasher.update(UInt64(bitPattern: record.time.microseconds))
                hasher.updateText(name(ofType: record.type))
                hasher.update(UInt64(record.born.rawValue))
                hasher.update(UInt64(record.payload.byteCount))
                hasher.update(record.payload)
                hasher.update(UInt64(record.metadata.byteCount))
                hasher.update(record.metadata)
            }
            progress(block.last.rawValue)
            return true
        }
        return hasher.finalize()
    }
}

extension SHA256Hasher {
    fileprivate mutating func updateText(_ text: String) {
        update(UInt64(text.utf8.count))
        update(text)
    }
}
