import Evstore
import Foundation
import Torturing

/// What can be seen of a store from outside, by a process that has just opened it.
struct Facts: Codable, Hashable {
    /// Why it does not open or can't be read; nil where all of it could be seen.
    var refused: String?
    /// The number of each event, in the log's order.
    var numbers: [Int] = []
    /// Floor, live and top.
    var versions: [Int] = []
    var digests: [String: String] = [:]
    /// The numbers of the events whose persons are forgotten.
    var forgotten: [Int] = []
    /// Slots and data keys.
    var keys: [String] = []
    var findings: [String] = []

    static func look(at path: String, options: Options = Worker.options) async -> Facts {
        do {
            let store = try await EventStore.open(path, options: options)
            var facts = Facts()
            do {
                facts = try await look(at: store)
            } catch { facts.refused = Worker.words(error) }
            try await store.close()
            return facts
        } catch { return Facts(refused: Worker.words(error)) }
    }

    private static func look(at store: EventStore) async throws -> Facts {
        var facts = Facts()
        var wrong: String?
        var tagged: [String: [Position]] = [:]
        try store.readAll { event in
            do {
                // It is shown at the live version; what it was written as is what is promised.
                guard let stored = event.version == event.born ? event : try store.event(position: event.position) else {
                    throw Failure("the event at position \(event.position) is not there")
                }
                let (number, isForgotten) = try read(stored)
                facts.numbers.append(number)
                tagged[event.type == "Noted" ? "note:\(number)" : event.stream.text.replacing("order-", with: "order:"), default: []]
                    .append(event.position)
                if isForgotten { facts.forgotten.append(number) }
            } catch { wrong = "\(error)" }
            return wrong == nil
        }
        if let wrong { throw Failure(wrong) }
        let report = try await store.maintenance.verify(deep: true)
        facts.findings = report.findings.filter { $0.severity == .error }.map { "\($0.id) \($0.message)" }
        let versions = try store.versions
        facts.versions = [versions.floor.number, versions.live.number, versions.top.number]
        try await store.follow()
        let hasTags = try store.projections().contains(where: \.isTagIndex)
        for (tag, positions) in tagged.sorted(by: { $0.key < $1.key }).prefix(hasTags ? 20 : 0) {
            let found = try await store.read(matching: .tags(tag)).events.map(\.position)
            if found != positions { throw Failure("the tag \(tag) finds \(found) for \(positions)") }
        }
        facts.keys = store.maintenance.keys().map { "\($0.kind.rawValue) \($0.label) \($0.isWriting)" }
        for model in try store.projections() { facts.digests[model.name] = model.digest }
        return facts
    }

    private static func read(_ event: RecordedEvent) throws -> (number: Int, isForgotten: Bool) {
        event.type == "Noted" ? try Note.read(event) : (try Order.number(of: event), false)
    }

    static func number(of event: RecordedEvent) throws -> Int {
        event.type == "Noted" ? try Note.number(of: event) : try Order.number(of: event)
    }
}

/// What a judge says of one scene.
struct Finding: Codable {
    var scene: String
    /// The store, as it was found.
    var found: Facts
    /// What the job has made beside the store, or left half made.
    var beside: Facts?
    /// What came of doing the job again; nil where nothing was left to do.
    var again: String?
    var final: Facts
    var finalBeside: Facts?
    /// Whether the next append went to the next position.
    var goesOn: Bool?
}
