import Evstore
import EvstoreTesting
import TestSupport
import Torturing

/// What a sealed store was told, and what of it was forgotten: people with names that are personal, and orders that are nobody's.
struct Told {
    /// A name of a person. Who was forgotten and comes back has another one.
    struct Name: Hashable {
        let person: Int
        let generation: Int

        func text(_ seed: Int) -> String { "\(Secrecy.mark)-\(seed)-\(person)-\(generation)z" }
    }

    /// In the order of positions; nil for an order.
    var events: [Name?] = []
    private(set) var forgotten: Set<Name> = []
    private var generations: [Int: Int] = [:]
    private var orders = 0

    var visible: [Name] { events.compactMap(\.self).filter { !forgotten.contains($0) } }

    mutating func event(_ person: Int?, _ seed: Int, at version: Int) throws -> NewEvent {
        guard let person else {
            events.append(nil)
            orders += 1
            return try .event("order-\(orders % 9)", "Ordered", #"{"id":"\#(orders % 9)","cents":\#(orders)}"#, at: version)
        }
        let name = Name(person: person, generation: generations[person, default: 0])
        events.append(name)
        let key = version == 1 ? "name" : "fullName"
        return try .event("person-\(person)", "Joined", #"{"id":"\#(person)","\#(key)":"\#(name.text(seed))"}"#, at: version)
    }

    mutating func forget(_ person: Int) {
        for name in visible where name.person == person { forgotten.insert(name) }
        generations[person, default: 0] += 1
    }

    private static let made = Result { try SealedPersons.schemas() }
    static var schemas: Schemas { get throws { try made.get() } }
}

/// What a store says of its events, by each way that there is: all of them, or those that were forgotten and some more.
struct Sightings {
    private(set) var all: [String: String] = [:]
    private(set) var some: [String: String] = [:]

    private static let samples = 12

    init(of store: EventStore, _ told: Told) async throws {
        let versions = try store.versions.head < SchemaVersion(2) ? [1] : [1, 2]
        var places = told.events.indices.filter { index in told.events[index].map { told.forgotten.contains($0) } ?? false }
        places = places.suffix(Self.samples) + told.events.indices.suffix(Self.samples)
        let positions = places.map { Position(UInt64($0 + 1)) }
        let people = Set(places.compactMap { told.events[$0]?.person })
        for version in versions.map({ SchemaVersion($0) }) {
            if version.number == versions.last { all["a read at v\(version.number)"] = try Self.all(of: store, at: version) }
            some["a view at v\(version.number)"] = try positions.flatMap { try store.view($0, at: version) }.map(\.json).joined()
            var streams = ""
            for person in people {
                try store.read(StreamName("person-\(person)"), at: version, limit: nil) { event in
                    streams += event.json
                    return true
                }
            }
            some["a stream at v\(version.number)"] = streams
        }
        var lines: [UInt8] = []
        try await store.export {
            lines += $0
            return true
        }
        all["an export"] = String(decoding: lines, as: UTF8.self)
        some["an event"] = try positions.compactMap { try store.event(position: $0)?.json }.joined()
        var rows = ""
        try await store.query("people") { row in
            rows += row.json
            return true
        }
        some["a read model"] = rows
        if told.visible.isEmpty != !rows.contains(Secrecy.mark) { throw Failure("the read model shows \(rows)") }
    }

    static func all(of store: EventStore, at version: SchemaVersion?) throws -> String {
        var text = ""
        try store.readAll(at: version) { event in
            text += event.json
            return true
        }
        return text
    }
}
