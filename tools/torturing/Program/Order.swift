import Evstore
import EvstoreTesting
import Foundation
import Torturing

/// Orders at the first and the fifth version of `tools/bench/orders`, each with an id that holds its number and a payload
/// that follows from it.
enum Order {
    private static let schemas = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "bench/orders").path
    private static let read = Result { try tagged() }

    /// The files with a tag for the order that an event is of.
    private static func tagged() throws -> Schemas {
        let directory = try TemporaryDirectory()
        for name in try FileManager.default.contentsOfDirectory(atPath: schemas) where name.hasSuffix(".yaml") {
            let text = try String(contentsOfFile: schemas + "/" + name, encoding: .utf8)
            let line = #"    stream: "order-{/id}""# + "\n"
            try directory.write(text.replacing(line, with: line + #"    tags: ["order:{/id}"]"# + "\n"), to: name)
        }
        return try Schemas.load(directory.path)
    }

    /// Read once: it takes a fifth of a trial's time.
    static var loaded: Schemas { get throws { try read.get() } }

    static func event(_ number: Int, at version: Int = 1) throws -> NewEvent {
        NewEvent(
            stream: try StreamName("order-\(name(number))"), type: "OrderPlaced", payload: payload(number, at: version),
            id: try EventID("line-\(number)-\(version)"), version: SchemaVersion(version))
    }

    /// Lines for an import.
    static func lines(_ numbers: Range<Int>) -> String {
        numbers.map { number in
            let data = String(decoding: payload(number, at: 1), as: UTF8.self)
            return #"{"stream":"order-\#(name(number))","type":"OrderPlaced","id":"line-\#(number)-1","data":\#(data)}"# + "\n"
        }.joined()
    }

    private static func name(_ number: Int) -> String { "o\(number % 40)" }

    private static func payload(_ number: Int, at version: Int) -> [UInt8] {
        let note = String(repeating: "n\(number) ", count: number % 9 == 0 ? 600 : 3)
        if version == 1 {
            return Array(
                (#"{"id":"\#(name(number))","customer":"Ada Lovelace \#(number)","email":"a\#(number)@example.org","total":"\#(number).50","#
                    + #""placedAt":\#(1_767_225_600 + number),"note":"\#(note)"}"#).utf8)
        }
        return Array(
            (#"{"id":"\#(name(number))","name":{"first":"Grace"},"contact":{"emails":["g@example.org","h@example.org"]},"#
                + #""placedAt":"2026-11-20T10:00:00Z","note":"\#(note)","total":{"amount":\#(number),"currency":"USD"}}"#).utf8)
    }

    /// The number of an event that is as it was written.
    static func number(of event: RecordedEvent) throws -> Int {
        let words = event.id.description.split(separator: "-")
        guard words.count == 3, let number = Int(words[1]), let version = Int(words[2]), event.born == SchemaVersion(version),
            event.payload == payload(number, at: version), event.stream.text == "order-\(name(number))"
        else { throw Failure("the event at position \(event.position) is not as it was written") }
        return number
    }
}
