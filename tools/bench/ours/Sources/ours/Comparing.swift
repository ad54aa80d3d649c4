import Foundation
import Measured

extension Work {
    /// Reads `stream TAB type TAB payload` line by line, and compares what becomes of each event.
    static func fused(_ words: Words) throws {
        let check = try FusingCheck(schemas: words.text("schemas"))
        guard let file = FileHandle(forReadingAtPath: try words.text("lines")) else { throw Unexpected(what: "no events there") }
        var rest: [UInt8] = []
        let begin = clock.now
        while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
            rest += chunk
            var start = 0
            while let end = rest[start...].firstIndex(of: 10) {
                let parts = rest[start ..< end].split(separator: 9, maxSplits: 2, omittingEmptySubsequences: false)
                guard parts.count == 3 else { throw Unexpected(what: "a line that has no stream, type and payload") }
                try check.check(
                    stream: String(decoding: parts[0], as: UTF8.self), type: String(decoding: parts[1], as: UTF8.self),
                    payload: Array(parts[2]))
                start = end + 1
            }
            rest.removeFirst(start)
        }
        let tally = check.tally
        try say([
            "events": tally.events, "images": tally.images, "fused": tally.fused, "plain": tally.plain, "refused": tally.refused,
            "seconds": (clock.now - begin).seconds,
        ])
    }
}
