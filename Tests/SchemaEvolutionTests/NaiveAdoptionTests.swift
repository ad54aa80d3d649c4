import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// A case of adoption as the oracle takes it: JSON of what its words say.
private struct NaiveCase {
    var test: JSONValue?
    var moves: [(from: [String], to: [String])] = []
    var defaults: [(path: [String], source: JSONValue)] = []
    var converts: [NaiveOp] = []
}

private struct NaiveAdoption {
    var (kept, notKept, defaulted) = (0, 0, 0)

    /// The event that the first case which takes the data makes of it.
    mutating func adopt(
        _ data: JSONValue, _ cases: [NaiveCase], _ run: inout NaiveRun, shape: JSONValue
    ) throws(NaiveRefusal) -> JSONValue {
        guard let one = cases.first(where: { one in one.test.map { run.holds($0, data) } ?? true }) else { throw NaiveRefusal(path: []) }
        var made = JSONValue.object([])
        // An object before what comes to lie in it.
        var placed: Set<[String]> = []
        let moves = one.moves.enumerated().sorted { ($0.element.to.count, $0.offset) < ($1.element.to.count, $1.offset) }
        for (_, move) in moves {
            guard let value = data[naive: move.from], run.makeParents(of: move.to, &made, shape, .object([]), forValue: true) else {
                continue
            }
            made.set(move.to, to: value, isMoved: true)
            placed.insert(move.from)
        }
        let found = Set(one.moves.map(\.from).filter { data[naive: $0] != nil })
        kept = placed.count
        notKept = left(data, [], found, among: one.moves.map(\.from)) + found.count - placed.count
        for (path, source) in one.defaults where made[naive: path] == nil {
            guard let value = run.beside(source), run.makeParents(of: path, &made, shape, .object([]), forValue: true) else { continue }
            made.set(path, to: value)
            defaulted += 1
        }
        for op in one.converts { try run.convert(op, &made, true) }
        return made
    }

    /// Members of which nothing was made, and those in objects of which something was.
    private func left(_ value: JSONValue, _ path: [String], _ found: Set<[String]>, among taken: [[String]]) -> Int {
        guard case .object(let members) = value else { return 0 }
        return members.reduce(0) { count, member in
            let own = path + [member.name]
            if found.contains(own) { return count }
            if case .object = member.value, taken.contains(where: { $0.count > own.count && $0.starts(with: own) }) {
                return count + left(member.value, own, found, among: taken)
            }
            return count + 1
        }
    }
}

extension NaiveRun {
    fileprivate func beside(_ source: JSONValue) -> JSONValue? {
        switch source {
        case .string("$time"): .string(time)
        case .string(let text): metadata?[naive: Path(pointer: String(text.dropFirst("$metadata".count)))]
        default: source["value"]
        }
    }
}

/// Random first versions that adopt, and random data from before them.
private struct AdoptionMaker: RandomNumberGenerator {
    private var numbers: SeededGenerator
    private(set) var cases: [NaiveCase] = []
    private(set) var shape = Shape(.object)
    private(set) var text = ""

    static let old = ["/a", "/b", "/x", "/y", "/o", "/o/p", "/o/q", "/x/p"]
    static let new = ["/a", "/b", "/n", "/o", "/o/p", "/o/q"]

