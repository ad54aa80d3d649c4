import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// Events made from the shapes of a history, the same for the same seed.
private struct EventMaker: RandomNumberGenerator {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    private let texts = [
        "", " ", "Ada", "Ada Lovelace", "Mary Ann Lee", "a:b:c", "zlib1g:amd64", "<none>", "ü \\\"q\\\"", "\\u0041 x", "x/y~z",
    ]
    private let decimals = ["12.50", "0.00", "-3.07", "123456789.99"]

    mutating func json(_ shape: Shape, name: String = "") -> String {
        if let value = shape.enumeration?.randomElement(using: &self) { return value.text }
        switch shape.kind {
        case .object:
            let members = shape.properties.compactMap { property -> String? in
                guard shape.required.contains(property.name) || Bool.random(using: &self) else { return nil }
                return "\"\(property.name)\":\(json(property.shape, name: property.name))"
            }
            return "{\(members.joined(separator: ","))}"
        case .array:
            let count = Int.random(in: 0 ... 3, using: &self)
            return "[\((0 ..< count).map { _ in json(shape.items ?? .any) }.joined(separator: ","))]"
        case .integer: return String(Int.random(in: 0 ... 2_000_000_000, using: &self))
        case .string:
            if shape.format == .dateTime {
                return "\"\(Timestamp(microseconds: Int64.random(in: 0 ... 2_000_000_000, using: &self) * 1_000_000))\""
            }
            if name == "total" { return "\"\(decimals.randomElement(using: &self) ?? "")\"" }
            if name == "at" {
                let time = Timestamp(microseconds: Int64.random(in: 0 ... 2_000_000_000, using: &self) * 1_000_000).description
                return "\"\(time.dropLast().replacing("T", with: " "))\""
            }
            return "\"\(texts.randomElement(using: &self) ?? "")\""
        default: return "true"
        }
    }

    /// A line of the packages as dpkg writes it: `state` belongs to a status, `available` to the other actions.
    mutating func logged(_ shape: Shape) -> String {
        let action = ["status", "install", "upgrade"].randomElement(using: &self) ?? "status"
        var shape = shape
        shape.properties.removeAll { ["action", action == "status" ? "available" : "state"].contains($0.name) }
        shape.required.remove("action")
        shape.required.insert(action == "status" ? "state" : "available")
        return json(shape).dropLast() + ",\"action\":\"\(action)\"}"
    }
}

/// Every event of every type and version of a history, some of each.
private func events(_ history: History, _ seed: UInt64, _ count: Int = 30) -> [(type: String, born: Int, json: String)] {
    var maker = EventMaker(seed: seed)
    var made: [(type: String, born: Int, json: String)] = []
    for file in history.versions {
        for type in file.types {
            guard let shape = file.events[type]?.shape else { continue }
            for _ in 0 ..< count {
                made.append((type, file.number.number, type == "PackageLogged" ? maker.logged(shape) : maker.json(shape)))
            }
        }
    }
    return made
}

extension PathRunner {
    /// The images of images, as one list.
    fileprivate func images(_ all: [Seen], from born: Int, to target: Int) throws -> [Seen] {
        try all.flatMap { try images($0.type, $0.json, from: born, to: target) }
    }
}

private func meaning(_ all: [Seen]) throws -> [String] { try all.map { try $0.type + " " + canonical($0.json) } }

private let seed = UInt64.random(in: .min ... .max)

private func histories() throws -> [(name: String, history: History)] { [("orders", try orders()), ("packages", try packages())] }

@Test("T-up and T-down: every event has a valid image at every version, or is hidden by declaration")
func totality() throws {
    for (name, history) in try histories() {
        let viewer = PathRunner(history)
        for event in events(history, seed) {
            for target in 1 ... history.head.number {
                #expect(throws: Never.self, "\(name), seed \(seed): \(event) at \(target)") {
                    try viewer.images(event.type, event.json, from: event.born, to: target, validating: true)
                }
            }
        }
    }
}

@Test("L1: down(up(e)) = e")
func retraction() throws {
    for (name, history) in try histories() {
        let viewer = PathRunner(history)
        for event in events(history, seed) where event.type != "DebugPing" {
            for target in event.born ... history.head.number {
                let up = try viewer.images(event.type, event.json, from: event.born, to: target)
                let back = try viewer.images(up, from: target, to: event.born)
                #expect(
                    try meaning(back) == [event.type + " " + canonical(event.json)], "\(name), seed \(seed): \(event) over \(target): \(up)"
                )
            }
        }
        #expect(viewer.counts.lost == 0, "\(name), seed \(seed)")
    }
}

@Test("L3: down(up(down(e))) = down(e), and its mirror")
func stability() throws {
    for (name, history) in try histories() {
        let viewer = PathRunner(history)
        for event in events(history, seed) {
            for target in 1 ... history.head.number where target != event.born {
                let once = try viewer.images(event.type, event.json, from: event.born, to: target)
                let again = try viewer.images(viewer.images(once, from: target, to: event.born), from: event.born, to: target)
                // An event that is seen as several is not one again on the way back.
                if event.type == "OrderSettled" { continue }
                #expect(try meaning(again) == meaning(once), "\(name), seed \(seed): \(event) at \(target)")
            }
        }
    }
}

@Test("L4: skipping versions gives the same bytes as stepping")
func stepping() throws {
    for (name, history) in try histories() {
        let viewer = PathRunner(history)
        for event in events(history, seed) {
            for target in 1 ... history.head.number where target != event.born {
                let skipped = try viewer.images(event.type, event.json, from: event.born, to: target)
                var stepped = [Seen(type: event.type, json: event.json, part: 0)]
                var version = event.born
                while version != target {
                    let next = version + (target > version ? 1 : -1)
                    stepped = try viewer.images(stepped, from: version, to: next)
                    version = next
                }
                #expect(
                    skipped.map { $0.type + $0.json } == stepped.map { $0.type + $0.json }, "\(name), seed \(seed): \(event) at \(target)")
            }
        }
    }
}

@Test("the laws have exercised every op of their histories")
func exercised() throws {
    for (_, history) in try histories() {
        let names = Set(
            history.chain.steps.flatMap { step in
                step.stages.flatMap { stage -> [String] in
                    if case .payload(let entries) = stage { entries.values.flatMap { $0 }.compactMap(\.summary?.verb) } else { [] }
                }
            })
        let made = events(history, seed, 1)
        let paths = try made.map { try history.path(type: $0.type, born: SchemaVersion($0.born), to: history.head) }
        var seen: Set<String> = []
        for path in paths { path.root.visit { seen.formUnion($0.ops.compactMap(\.summary?.verb)) } }
        #expect(seen == names)
    }
}
