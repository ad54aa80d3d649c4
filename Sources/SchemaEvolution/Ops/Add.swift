internal import Bytes
internal import EventModel
internal import JSONText

/// `add {path, value}` or `add {path, from}`: adds a member whose value is a constant or comes from beside the payload.
struct Add: MemberOp {
    static let name = "add"

    let path: JSONPointer
    /// Nil if the file gives neither a value nor a source, which is reported as a finding.
    let source: Source?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("add", allowing: ["path", "value", "from"])
        path = try arguments.required("path", of: "add").pointer("path")
        switch (arguments.member("value"), arguments.member("from")) {
        case (let value?, nil): source = .constant(value.constant)
        case (nil, let from?): source = try Add.source(from)
        case (nil, nil): source = nil
        default:
            throw arguments.problem(
                "add takes a value or a from, and only one of them", rule: Rule.opArgument, fix: "add: {path: \(path), value: …}"
            ).withRepairs(arguments.mark.repair(.remove, at: "from"))
        }
    }

    private static func source(_ node: FileNode) throws(FileProblem) -> Source {
        let text = try node.text("from")
        do {
            let source = try Source(text)
            switch source {
            case .time, .stream, .metadata: return source
            default: break
            }
        } catch { if text.hasPrefix("$metadata/") { throw node.problem(error.reason, rule: Rule.opArgument, fix: error.fix) } }
        throw node.problem(
            "from must be $time, $stream or $metadata/x, not \(quoted(text))", rule: Rule.opArgument,
            fix: text.hasPrefix("/") ? "copy: {from: \(text), path: …}" : nil
        ).withRepairs(node.swapped(text, among: ["$time", "$stream"]))
    }

    /// Whether the value is the name of the event's stream at the version of the step.
    var readsStream: Bool { source?.readsStream ?? false }

    var isTotal: Bool {
        switch source {
        case .constant?, .time?: true
        // A stream name may have no counterpart at the other version.
        default: false
        }
    }

    var trait: OpTrait? {
        switch source {
        case .metadata(let pointer)?: .addsFromMetadata(pointer, at: path)
        case .stream?: .addsFromStream(at: path)
        default: nil
        }
    }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was added")] }
        let what =
            switch source {
            case .constant(let value): value.text
            case .time: "the event's time"
            case .stream: "the name of the event's stream"
            case .metadata(let pointer):
                "\(pointer) of the event's metadata; without it, absent, or refused where the newer version requires it"
            default: "nothing says as what"
            }
        let absent = self.path.tokens.count > 1 ? "; where the object around it is neither there nor new, absent" : ""
        return [OpEffect(.appears(path), "is added: \(what)\(absent)")]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        let declared = site.declared(at: path)
        guard let source else {
            let value = (declared ?? .any).sample
            site.note(
                Rule.opArgument, "nothing says what \(path) is in older events",
                fix: "add: {path: \(path), value: \(value.text)}, with a value of your choice",
                repair: site.mark.repair("*", "value", to: value))
            _ = site.put(declared ?? .any, at: path, .added)
            return nil
        }
        let member: Shape
        switch source {
        case .constant(let value):
            if let declared, let why = declared.rejection(of: value) {
                site.note(
                    Rule.upNotTotal, "the value \(value.text) does not fit the declared shape: \(why.pointer) \(why.reason)",
                    fix: "give a value that is \(why.expected)",
                    repair: site.mark.repair("*", "value", to: declared.nearestValue(to: value)))
            }
            member = declared ?? Shape(natural: value)
        case .time:
            member = declared.flatMap { $0.kind == .string ? $0 : nil } ?? .dateTime
            if member.hasBounds || ![nil, .dateTime].contains(member.format) { site.isUnproved = true }
        case .stream:
            member = declared.flatMap { $0.kind == .string ? $0 : nil } ?? Shape(.string)
            if member.hasBounds || member.format != nil { site.isUnproved = true }
        default:
            member = declared ?? .any
            site.mayFail()
        }
        site.opClass.insert(.widen)
        guard site.put(member, at: path, .added), let place = MemberLocation(path, here: site.shape, there: before, isConstant: true) else {
            return nil
        }
        return BoundAdd(place: place, source: source, isRequired: !site.isLeaving && site.shape.isRequired(at: path))
    }
}

private final class BoundAdd: StagedOp {
    let place: MemberLocation
    let source: Source
    let constant: ConstantText?
    let isRequired: Bool

    init(place: MemberLocation, source: Source, isRequired: Bool) {
        (self.place, self.source, self.isRequired) = (place, source, isRequired)
        constant = if case .constant(let value) = source { ConstantText(value) } else { nil }
    }

    var readsStream: Bool { source.readsStream }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        switch direction {
        case .up:
            guard let holder = place.holder(in: &doc, at: object, forValue: false) else { return }
            if let constant {
                doc.set(place.name, of: holder, to: constant.json)
            } else if let value = doc.beside(source) {
                doc.set(place.name, of: holder, toValueOf: value)
            } else if isRequired {
                throw doc.refusal(at: place.pointer, expected: "in the event's metadata", found: .words("nothing"))
            }
        case .down:
            if let constant {
                if let node = doc.find(place.pointer, from: object) { doc.lose(node, unless: constant.canonical) }
            } else if let node = place.find(in: &doc, at: object) {
                let isSame = doc.beside(source).map { doc.means(node, $0) } ?? false
                if !isSame { doc.lose(1) }
            }
            place.remove(from: &doc, at: object)
        }
    }
}

extension Shape {
    /// The shape that a constant's JSON type suggests, for a member without a declared shape.
    init(natural value: JSONValue) {
        switch value {
        case .null:
            self.init(.null)
        case .bool: self.init(.boolean)
        case .number(let text): self.init(DecimalNumber(json: Array(text.utf8).lent)?.isInteger == true ? .integer : .number)
        case .string: self.init(.string)
        case .array(let values):
            self.init(.array)
            items = values.first.map(Shape.init(natural:))
        case .object(let members):
            self = .object(members.map { .init($0.name, Shape(natural: $0.value)) })
        }
    }

    static var dateTime: Shape { text(.dateTime) }

    static func text(_ format: Format) -> Shape {
        var shape = Shape(.string)
        shape.format = format
        return shape
    }
}
