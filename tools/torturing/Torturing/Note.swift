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

    /// The text of a note: short, long, or longer than a block.
    package static func text(_ number: Int) -> String {
        let bytes = [20, 20, 200, 3_000, 20, 40_000, 200][number / 10 % 7]
        return String(repeating: "\(number)-", count: bytes / 8 + 1)
    }

    package static func event(_ number: Int, stream: String? = nil) throws -> NewEvent {
        NewEvent(
            stream: try StreamName(stream ?? "note-\(number)"), type: "Noted",
            payload: Array(#"{"id":"\#(number)","text":"\#(text(number))"}"#.utf8))
    }

    /// The number of an event that is as it was written.
    package static func number(of event: RecordedEvent) throws -> Int {
        let note = try JSONDecoder().decode([String: String].self, from: Data(event.payload))
        guard let number = note["id"].flatMap({ Int($0) }), note["text"] == text(number) else {
            throw Failure("the event at position \(event.position) is not as it was written")
        }
        return number
    }
}
