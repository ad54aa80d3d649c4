import Bytes
import EventModel
import Evstore
import EvstoreTesting
import SchemaEvolution
import Testing

/// One side of a case: `v1 E {…} + F in stream-1 with {"user":"ann"} {…}`.
struct ExampleEvents {
    struct Event {
        let type: String
        let stream, metadata: String?
        let payload: String
    }

    /// When every event of an example happens.
    static let time = Timestamp("2026-01-01T00:00:00Z") ?? Timestamp(microseconds: 0)

    let born: SchemaVersion
    let events: [Event]

    init(_ text: String) throws {
        born = try Self.version(text)
        events = try text.drop { $0 != " " }.dropFirst().split(separator: " + ").map { event in
            var words = event.split(separator: " ", maxSplits: 1).map(String.init)
            let type = words.removeFirst()
            var (rest, stream, metadata) = (try #require(words.first, "\(text)"), String?.none, String?.none)
            func next(_ word: String) -> String? {
                guard rest.hasPrefix(word + " "), let end = rest.dropFirst(word.count + 1).firstIndex(of: " ") else { return nil }
                defer { rest = String(rest[end...].dropFirst()) }
                return String(rest.dropFirst(word.count + 1)[..<end])
            }
            stream = next("in")
            metadata = next("with")
            return Event(type: type, stream: stream, metadata: metadata, payload: rest)
        }
    }

    static func version(_ text: String) throws -> SchemaVersion {
        SchemaVersion(try #require(Int(text.prefix { $0 != " " }.dropFirst()), "\(text)"))
    }
}

/// A store that promises all versions of an example.
struct ExampleStore {
    private let temporary: TemporaryStore

    /// The code behind the `swift` op of an example: turns a text round.
    private struct Turned: ReversibleSwiftStep {
        let id = "turned"
        let revision = 1

        func up(_ members: inout StepMembers) throws { try members.write("/code", String((members.read("/code") ?? "").reversed())) }
        func down(_ members: inout StepMembers) throws { try up(&members) }
    }

    static func steps() throws -> SwiftSteps { try SwiftSteps([Turned()]) }

    /// - Parameter isMigrated: whether the newest version is live already.
    init(_ schemas: Schemas, isMigrated: Bool) async throws {
        temporary = try await TemporaryStore.make(
            schemas, at: isMigrated ? schemas.head : SchemaVersion(1), from: SchemaVersion(1), steps: [Turned()])
    }

    /// What is seen of events, in the form that the case says it in.
    func seen(_ given: ExampleEvents, as wanted: String) async throws -> String {
        do {
            return given.born.number == 0 ? try adopted(given, as: wanted) : try await appended(given, as: wanted)
        } catch EvstoreError.noImage(let failure) {
            return "refused \(failure.pointer)"
        } catch EvstoreError.invalidEvent(_, _, let pointer, _) {
            return "invalid \(pointer)"
        } catch EvstoreError.streamMismatch(_, let expected, _, _) {
            return "belongs in \(expected)"
        } catch EvstoreError.invalidRow(_, let key, let reason, _) {
            return "invalid row \(key): \(reason)"
        }
    }

    private func appended(_ given: ExampleEvents, as wanted: String) async throws -> String {
        let store = temporary.store
        _ = try await store.append(
            given.events.map { event in
                try NewEvent.event(
                    event.stream ?? "s", event.type, event.payload, at: given.born.number, metadata: event.metadata,
                    time: ExampleEvents.time)
            })
        if wanted.hasPrefix("invalid row") { _ = try await store.migrate(to: temporary.schemas.head) }
        if wanted.hasPrefix("fails: ") { return try await failures() }
        if wanted.hasPrefix("row") {
            var rows: [String] = []
            try await store.query("rows") { row in
                rows.append(wanted.hasPrefix("rows") ? "\"\(row.key)\":\(row.json)" : row.json)
                return true
            }
            if wanted.hasPrefix("rows") { return "rows {\(rows.joined(separator: ","))}" }
            return rows.isEmpty ? "row none" : "row \(rows.joined(separator: " + "))"
        }
        guard wanted.hasPrefix("v") else { return "appended" }
        let (version, named) = (try ExampleEvents.version(wanted), wanted.contains(" in "))
        let name = named ? try ExampleEvents(wanted).events.first?.stream : nil
        let images = try store.read(try StreamName(name ?? given.events.first?.stream ?? "s"), at: version)
        let texts = images.map { "\($0.type) \(named ? "in \($0.stream) " : "")\($0.json)" }
        return "\(version) " + (texts.isEmpty ? "nothing" : texts.joined(separator: " + "))
    }

    /// Why the read model could not take events in.
    private func failures() async throws -> String {
        var seen = false
        try await temporary.store.query("rows") { _ in
            seen = true
            return false
        }
        let listed = try temporary.store.quarantine().map(\.error)
        return listed.isEmpty ? "row \(seen ? "there" : "none")" : "fails: \(listed.joined(separator: " + "))"
    }

    /// Data from before versions existed, which an import brings: seen without a store.
    private func adopted(_ given: ExampleEvents, as wanted: String) throws -> String {
        let viewer = PathRunner(temporary.schemas.history)
        let version = wanted.hasPrefix("v") ? try ExampleEvents.version(wanted) : SchemaVersion(1)
        var texts: [String] = []
        for event in given.events {
            let (payload, metadata) = (Array(event.payload.utf8), Array((event.metadata ?? "").utf8))
            try viewer.view(
                SourceEvent(payload: payload.lent, time: ExampleEvents.time, metadata: metadata.lent),
                of: TypeAtVersion(type: event.type, version: given.born), stream: event.stream ?? "s", at: version
            ) { image in texts.append("\(image.type) \(String(decoding: [UInt8](copying: image.payload), as: UTF8.self))") }
        }
        return "\(version) " + (texts.isEmpty ? "nothing" : texts.joined(separator: " + "))
    }
}
