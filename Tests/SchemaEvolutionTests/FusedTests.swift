import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// Random shapes, ops and events, the same for the same seed.
private struct Maker: RandomNumberGenerator {
    private var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func one(_ texts: [String]) -> String { texts.randomElement(using: &self) ?? "" }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &self) == 0 }

    /// What the ops at hand are about: of few places, what one op does meets what others did there before.
    private var places = Self.paths

    mutating func choosePlaces() { places = oneIn(2) ? Self.paths : Array(Self.paths.shuffled(using: &self).prefix(3)) }

    static let paths = ["/a", "/b", "/c", "/longer_than_eight", "/o/a", "/o/b", "/o/p/a", "/n/a", "/n/m/b"]

    /// An object with some of the members that the ops are about.
    mutating func shape(_ depth: Int = 0) -> Shape {
        var properties: [Shape.Property] = []
        for name in ["a", "b", "c", "longer_than_eight", "d"] where !oneIn(5) { properties.append(.init(name, scalar())) }
        if depth == 0, !oneIn(3) {
            let list = Shape.array(of: oneIn(5) ? scalar() : shape(2))
            properties.append(.init("l", list))
            if oneIn(3) { properties[properties.count - 1].shape.isNullable = true }
            var map = Shape(.object)
            map.additional = oneIn(4) ? scalar() : shape(2)
            properties.append(.init("m", map))
        }
        if depth < 2, !oneIn(3) { properties.append(.init(depth == 0 ? "o" : "p", shape(depth + 1))) }
        // As many as a program's masks hold, and more.
        if depth == 0, oneIn(10) {
            let count = [1, 63, 64, 65, 300].randomElement(using: &self) ?? 64
            for number in 0 ..< max(count - properties.count, 0) { properties.append(.init("w\(number)", scalar())) }
        }
        var object = Shape.object(properties)
        object.required = Set(of: properties.map(\.name).filter { _ in oneIn(2) })
        return object
    }

    private mutating func scalar() -> Shape {
        var shape = Shape([.string, .string, .integer, .boolean].randomElement(using: &self) ?? .string)
        if oneIn(6) { shape = .array(of: Shape(.string)) }
        if oneIn(5) { shape.isNullable = true }
        return shape
    }

    mutating func op(_ depth: Int = 0) -> String {
        if depth < 2, oneIn(4) {
            let inner = (0 ... Int.random(in: 0 ... 2, using: &self)).map { _ in "{\(op(depth + 1))}" }.joined(separator: ", ")
            let test = one([
                "path: \(one(places)), exists: \(one(["true", "false"]))", "path: \(one(places)), equals: x",
                "path: \(one(places)), in: [x, 7, true, 'A B']", "path: \(one(places)), below: '10.2'",
                "path: $time, below: '\(one(["1960-01-01T00:00:00Z", "2020-01-01T00:00:00Z"]))'", "path: $metadata/app, equals: x",
            ])
            let other = oneIn(2) ? ", else: [{\(op(2))}]" : ""
            return one([
                "each: {path: /l, do: [\(inner)]}", "each: {path: /l, do: [\(inner)]}", "each: {path: /m, do: [\(inner)]}",
                "when: {\(test), do: [\(inner)]\(other)}",
            ])
        }
        if depth == 0, oneIn(8) {
            let list = one(["/l", "/m"])
            return one([
                "copy: {from: \(list), path: /kept}", "move: {from: \(list), path: /o/list}", "remove: {path: \(list), because: none}",
            ])
        }
        if oneIn(8) {
            let source = one(["$time", "$stream", "$metadata/app", "$metadata/none"])
            return "add: {path: \(one(places)), from: \(source)}"
        }
        let (path, other, third) = (one(places), one(places), one(places))
        let at = one(["first", "last"])
        let missing = one(["absent", "absent", "error"])
        return one([
            "move: {from: \(path), path: \(other)}", "move: {from: \(path), path: \(other)}", "move: {from: \(path), path: \(other)}",
            "add: {path: \(path), value: \(one(["x", "7", "true", "{k: v}"]))}",
            "remove: {path: \(path), restore: \(one(["absent", "x", "7", "A B"])), because: none}",
            "unset: {path: \(path), equals: \(one(["x", "7", "null"]))}",
            "wrap: {path: \(path)}", "wrap: {path: \(path), empty: \(one(["x", "7"]))}", "head: {path: \(path)}",
            "head: {path: \(path), empty: x}",
            "convert: {path: \(path), to: integer, using: integer-text}", "convert: {path: \(path), to: string, using: integer-text}",
            "convert: {path: \(path), to: string, using: epoch-seconds}",
            "convert: {path: \(path), to: number, using: number-text}", "convert: {path: \(path), to: boolean, using: boolean-text}",
            "convert: {path: \(path), to: string, using: boolean-text}",
            "convert: {path: \(path), to: integer, using: {decimal: {scale: 2}}}",
            "convert: {path: \(path), to: string, using: {decimal: {scale: 2}}, canonical: require}",
            "convert: {path: \(path), to: string, using: {table: {map: {x: y, 'A B': 'q\\'}, otherwise: keep, because: none}}}",
            "split: {path: \(path), into: [\(other), \(third)], separator: ' ', at: \(at), missing: \(missing)}",
            "join: {paths: [\(path), \(other)], path: \(third), separator: ' ', at: \(at), missing: \(missing)}",
            "copy: {from: \(path), path: \(other)}", "copy: {from: \(path), path: \(other), using: integer-text}",
            "compute: {path: \(path), template: '{\(other)}-{\(third)}'}",
        ])
    }

    mutating func allow() -> String {
        let down = one([
            "absent", "absent", "{value: x}", "{value: 7}", "{absent-as: x}", "{absent-as: 'true'}", "block", "{hide: none}",
            "{table: {x: y, 'null': A B, 7: 8}}", "{table: {'null': x}, absent-as: ''}", "{table: {'null': 0}, hide: none}",
        ])
        return "allow: {path: \(one(places)), down: \(down)}"
    }

    /// A step in Swift that changes one or two members.
    mutating func swift() -> String {
        let writes = places.shuffled(using: &self).prefix(oneIn(2) ? 1 : 2)
        let reads = Self.paths.shuffled(using: &self).prefix(Int.random(in: 0 ... 3, using: &self)) + (oneIn(2) ? writes : [])
        return "swift: {id: mix, revision: 1, class: partial, reads: [\(Set(reads).sorted().joined(separator: ", "))], "
            + "writes: [\(writes.joined(separator: ", "))]}"
    }

    /// The shape with other members at the places that a step in Swift writes.
    mutating func rewritten(_ shape: Shape, at places: [JSONPointer]) -> Shape {
        var made = shape
        for place in places {
            if oneIn(3) {
                made.remove(at: place)
            } else if made.shape(at: place) != nil {
                _ = made.replace(at: place, with: scalar(), required: oneIn(2))
            } else {
                _ = made.insert(scalar(), at: place, required: oneIn(2))
            }
        }
        return made
    }

    /// The shape with more allowed at a place: a member that is new, may be null, or may be absent.
    mutating func wider(_ shape: Shape, at path: JSONPointer) -> Shape {
        var wider = shape
        if var member = shape.shape(at: path) {
            if !oneIn(3) { member.isNullable = true }
            _ = wider.replace(at: path, with: member, required: shape.isRequired(at: path) && oneIn(2))
        } else {
            _ = wider.insert(scalar(), at: path, required: false)
        }
        return wider
    }

    /// An event of a shape, at times in another order, with other spaces, other kinds, unknown members or cut off.
    mutating func event(_ shape: Shape) -> String {
        var text = json(shape, isOdd: oneIn(4))
        if oneIn(40) { text = String(text.prefix(Int.random(in: 0 ... text.count, using: &self))) }
        return oneIn(10) ? " \(text)\n" : text
    }

    private mutating func json(_ shape: Shape, isOdd: Bool) -> String {
        if shape.isNullable, oneIn(3) { return "null" }
        switch isOdd && shape.kind != .object && oneIn(25) ? .boolean : shape.kind {
        case .object:
            var members: [String] = []
            for property in shape.properties where shape.required.contains(property.name) || oneIn(2) {
                if isOdd, oneIn(40) { continue }
                let name =
                    isOdd && oneIn(40)
                    ? "\\u00\(String(property.name.utf8.first ?? 97, radix: 16))\(property.name.dropFirst())" : property.name
                members.append(
                    "\(isOdd && oneIn(4) ? "\n" : "")\"\(name)\"\(isOdd && oneIn(4) ? " : " : ":")\(json(property.shape, isOdd: isOdd))")
            }
            if let value = shape.additional {
                for name in ["k", "two words"] where oneIn(2) {
                    members.append("\"\(name)\":\(oneIn(6) ? "null" : json(value, isOdd: isOdd))")
                }
            }
            if isOdd, oneIn(20) { members.append("\"unknown\":1") }
            if isOdd { members.shuffle(using: &self) }
            return "{\(members.joined(separator: isOdd && oneIn(3) ? " , " : ","))}"
        case .array:
            let elements = (0 ..< Int.random(in: 0 ... 3, using: &self)).map { _ in
                oneIn(8) ? "null" : shape.items.map { json($0, isOdd: isOdd) } ?? text()
            }
            return "[\(elements.joined(separator: isOdd && oneIn(3) ? " , " : ","))]"
        case .integer, .number: return one(["7", "0", "-3", "1767225600", "7.0", "70e-1", "123456789012345678901234"])
        case .boolean: return one(["true", "false"])
        default: return text()
        }
    }

    private mutating func text() -> String {
        one([
            "\"\"", "\"x\"", "\"7\"", "\"+7\"", "\"007\"", "\"12.50\"", "\"1.5\"", "\"A B\"", "\"A B C\"", "\" \"", "\"1e3\"", "\"-0.50\"",
            "\"-0\"",
            "\"True\"", "\"false\"", "\"ü\"",
            "\"\\\"q\\\" r\"",
            "\"\\u0041 B\"", "\"a longer text, more than eight bytes\"", "\"2026-01-01T00:00:00Z\"",
        ])
    }
}

