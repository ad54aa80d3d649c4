internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// The end of a log, with two digests over everything up to there. A backup's last frame and a signed head both contain it.
///
/// In a frame 76 bytes, integers little-endian: 0 u32 epoch, 4 u64 position, 12 the link, 44 the content.
struct LogEnd: Hashable, Sendable {
    let last: Checkpoint
    /// The end of the hash chain: the link of the last block.
    let link: Digest
    /// The digest over all events, which does not depend on the blocks.
    let content: Digest

    private static let byteCount = 76

    var encoded: [UInt8] {
        var row = ByteBuffer(capacity: Self.byteCount)
        row.append(littleEndian: last.epoch.rawValue)
        row.append(littleEndian: last.position.rawValue)
        row.append(link.bytes)
        row.append(content.bytes)
        return row.array()
    }
}

extension LogEnd {
    /// Reads the body of a frame; nil where it has another length.
    init?(_ body: [UInt8]) {
        guard body.count == Self.byteCount, let link = Digest(Array(body[12 ..< 44])), let content = Digest(Array(body[44...])) else {
            return nil
        }
        let row = body.lent
        let last = Checkpoint(epoch: Epoch(row.load(UInt32.self, at: 0)), position: Position(row.load(UInt64.self, at: 4)))
        self.init(last: last, link: link, content: content)
    }
}
