package import Evstore
internal import Foundation

/// Events that tell by themselves whether they are as they were written: each carries a number, and a text that follows from it.
package enum Note {
    package static let versionFile = """
        evstore: 1
        version: 1
        events:
          Noted:
            required: [id, text]
            properties: {id: {type: string}, text: {type: string}}
        """
    package static let projections = """
        evstore: 1
        projections:
          notes:
            - since: 1
              key: /id
              on:
                Noted: {set: {/id: /id}}
        """

    /// A note is short, long, or longer than a block.
    private static func payload(_ number: Int) -> [UInt8] {
        let bytes = [20, 20, 200, 3_000, 20, 40_000, 200][number / 10 % 7]
        let once = Array("\(number)-".utf8)
        var text = once
        // Doubled: byte by byte takes long where nothing is optimized, and every note is compared with what it must be.
        while text.count < (bytes / 8 + 1) * once.count { text += text }
        return Array(#"{"id":"\#(number)","text":""#.utf8) + text.prefix((bytes / 8 + 1) * once.count) + Array(#""}"#.utf8)
    }

    package static func event(_ number: Int, stream: String? = nil) throws -> NewEvent {
        NewEvent(stream: try StreamName(stream ?? "note-\(number)"), type: "Noted", payload: payload(number))
    }

    /// The number of an event that is as it was written.
    package static func number(of event: RecordedEvent) throws -> Int {
        let text = event.payload.dropFirst(#"{"id":""#.utf8.count).prefix(20).prefix { $0 != 34 }
        guard let number = Int(String(decoding: Array(text), as: UTF8.self)), number >= 0, isSame(event.payload, payload(number)) else {
            throw Failure("the event at position \(event.position) is not as it was written")
        }
        return number
    }

    package static func isSame(_ some: [UInt8], _ other: [UInt8]) -> Bool {
        if some.count != other.count { return false }
        return unsafe some.withUnsafeBytes { some in
            unsafe other.withUnsafeBytes { other in
                guard let one = some.baseAddress, let two = other.baseAddress else { return true }
                return unsafe memcmp(one, two, some.count) == 0
            }
        }
    }
}