/// Ops bound one after the other, and the shapes before and after.
private struct Bound {
    var ops: [PathOp] = []
    var words: [String] = []
    let low: Shape
    var high: Shape
    /// The ops for the oracle; nil where one within another could not be bound.
    var naive: [NaiveOp]? = []

    init(_ maker: inout Maker) throws {
        low = maker.shape()
        high = low
        maker.choosePlaces()
        for number in 1 ... Int.random(in: 1 ... 10, using: &maker) {
            let text = maker.oneIn(6) ? maker.allow() : maker.oneIn(20) ? maker.swift() : maker.op()
            guard let op = Self.op(text) else { continue }
            let target =
                switch op {
                case let op as Allow: maker.wider(high, at: op.path)
                case let op as SwiftOp: maker.rewritten(high, at: op.writes)
                default: nil as Shape?
                }
            var site = BindingContext(
                shape: high, stream: nil, shapeTargets: target.map { [ShapeTarget(declared: $0, ops: [])] } ?? [], type: "E",
                mark: FileLocation(file: "ops.yaml", line: 1, column: 1), label: text)
            if let op = op as? SwiftOp { site.swiftSteps = try SwiftSteps([MixStep(writes: op.writes.map(\.description))]) }
            guard let bound = op.bind(&site) else { continue }
            if let json = try? FileReader.read(text: Array(text.utf8), file: "ops.yaml").json,
                let made = Self.naive(op, json, high, site.shape)
            {
                naive?.append(made)
            } else {
                naive = nil
            }
            high = site.shape
            words.append(text)
            ops.append(
                PathOp(
                    op: bound, direction: .up, step: SchemaVersion(number), label: text, summary: nil, mark: nil,
                    blocks: false, loss: Self.loss(number, text)))
        }
    }

