internal import Bytes
package import EventModel
internal import JSONText
package import SchemaEvolution

/// The fixtures of one version as seen at another, one image per line: `fixtures/vN/seen/vM.jsonl`.
///
/// `{"of":"events.jsonl:3","stream":…,"type":…,"data":…}`, with `part` if it is above 0; `{"of":…,"hidden":true}` if a step hides or drops
/// the event; `{"of":…,"error":…}` if it has no image.
package struct FixtureRendering: Sendable {
    package let born: SchemaVersion
    package let seen: SchemaVersion
    package let file: String
    package let text: String
    /// Events without an image at a newer version, where they must have one.
    package let failures: [Finding]
}

extension Fixtures {
    /// The fixtures of every version as seen at every other version.
    package func renderings(_ history: History) throws(EvstoreError) -> [FixtureRendering] {
        try history.requireSwiftSteps(through: history.head)
        var renderings: [FixtureRendering] = []
        for born in lines.keys.sorted() {
            // Paths from one version are not needed for the next.
            let viewer = PathRunner(history)
            for seen in history.versions.map(\.number) where seen != born {
                renderings.append(rendering(of: born, at: seen, viewer))
            }
        }
        return renderings
    }

    private func rendering(of born: SchemaVersion, at seen: SchemaVersion, _ viewer: PathRunner) -> FixtureRendering {
        var text = ""
        var failures: [Finding] = []
        for line in lines[born] ?? [] {
            let place = JSONValue.string("\(line.file.split(separator: "/").last ?? ""):\(line.number)")
            do {
                let images = try line.images(born: born, at: seen, viewer)
                for image in images { text += JSONValue.object([.init(name: "of", value: place)] + image).text + "\n" }
                if images.isEmpty {
                    text += JSONValue.object([.init(name: "of", value: place), .init(name: "hidden", value: .bool(true))]).text + "\n"
                }
            } catch {
                let why = (error as? EvstoreError)?.message ?? "\(error)"
                text += JSONValue.object([.init(name: "of", value: place), .init(name: "error", value: .string(why))]).text + "\n"
                if seen > born {
                    failures.append(
                        Finding(
                            id: Rule.upNotTotal, file: line.file, line: line.number, column: 1,
                            message: "this \(line.type) of \(born) has no image at \(seen): \(why)",
                            fix: "change the steps up to \(seen): what was written once must remain readable forever"))
                }
            }
        }
        return FixtureRendering(born: born, seen: seen, file: "\(directory)/\(born)/seen/\(seen).jsonl", text: text, failures: failures)
    }
}

extension Fixtures.Line {
    /// The images of the event, as the members of their lines.
    func images(born: SchemaVersion, at seen: SchemaVersion, _ viewer: PathRunner) throws -> [[JSONValue.Member]] {
        let name = try viewer.history.streamName(stream, from: born, to: seen).text
        var images: [[JSONValue.Member]] = []
        var failure: ImageFailure?
        func take(_ image: borrowing Image) throws {
            let data = try JSONValue(parsing: image.payload)
            images.append(
                [.init(name: "stream", value: .string(name)), .init(name: "type", value: .string(image.type))]
                    + (image.part > 0 ? [.init(name: "part", value: .number("\(image.part)"))] : [])
                    + [.init(name: "data", value: data)])
        }
        let path = try viewer.path(type: type, born: born, to: seen)
        if path.merges {
            // A single line counts as an append of one event.
            let event = AppendedEvent(type: type, payload: payload, metadata: metadata, time: time, stream: stream.text)
            var broken: (any Error)?
            try viewer.view(appended: [event], born: born, at: seen, failed: { failure = $1 }) { _, image in
                do { try take(image) } catch { broken = error }
            }
            if let broken { throw broken }
        } else {
            let source = SourceEvent(payload: payload.lent, time: time, metadata: metadata.lent)
            try viewer.run(path, source, stream: stream.text, validating: true, take)
        }
        if let failure { throw EvstoreError.noImage(failure) }
        return images
    }
}
