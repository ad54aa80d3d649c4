internal import Bytes
package import EventModel
internal import JSONText
package import SchemaEvolution

/// Event lines of one version that become its fixtures.
package struct FixtureSource: Sendable {
    /// The maximum size of fixtures; larger files are exports of a store rather than examples.
    package static let bytesMax = 64 << 20

    package let text: String
    /// The types for which no event could be made.
    private(set) var skipped: [Fixtures.Skipped] = []

    /// Takes given lines, each of which must be an event of the version.
    package init(lines text: [UInt8], of version: VersionFile, file: String) throws(EvstoreError) {
        var kept = ""
        for (number, line) in Fixtures.lines(of: text) {
            do throws(EvstoreError) { _ = try Fixtures.Line(line, of: version, file: file, number: number) } catch {
                throw .schemaInvalid([
                    Finding(
                        id: Rule.fixture, file: file, line: number, column: 1,
                        message: "it is not an event of \(version.number): \(error.message)", advice: "try it alone: \(.validatePayload)")
                ])
            }
            kept += String(decoding: line, as: UTF8.self) + "\n"
        }
        self.text = kept
    }

    /// Generates events from the shapes: with and without optional members, with nulls where they are allowed, and with each value of an
    /// enum. Events without an image at a newer version, or at an older version for which the file promises one, are dropped. If none
    /// remain, values are tried that are likely to succeed or fail in steps.
    init(generating types: [String], of version: VersionFile, _ history: History, _ generator: inout EventGenerator) {
        let viewer = PathRunner(history)
        let lowest = max(version.forward ?? version.number.previous, SchemaVersion(1))
        var text = ""
        for type in types {
            guard let shape = version.events[type] else { continue }
            var (lines, why): ([String], String?) = ([], nil)
            func take(_ payload: [UInt8], _ metadata: [UInt8] = []) {
                guard let line = version.line(of: type, payload, metadata: metadata) else { return }
                do {
                    let event = try Fixtures.Line(Array(line.utf8), of: version, file: "", number: 1)
                    for number in lowest.number ... history.head.number {
                        _ = try event.images(born: version.number, at: SchemaVersion(number), viewer)
                    }
                    if !lines.contains(line) { lines.append(line) }
                } catch { why = why ?? (error as? EvstoreError)?.message ?? "\(error)" }
            }
            for payload in ShapeExamples(of: shape.shape).texts { take(payload) }
            for _ in 0 ..< Self.trials where lines.isEmpty {
                if let event = generator.event(type: type, born: version.number) { take(event.payload, event.metadata) }
            }
            if lines.isEmpty {
                skipped.append(.init(version: version.number, type: type, why: why ?? "no payload was found that its shape allows"))
            }
            for line in lines { text += line + "\n" }
        }
        self.text = text
    }

    private static let trials = 500

    /// Takes the first events of each type that a reader provides, with every personal member replaced, also in the stream's name where a
    /// template makes it.
    package init(of version: VersionFile, each most: Int, _ read: (_ take: (RecordedEvent) throws -> Bool) throws -> Void) throws {
        var counts: [Name: Int] = [:]
        var text = ""
        try read { event in
            guard let shape = version.events[event.type], counts[event.type, default: 0] < most, event.part == 0 else { return true }
            counts[event.type, default: 0] += 1
            var payload = event.payload
            if let persons = PersonalMembers(shape) {
                var rest = ByteBuffer()
                _ = persons.leaveOut(of: event.payload.lent, by: .sample, into: &rest)
                payload = rest.array()
            }
            let data = try JSONValue(parsing: payload.lent)
            var stream = event.stream.text
            do { stream = try shape.stream?.name(for: payload.lent) ?? stream } catch {
                // The replaced members name no stream: the line is refused, and that says why.
            }
            var line: [JSONValue.Member] = [
                .init(name: "id", value: .string("\(event.id)")), .init(name: "time", value: .string("\(event.time)")),
                .init(name: "stream", value: .string(stream)), .init(name: "type", value: .string(event.type)),
                .init(name: "data", value: data),
            ]
            if !event.metadata.isEmpty { line.append(.init(name: "metadata", value: try JSONValue(parsing: event.metadata.lent))) }
            text += JSONValue.object(line).text + "\n"
            return counts.count < version.types.count || counts.values.contains { $0 < most }
        }
        self.text = text
    }
}