    private static func loss(_ number: Int, _ op: String) -> LossDeclaration {
        LossDeclaration(version: SchemaVersion(number), type: "E", op: op, because: "")
    }

    private static func naive(_ op: any Op, _ json: JSONValue, _ before: Shape, _ after: Shape) -> NaiveOp? {
        guard case .object(let members) = json, let one = members.first else { return nil }
        var made = NaiveOp(name: one.name, arguments: one.value, before: before.bare.canonical, after: after.bare.canonical)
        if let each = op as? Each {
            let holder = before.shape(at: each.path)
            guard let element = holder?.items ?? holder?.additional,
                let inner = naive(each.entries, one.value["do"], in: element)
            else { return nil }
            made.inner = inner
        } else if let when = op as? When {
            guard let inner = naive(when.entries, one.value["do"], in: before, to: [ShapeTarget(declared: before, ops: [])]),
                let otherwise = naive(when.otherwise, one.value["else"], in: before, to: [ShapeTarget(declared: before, ops: [])])
            else { return nil }
            (made.inner, made.otherwise) = (inner, otherwise)
        }
        return made
    }

    /// - Parameter targets: the shapes that the ops are to lead to: those under a guard keep the shape.
    private static func naive(
        _ entries: [OpEntry], _ list: JSONValue?, in shape: Shape, to targets: [ShapeTarget] = []
    ) -> [NaiveOp]? {
        guard case .array(let texts) = list ?? .array([]) else { return nil }
        var (made, shape) = ([NaiveOp](), shape)
        for (entry, text) in zip(entries, texts) {
            var site = BindingContext(
                shape: shape, stream: nil, shapeTargets: targets, type: "E", mark: FileLocation(file: "ops.yaml", line: 1, column: 1),
                label: "")
            guard entry.op.bind(&site) != nil, let one = naive(entry.op, text, shape, site.shape) else { return nil }
            made.append(one)
            shape = site.shape
        }
        return made
    }

