public import Evstore
import Foundation

/// Reads a file that `tools/bench/peers/events.c` made from its beginning on: a stream's number and a payload for each event
/// (u32, u32 size, bytes). Keeps no more of it than it was asked for.
public struct FrameReader: ~Copyable {
    private static let chunkBytes = 1 << 20
    private let file: FileHandle
    private var bytes: [UInt8] = []
    private var at = 0

    public init(path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw Unexpected(what: "no events at \(path)") }
        self.file = file
    }

    /// The next `count` events, or what is left.
    public mutating func next(_ count: Int) throws -> [Frame] {
        var frames: [Frame] = []
        frames.reserveCapacity(min(count, 1 << 20))
        while frames.count < count, try fill(8) {
            let (stream, size) = (number(at), number(at + 4))
            guard try fill(8 + size) else { throw Unexpected(what: "an event that is cut short") }
            frames.append(Frame(stream: stream, payload: Array(bytes[at + 8 ..< at + 8 + size])))
            at += 8 + size
        }
        return frames
    }

    /// Whether so many more bytes are there.
    private mutating func fill(_ needed: Int) throws -> Bool {
        while bytes.count - at < needed {
            guard let more = try file.read(upToCount: Self.chunkBytes), !more.isEmpty else { return false }
            bytes.removeFirst(at)
            at = 0
            bytes += more
        }
        return true
    }

    private func number(_ at: Int) -> Int { (0 ..< 4).reduce(0) { $0 | Int(bytes[at + $1]) << ($1 * 8) } }
}

/// One event as every driver of a comparison is given it.
public struct Frame: Sendable {
    public var stream: Int
    public var payload: [UInt8]

    public var streamName: StreamName { get throws { try StreamName(Self.name(stream)) } }

    public var event: NewEvent { get throws { NewEvent(stream: try streamName, type: "OrderPlaced", payload: payload) } }

    /// `order-0000042`, as in the payload's `id`.
    public static func name(_ stream: Int) -> String {
        let digits = String(stream)
        return "order-" + String(repeating: "0", count: max(7 - digits.utf8.count, 0)) + digits
    }

    /// The first events of a file.
    public static func read(_ path: String, limit: Int) throws -> [Frame] {
        var reader = try FrameReader(path: path)
        return try reader.next(limit)
    }
}
