internal import Bytes
package import EventModel
internal import JSONText

/// Event lines of one version that become its fixtures.
package struct FixtureSource: Sendable {
    /// Lines of more bytes than this are no examples, but a store's export.
    package static let bytesMax = 64 << 20

    package let text: String

    /// Lines that somebody gives, each of which must be an event of the version.
    package init(lines text: [UInt8], of version: VersionFile, file: String) throws(EvstoreError) {
        var kept = ""
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            do throws(EvstoreError) { _ = try Fixtures.Line(Array(line), of: version, file: file, number: index + 1) } catch {
                throw .schemaInvalid([
                    Finding(
                        id: Rule.fixture, file: file, line: index + 1, column: 1,
                        message: "it is no event of \(version.number): \(error.message)", fix: "try it alone: evstore schema validate")
                ])
            }
            kept += String(decoding: line, as: UTF8.self) + "\n"
        }
        self.text = kept
    }

    /// Events made from the shapes: with and without what may be absent, null where null may stand, each word of an enum.
    /// One that an older version, which the file promises an image, can't take is left out.
    package init(generating version: VersionFile, _ history: History) {
        let viewer = Viewer(history)
        let lowest = max(version.forward ?? version.number.previous, SchemaVersion(1))
        var text = ""
        for type in version.types {
            guard let shape = version.events[type] else { continue }
            var seen: Set<[UInt8]> = []
            for payload in ShapeExamples(of: shape.shape).texts where seen.insert(payload).inserted {
                guard let line = version.line(of: type, payload) else { continue }
                do {
                    let event = try Fixtures.Line(Array(line.utf8), of: version, file: "", number: 1)
                    for number in lowest.number ... version.number.number {
                        _ = try event.images(born: version.number, at: SchemaVersion(number), viewer)
                    }
                } catch { continue }
                text += line + "\n"
            }
        }
        self.text = text
    }

    /// The first events of each type that a reader hands over, with a stand-in for every member that is somebody's own.
    package init(of version: VersionFile, each most: Int, _ read: (_ take: (RecordedEvent) throws -> Bool) throws -> Void) throws {
        var counts: [String: Int] = [:]
        var text = ""
        try read { event in
            guard let shape = version.events[event.type]?.shape, counts[event.type, default: 0] < most, event.part == 0 else { return true }
            counts[event.type, default: 0] += 1
            let data = shape.replacingPersons(in: try JSONValue(parsing: event.payload.lent), with: \.sample)
            var line: [JSONValue.Member] = [
                .init(name: "id", value: .string("\(event.id)")), .init(name: "time", value: .string("\(event.time)")),
                .init(name: "stream", value: .string(event.stream.text)), .init(name: "type", value: .string(event.type)),
                .init(name: "data", value: data),
            ]
            if !event.metadata.isEmpty { line.append(.init(name: "metadata", value: try JSONValue(parsing: event.metadata.lent))) }
            text += JSONValue.object(line).text + "\n"
            return counts.count < version.types.count || counts.values.contains { $0 < most }
        }
        self.text = text
    }
}