    /// Nil where the words make no op, such as a move to where the member is.
    private static func op(_ text: String) -> (any Op)? {
        do { return try OpRegistry.payloadOp(FileReader.read(text: Array(text.utf8), file: "ops.yaml")) } catch { return nil }
    }

    func path(_ direction: Direction) -> Path {
        let turned = (direction == .up ? ops : ops.reversed()).map { $0.going(direction) }
        let end = PathEnd(
            type: "E", typeIndex: 0, shape: EventShape(shape: direction == .up ? high : low), isUnproved: false, step: SchemaVersion(1))
        return Path(
            type: "E", born: SchemaVersion(1), target: SchemaVersion(2), root: PathSegment(ops: turned, next: .end(end)))
    }
}

private let (streamName, someMetadata) = ("a \"stream\"", #"{"app":"x"}"#)

/// The image of an event, or the error.
private func outcome(_ path: Path, _ json: String, _ viewer: PathRunner) -> (text: String, refused: String?) {
    var images: [String] = []
    let metadata = json.utf8.count % 2 == 0 ? "" : someMetadata
    do {
        let (payload, beside) = (Array(json.utf8), Array(metadata.utf8))
        let source = SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: beside.lent)
        try viewer.interpreter.run(path, source, stream: streamName) {
            images.append(String(decoding: [UInt8](copying: $0.payload), as: UTF8.self))
        }
    } catch EvstoreError.noImage(let failure) { return ("\(failure)", failure.pointer) } catch { return ("\(error)", "") }
    return (images.joined(separator: " "), nil)
}

/// What the oracle makes of an event, as JSON text without spaces, or where it refuses it.
private func naively(
    _ ops: [NaiveOp], _ event: JSONValue, _ direction: Direction, _ json: String
) -> (text: String?, refused: String?, run: NaiveRun) {
    var run = NaiveRun(
        time: "1970-01-01T00:00:00Z", stream: streamName,
        metadata: json.utf8.count % 2 == 0 ? nil : .object([.init(name: "app", value: .string("x"))]))
    do throws(NaiveRefusal) {
        return (direction == .up ? try run.up(event, ops).text : try run.down(event, ops).text, nil, run)
    } catch { return (nil, error.isHidden ? nil : error.path.map { "/\($0)" }.joined(), run) }
}

private func parsed(_ json: String) -> JSONValue? {
    do { return try JSONValue(parsing: Array(json.utf8).lent) } catch { return nil }
}

@Test("a fused path gives what its ops give one by one, bytes, errors and counts, and both what the oracle says, up and down")
func fusedIsTheSame() throws {
    let seed = UInt64.random(in: .min ... .max)
    var maker = Maker(seed: seed)
    let history = try orders()
    var (fused, judged) = (0, 0)
    for _ in 0 ..< rounds(200) {
        let bound = try Bound(&maker)
        for direction in [Direction.up, .down] {
            let path = bound.path(direction)
            let shape = direction == .up ? bound.low : bound.high
            let program = path.fused(for: EventShape(shape: shape))
            if program.fused != nil { fused += 1 }
            let (slow, quick) = (PathRunner(history), PathRunner(history))
            for _ in 0 ..< 12 {
                let json = maker.event(shape)
                let counts = quick.counts
                let (wanted, found) = (outcome(path, json, slow), outcome(program, json, quick))
                #expect(found.text == wanted.text, "seed \(seed): \(json) \(direction) by \(bound.words)")
                #expect(quick.counts == slow.counts, "seed \(seed): \(json) \(direction) by \(bound.words)")
                if found.text != wanted.text || quick.counts != slow.counts { return }
                guard let ops = bound.naive, let event = parsed(json) else { continue }
                judged += 1
                let naive = naively(ops, event, direction, json)
                #expect(found.refused == naive.refused, "seed \(seed): \(json) \(direction) by \(bound.words): \(found.text)")
                if found.refused == nil {
                    #expect(parsed(found.text)?.text == naive.text, "seed \(seed): \(json) \(direction) by \(bound.words)")
                    let counted = [quick.counts.lost - counts.lost, quick.counts.nonCanonical - counts.nonCanonical]
                    #expect(counted == [naive.run.lost, naive.run.otherForms], "seed \(seed): \(json) \(direction) by \(bound.words)")
                }
                if found.refused != naive.refused { return }
            }
        }
    }
    #expect(fused > rounds(100), "seed \(seed): \(fused) of \(rounds(400)) paths were fused")
    #expect(judged > rounds(1_000), "seed \(seed): the oracle judged \(judged) of \(rounds(4_800)) images")
}

