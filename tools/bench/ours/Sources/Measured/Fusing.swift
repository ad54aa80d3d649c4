import Bytes
import EventModel
import Evstore
import SchemaEvolution

/// Events on their way up and down, by the program that makes an image in one pass, and by the ops one after the other, whose images
/// have to be the same bytes.
public final class FusingCheck {
    /// What was compared.
    public struct Tally {
        public var events = 0
        /// Images that both ways gave, up and down.
        public var images = 0
        /// Ways that have a form in one pass, and those that have none, of the events.
        public var fused = 0, plain = 0
        /// Events that neither way has an image for, for the same reason.
        public var refused = 0
    }

    private let history: History
    private let viewer: PathRunner
    private let newest: SchemaVersion
    private let none: [UInt8] = []
    private let moment = Timestamp(microseconds: 1_600_000_000_000_000)
    private var plainPaths: [String: Path] = [:]
    public private(set) var tally = Tally()

    public init(schemas: String) throws {
        history = try Schemas.load(schemas).history
        (viewer, newest) = (PathRunner(history), history.head)
    }

    /// Compares an event of version 1 at the newest, and each image of it back at version 1.
    /// - Throws: `Unexpected` where the two ways differ.
    public func check(stream: String, type: String, payload: [UInt8]) throws {
        tally.events += 1
        for image in try compared(stream, type, payload, from: SchemaVersion(1), to: newest) {
            _ = try compared(stream, image.type, image.payload, from: newest, to: SchemaVersion(1))
        }
    }

    private struct Seen: Equatable {
        var type: String
        var payload: [UInt8]
    }

    private func compared(
        _ stream: String, _ type: String, _ payload: [UInt8], from born: SchemaVersion, to target: SchemaVersion
    ) throws -> [Seen] {
        let path = try viewer.path(type: type, born: born, to: target)
        // Its images are made of several events.
        if path.merges { return [] }
        if path.isUntouched { tally.plain += 1 } else { tally.fused += 1 }
        let (quick, slow) = (see(stream, payload, path), see(stream, payload, try plainPath(type, born, target)))
        guard quick.images == slow.images, quick.error == slow.error else {
            throw Unexpected(
                what: "\(type) of \(born) at \(target): \(words(quick)), and by its ops \(words(slow)), of \(String(decoding: payload, as: UTF8.self))")
        }
        if quick.error != nil { tally.refused += 1 }
        tally.images += quick.images.count
        return quick.images
    }

    private func plainPath(_ type: String, _ born: SchemaVersion, _ target: SchemaVersion) throws -> Path {
        let key = "\(type) \(born) \(target)"
        if let known = plainPaths[key] { return known }
        let path = try history.path(type: type, born: born, to: target)
        plainPaths[key] = path
        return path
    }

    private func see(_ stream: String, _ payload: [UInt8], _ path: Path) -> (images: [Seen], error: String?) {
        var images: [Seen] = []
        let (payload, none) = (payload, self.none)
        do {
            let source = SourceEvent(payload: payload.lent, time: moment, metadata: none.lent)
            try viewer.interpreter.run(path, source, stream: stream) { image in
                images.append(Seen(type: image.type, payload: [UInt8](copying: image.payload)))
            }
        } catch { return (images, "\(error)") }
        return (images, nil)
    }

    private func words(_ seen: (images: [Seen], error: String?)) -> String {
        (seen.images.map { "\($0.type) \(String(decoding: $0.payload, as: UTF8.self))" } + (seen.error.map { [$0] } ?? [])).joined(separator: ", ")
    }
}
