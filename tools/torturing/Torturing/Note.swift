package import Evstore
internal import Foundation

/// Events that tell by themselves whether they are as they were written: each carries a number, and a text that follows from it.
/// Those of a stream `person-…` carry personal data, too.
package enum Note {
    package static let versionFile = """
        evstore: 1
        version: 1
        events:
          Noted:
            required: [id, text]
            properties: {id: {type: string}, name: {type: string, personal: true}, text: {type: string}}
        """
    /// With a tag for the note's number.
    package static let taggedVersionFile = versionFile.replacing(
        "    required: [id, text]", with: "    tags: [\"note:{/id}\"]\n    required: [id, text]")
    package static let projections = """
        evstore: 1
        projections:
          notes:
            - since: 1
              key: /id
              on:
                Noted: {set: {/id: /id, /name: /name}}
              indexes: {by-name: [/name, /id]}
        """

    /// A note is short, long, or longer than a block. `name` is empty where it was forgotten, and nil where the note has none.
    private static func payload(_ number: Int, name: String? = nil) -> [UInt8] {
        let bytes = [20, 20, 200, 3_000, 20, 40_000, 200][number / 10 % 7]
        let once = Array("\(number)-".utf8)
        var text = once
        // Doubled: byte by byte takes long where nothing is optimized, and every note is compared with what it must be.
        while text.count < (bytes / 8 + 1) * once.count { text += text }
        let head = #"{"id":"\#(number)","# + (name.map { #""name":"\#($0)","# } ?? "") + #""text":""#
        return Array(head.utf8) + text.prefix((bytes / 8 + 1) * once.count) + Array(#""}"#.utf8)
    }

    private static let person = "person-"

    private static func name(_ number: Int, _ stream: StreamName) -> String? {
        stream.text.hasPrefix(person) ? "Ada Lovelace \(number)" : nil
    }

    package static func event(_ number: Int, stream: String? = nil) throws -> NewEvent {
        let stream = try StreamName(stream ?? "note-\(number)")
        return NewEvent(stream: stream, type: "Noted", payload: payload(number, name: name(number, stream)))
    }

    package static func person(_ number: Int) -> String { person + "\(number)" }

    /// The number of an event that is as it was written.
    package static func number(of event: RecordedEvent) throws -> Int {
        let (number, isForgotten) = try read(event)
        if isForgotten { throw Failure("the person of the event at position \(event.position) is forgotten") }
        return number
    }

    /// The number of an event that is as it was written, or that but for the person in it.
    package static func read(_ event: RecordedEvent) throws -> (number: Int, isForgotten: Bool) {
        let text = event.payload.dropFirst(#"{"id":""#.utf8.count).prefix(20).prefix { $0 != 34 }
        if let number = Int(String(decoding: Array(text), as: UTF8.self)), number >= 0 {
            let name = name(number, event.stream)
            if isSame(event.payload, payload(number, name: name)) { return (number, false) }
            if name != nil, isSame(event.payload, payload(number, name: "")) { return (number, true) }
        }
        throw Failure("the event at position \(event.position) is not as it was written")
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