    init(seed: UInt64) {
        numbers = SeededGenerator(seed: seed)
        var inner = Shape.object(["p", "q"].map { .init($0, scalar()) })
        inner.required = Set(of: ["p", "q"].filter { _ in oneIn(6) })
        inner.isNullable = oneIn(3)
        shape = Shape.object(["a", "b", "n"].map { .init($0, scalar()) } + [.init("o", inner)])
        shape.required = Set(of: ["a", "b", "n", "o"].filter { _ in oneIn(6) })
        var words: [String] = []
        for _ in 0 ... Int.random(in: 0 ... 1, using: &self) { words.append(makeCase()) }
        text = "adopt: [\(words.joined(separator: ", ")), {otherwise: quarantine}]\nevents: {E: \(shape.bare.canonical.text)}"
    }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &self) == 0 }

    private mutating func one(_ texts: [String]) -> String { texts.randomElement(using: &self) ?? "" }

    private mutating func scalar() -> Shape {
        var shape = Shape([.string, .integer, .boolean].randomElement(using: &self) ?? .string)
        shape.isNullable = oneIn(4)
        return shape
    }

    private mutating func makeCase() -> String {
        var (made, parts) = (NaiveCase(), [String]())
        if oneIn(2) {
            let test = oneIn(2) ? "{path: \(one(Self.old)), exists: true}" : "{path: \(one(Self.old)), equals: 7}"
            made.test = json(test)
            parts.append("when: \(test)")
        }
        parts.append("as: E")
        var targets = Self.new.shuffled(using: &self)
        var (kept, moved, defaults) = ([String](), [String](), [String]())
        for _ in 0 ..< Int.random(in: 0 ... 4, using: &self) {
            let target = targets.removeLast()
            let source = oneIn(2) ? target : one(Self.old)
            made.moves.append(([String](pointer: source), [String](pointer: target)))
            if source == target { kept.append(target) } else { moved.append("\(target): \(source)") }
        }
        // Members that keep their names are taken first.
        made.moves = made.moves.filter { $0.from == $0.to } + made.moves.filter { $0.from != $0.to }
        for target in targets.prefix(Int.random(in: 0 ... 2, using: &self)) {
            let source = oneIn(3) ? "$time" : oneIn(3) ? "$metadata/app" : "{value: \(constant(at: target))}"
            defaults.append("\(target): \(source)")
            made.defaults.append(([String](pointer: target), json(source)))
        }
        if !kept.isEmpty { parts.append("keep: [\(kept.joined(separator: ", "))]") }
        if !moved.isEmpty { parts.append("from: {\(moved.joined(separator: ", "))}") }
        if !defaults.isEmpty { parts.append("default: {\(defaults.joined(separator: ", "))}") }
        if oneIn(3) { parts.append("convert: [\(convert(into: &made))]") }
        cases.append(made)
        return "{\(parts.joined(separator: ", "))}"
    }

    private mutating func constant(at target: String) -> String {
        switch (try? JSONPointer(target)).flatMap({ shape.shape(at: $0) })?.kind {
        case .string: one(["x", "''"])
        case .integer: one(["7", "0"])
        case .boolean: "true"
        default: "{}"
        }
    }

    private mutating func convert(into made: inout NaiveCase) -> String {
        let (path, codec) = (one(["/a", "/b", "/n"]), one(["integer-text", "boolean-text", "number-text"]))
        let kind = shape.property(String(path.dropFirst()))?.kind ?? .string
        let words = "{path: \(path), to: \(kind.rawValue), using: \(codec)}"
        let after = shape.bare.canonical
        made.converts.append(NaiveOp(name: "convert", arguments: json(words), before: after, after: after))
        return words
    }

    private func json(_ yaml: String) -> JSONValue {
        do { return try FileReader.read(text: Array(yaml.utf8), file: "case.yaml").json } catch { return .null }
    }

    mutating func data() -> String { object(["a", "b", "x", "y", "o", "n"], depth: 0) }

    private mutating func object(_ names: [String], depth: Int) -> String {
        let names = names.filter { _ in !oneIn(3) }.shuffled(using: &self)
        return "{\(names.map { "\"\($0)\":\(value($0, depth))" }.joined(separator: ","))}"
    }

    /// Mostly one that the member of this name may have.
    private mutating func value(_ name: String, _ depth: Int) -> String {
        let wanted = shape.property(name) ?? shape.property("o")?.property(name)
        switch oneIn(4) ? nil : wanted?.kind {
        case .string: return one(["\"x\"", "\"7\"", "\"true\"", "\"\""])
        case .integer: return one(["7", "0"])
        case .boolean: return "true"
        case .object: return object(["p", "q", "r"], depth: depth + 1)
        default: break
        }
        if depth < 2, oneIn(3) { return object(["p", "q", "r"], depth: depth + 1) }
        return one(["7", "7", "\"x\"", "\"7\"", "\"true\"", "true", "null", "1.5", "[1]", "\"\"", "0"])
    }
}

@Suite("What adoption makes of old data is what the oracle says")
struct NaiveAdoptionTests {
    private struct Outcome: Equatable, CustomStringConvertible {
        /// Nil where the data has no image.
        var image: String?
        var (kept, notKept, defaulted) = (0, 0, 0)

        var description: String { "\(image ?? "refused"), \(kept) kept, \(notKept) not, \(defaulted) defaults" }
    }

    private let time = "2026-01-01T00:00:00Z"

    private func naive(_ data: JSONValue, _ maker: AdoptionMaker) -> Outcome {
        var (adoption, schema) = (NaiveAdoption(), maker.shape.bare.canonical)
        var run = NaiveRun(time: time, stream: "s-1", metadata: .object([.init(name: "app", value: .string("x"))]))
        do throws(NaiveRefusal) {
            let made = try adoption.adopt(data, maker.cases, &run, shape: schema)
            if !made.fits(schema) { return Outcome() }
            return Outcome(image: made.text, kept: adoption.kept, notKept: adoption.notKept, defaulted: adoption.defaulted)
        } catch { return Outcome() }
    }

    private func found(_ data: String, _ viewer: PathRunner) throws -> Outcome {
        let before = viewer.counts
        do {
            let seen = try viewer.images("old", data, from: 0, to: 1, time: time, metadata: #"{"app":"x"}"#)
            let counts = viewer.counts - before
            return Outcome(
                image: seen.map(\.json).joined(), kept: Int(counts.kept), notKept: Int(counts.notKept), defaulted: Int(counts.defaulted))
        } catch EvstoreError.noImage { return Outcome() }
    }

    @Test("by random cases, of random data, with what is kept, left behind and filled in")
    func manyCases() throws {
        let base = UInt64.random(in: .min ... .max)
        var (looked, adopted) = (0, 0)
        for round in 0 ..< rounds(300) {
            var maker = AdoptionMaker(seed: base &+ UInt64(round))
            guard let history = try? history([maker.text]), history.check().errors.isEmpty else { continue }
            let viewer = PathRunner(history)
            for _ in 0 ..< 10 {
                let data = maker.data()
                let wanted = naive(try JSONValue(parsing: Array(data.utf8).lent), maker)
                let found = try found(data, viewer)
                #expect(found == wanted, "seed \(base &+ UInt64(round)): \(data) by \(maker.text)")
                if found != wanted { return }
                looked += 1
                if wanted.image != nil { adopted += 1 }
            }
        }
        #expect(looked > rounds(1_000) && adopted > looked / 10, "seed \(base): \(adopted) of \(looked) were adopted")
    }
}
