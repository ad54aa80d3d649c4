import Bytes
import EventModel
import EvstoreTesting
import TestSupport
import Testing

@testable import Evstore
@testable import SchemaEvolution

/// A block `example` of a page: versions, and cases that say what is seen of what.
struct PageExample: Sendable, CustomTestStringConvertible {
    /// One line: `v1 E {…} + F {…} => v2 G {…}`; `<=>` for both directions.
    struct Case: Sendable {
        let text, left, right: String
        let isBothWays: Bool
        /// What the image costs, such as `1 lost`; empty where nothing is lost or read in another form.
        let cost: String
    }

    let block: DocPage.Block
    private(set) var members: [(name: String, text: String)] = []
    private(set) var cases: [Case] = []

    /// The pages whose blocks are run.
    static let pages = ["VersionFiles", "Ops", "Codecs", "ProjectionFiles", "Semantics"]

    static func blocks(_ kind: String) -> [DocPage.Block] { pages.flatMap { name in (try? DocPage(name))?.blocks(kind) ?? [] } }

    static let all = blocks("example").map { PageExample($0) }

    var testDescription: String { "\(block.page), line \(block.line)" }

    init(_ block: DocPage.Block) {
        self.block = block
        for text in block.texts { add(text) }
    }

    private mutating func add(_ text: String) {
        let line = text.replacing(/\n */, with: " ")
        if let both = line.firstRange(of: " <=> ") {
            add(line, line[..<both.lowerBound], line[both.upperBound...], isBothWays: true)
        } else if let way = line.firstRange(of: " => ") {
            add(line, line[..<way.lowerBound], line[way.upperBound...], isBothWays: false)
        } else if let colon = text.firstRange(of: ": ") {
            members.append((String(text[..<colon.lowerBound]), String(text[colon.upperBound...])))
        }
    }

    private mutating func add(_ text: String, _ left: Substring, _ right: Substring, isBothWays: Bool) {
        var (right, cost) = (String(right), "")
        if right.hasPrefix("v"), right.hasSuffix(")"), let open = right.ranges(of: " (").last {
            cost = String(right[open.upperBound...].dropLast())
            right = String(right[..<open.lowerBound])
        }
        cases.append(Case(text: text, left: String(left), right: right, isBothWays: isBothWays, cost: cost))
    }

    func member(_ name: String) -> String? { members.first { $0.name == name }?.text }

    /// The version files that `v1`, `v2`, … describe; `do` are ops of version 2 on every type, `upcast` and `upcast v3` are whole
    /// steps, `adopt` is that of version 1, `defs` are definitions of every version.
    func schemas() throws -> Schemas {
        var versions: [String] = []
        while let events = member("v\(versions.count + 1)") {
            let number = versions.count + 1
            let step = number == 2 ? member("do").map { "[{on: all, do: \($0)}]" } ?? member("upcast") : member("upcast v\(number)")
            let parts = [
                ("upcast", step), ("adopt", number == 1 ? member("adopt") : nil), ("$defs", member("defs")), ("events", events),
            ]
            versions.append(
                "evstore: 1\nversion: \(number)\n" + parts.map { name, text in text.map { "\(name): \($0)\n" } ?? "" }.joined())
        }
        let rows = member("rows").map { "evstore: 1\nprojections:\n  rows: \($0.hasPrefix("[") ? $0 : "[\($0)]")\n" }
        return try SchemaFiles(versions: versions, projections: rows).load()
    }

    func run() async throws {
        let schemas = try schemas().with(ExampleStore.steps())
        let (one, two) = (SchemaVersion(1), SchemaVersion(2))
        #expect(schemas.history.check().filter { $0.severity == .error }.map(\.diagnosticLine) == [], "\(testDescription)")
        if let opClass = member("class") {
            #expect(schemas.history.opClass(from: one, to: two).description == opClass, "\(testDescription)")
        }
        if let passes = member("one pass") {
            let found = "\(try schemas.history.onePass(one, two)) \(try schemas.history.onePass(two, one))"
            #expect(found == passes, "\(testDescription)")
        }
        for one in cases {
            // A store for each case: rows and streams may have any names.
            let isMigrated = !one.right.hasPrefix("invalid row")
            try await check(one, schemas, try await ExampleStore(schemas, isMigrated: isMigrated), isBack: false)
            if one.isBothWays { try await check(one, schemas, try await ExampleStore(schemas, isMigrated: true), isBack: true) }
        }
    }

    private func check(_ one: Case, _ schemas: Schemas, _ store: ExampleStore, isBack: Bool) async throws {
        let (left, right) = isBack ? (one.right, one.left) : (one.left, one.right)
        let given = try ExampleEvents(left)
        let seen = try await store.seen(given, as: right)
        #expect(seen == right, "\(testDescription): \(one.text)")
        let cost = right.hasPrefix("v") && seen == right ? try schemas.history.cost(of: given, at: try ExampleEvents.version(right)) : ""
        #expect(cost == one.cost, "\(testDescription): \(one.text)")
    }
}

extension History {
    /// Whether all events that the step converts on their way from one version to another are converted in one pass over
    /// their text; `-` where it converts none.
    fileprivate func onePass(_ from: SchemaVersion, _ to: SchemaVersion) throws -> String {
        let viewer = PathRunner(self)
        let all = try types(at: from).map { try viewer.path(type: $0, born: from, to: to) }
        let paths = all.filter { !$0.isUntouched && !$0.types.isEmpty }
        return paths.isEmpty ? "-" : paths.allSatisfy { $0.fused != nil && !$0.merges } ? "yes" : "no"
    }

    /// What the image of one event costs, in words; nothing for several events, which are seen together.
    fileprivate func cost(of events: ExampleEvents, at target: SchemaVersion) throws -> String {
        guard events.events.count == 1, let event = events.events.first else { return "" }
        let viewer = PathRunner(self)
        let (payload, metadata) = (Array(event.payload.utf8), Array((event.metadata ?? "").utf8))
        try viewer.view(
            SourceEvent(payload: payload.lent, time: ExampleEvents.time, metadata: metadata.lent),
            of: TypeAtVersion(type: event.type, version: events.born), stream: event.stream ?? "s", at: target
        ) { _ in }
        let counts = viewer.counts
        let words = [
            (counts.lost, "lost"), (counts.nonCanonical, "in another form"), (counts.notKept, "not kept"), (counts.defaulted, "defaulted"),
        ]
        return words.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }
}