/// What stands at pointers of the images of an event, or the error; and whether the images came without the rest.
private func values(_ pointers: [JSONPointer], _ path: Path, _ json: String, _ viewer: PathRunner) -> (text: String, isPart: Bool) {
    var (found, isPart): ([String], Bool) = ([], false)
    do {
        let (payload, none) = (Array(json.utf8), [UInt8]())
        let source = SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent)
        try viewer.interpreter.run(path, source, stream: "") { image in
            isPart = isPart || !image.isWhole
            for (index, pointer) in pointers.enumerated() {
                if image.isWhole {
                    let whole = try JSONValue(parsing: image.payload)
                    let value = pointer.tokens.reduce(whole) { (value: JSONValue?, name) in value?.member(name.text) }
                    found.append(value?.text ?? "absent")
                } else {
                    let place = image.places[index]
                    found.append(place.isPresent ? try JSONValue(parsing: image.payload.slice(place.start, place.size)).text : "absent")
                }
            }
        }
    } catch { return ("\(error)", isPart) }
    return (found.joined(separator: " "), isPart)
}

@Test("values that are made one by one are those of the whole image, up and down")
func readingIsTheSame() throws {
    let seed = UInt64.random(in: .min ... .max)
    var maker = Maker(seed: seed)
    let history = try orders()
    var parts = 0
    for _ in 0 ..< 200 {
        let bound = try Bound(&maker)
        for direction in [Direction.up, .down] {
            let shape = direction == .up ? bound.low : bound.high
            let pointers = try Maker.paths.shuffled(using: &maker).prefix(4).map { try JSONPointer($0) }
            let path = bound.path(direction)
            let reading = path.fused(for: EventShape(shape: shape)).fused(for: EventShape(shape: shape)) { _ in pointers }
            let (slow, quick) = (PathRunner(history), PathRunner(history))
            for _ in 0 ..< 12 {
                let json = maker.event(shape)
                let (wanted, found) = (values(pointers, path, json, slow), values(pointers, reading, json, quick))
                if found.isPart { parts += 1 }
                #expect(found.text == wanted.text, "seed \(seed): \(json) \(direction) by \(bound.words) at \(pointers)")
                #expect(quick.counts == slow.counts, "seed \(seed): \(json) \(direction) by \(bound.words)")
                if found.text != wanted.text || quick.counts != slow.counts { return }
            }
        }
    }
    #expect(parts > 1_000, "seed \(seed): \(parts) of 4,800 images came in parts")
}

@Test("an optional member that takes the name of one that was required is asked for")
func renamedOptional() throws {
    let (a, b, c) = ("a: {type: string}", "b: {type: string}", "c: {type: string}")
    let viewer = PathRunner(
        try SchemaEvolutionTests.history([
            "events: {E: {required: [b], properties: {\(a), \(b)}}}",
            """
            upcast: [{on: E, do: [{remove: {path: /b, restore: "", because: x}}, {move: {from: /a, path: /b}}]}]
            events: {E: {properties: {\(b)}}}
            """,
            "upcast: [{on: E, do: [{copy: {from: /b, path: /c}}]}]\nevents: {E: {properties: {\(b), \(c)}}}",
        ]))
    #expect(try viewer.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(3)).fused != nil)
    #expect(try viewer.image("E", #"{"b":"x"}"#, from: 1, to: 3) == "{}")
    #expect(try viewer.image("E", #"{"a":"y","b":"x"}"#, from: 1, to: 3) == #"{"b":"y","c":"y"}"#)
}

@Test("the paths of the examples are fused, and give what their ops give")
func fusedExamples() throws {
    let history = try orders()
    for (born, target) in [(1, 5), (5, 1), (1, 2), (4, 2)] {
        let path = try PathRunner(history).path(type: "OrderPlaced", born: SchemaVersion(born), to: SchemaVersion(target))
        #expect(path.fused != nil, "v\(born) to v\(target)")
    }
    let dispatched = try PathRunner(try packages()).path(type: "PackageLogged", born: SchemaVersion(1), to: SchemaVersion(5))
    #expect(dispatched.fused != nil)
}
