internal import Bytes
package import EventModel
package import JSONText

/// One case of `adopt:`, which makes events of data from before versions existed: it keeps or renames members, adds defaults for missing
/// ones and converts values.
package struct Adopt: Sendable {
    package struct Move: Sendable {
        package let from: JSONPointer
        let place: MemberLocation
        package var target: JSONPointer { place.pointer }
    }

    package struct Default: Sendable {
        let place: MemberLocation
        package let source: Source
        /// The JSON text of a constant; empty for other sources.
        let text: [UInt8]
        package var target: JSONPointer { place.pointer }

        init(place: MemberLocation, source: Source) {
            (self.place, self.source) = (place, source)
            if case .constant(let value) = source { text = Array(value.text.utf8) } else { text = [] }
        }
    }

    /// Nil matches every event.
    package let test: Guard?
    package let type: String
    /// The template that names the stream by members of the old data; if nil, the type's own template names it by members of the event.
    package let stream: StreamTemplate?
    /// The members to keep or rename. `moves`, `defaults` and `converts` describe what `ops` do.
    package let moves: [Move]
    let defaults: [Default]
    let converts: [Convert]
    let ops: [any BoundOp]
    let label: String
    let mark: FileLocation

    static let members = ["when", "as", "stream", "keep", "from", "default", "convert"]

    /// Reads a case and binds it to the shape that version 1 declares.
    init(_ node: FileNode, number: Int, _ file: VersionFile) throws(FileProblem) {
        try node.map("a case", allowing: Self.members)
        mark = node.mark
        label = "adopt (case \(number))"
        test = try node.member("when").map { guarded throws(FileProblem) in
            try guarded.map("when", allowing: Guard.members)
            return try Guard(guarded)
        }
        type = try node.required("as", of: "a case").text("as")
        guard let shape = file.events[type]?.shape else {
            let meant = nearest(to: type, among: file.types)
            throw node.problem(
                "version 1 has no \(type)", rule: Rule.noType,
                fix: meant.map { "did you mean \($0)?" } ?? "there are: \(file.types.joined(separator: ", "))"
            ).withRepairs(meant.map { node.mark.repair("as", to: .string($0)) })
        }
        stream = try node.member("stream").map { template throws(FileProblem) in
            let text = try template.text("stream")
            do throws(ExpressionError) { return try StreamTemplate(stream: text) } catch {
                throw template.problem("\(quoted(text)) is not a stream template: \(error.reason)", rule: Rule.opArgument, fix: error.fix)
            }
        }
        var moves: [Move] = []
        for kept in try node.member("keep")?.list("keep") ?? [] {
            let pointer = try kept.pointer("keep")
            moves.append(Move(from: pointer, place: try Self.place(pointer, shape, kept.mark)))
        }
        for member in try node.member("from")?.map("from") ?? [] {
            moves.append(
                Move(from: try member.value.pointer("from"), place: try Self.place(try Self.pointer(member), shape, member.place)))
        }
        var defaults: [Default] = []
        for member in try node.member("default")?.map("default") ?? [] {
            let pointer = try Self.pointer(member)
            defaults.append(
                Default(
                    place: try Self.place(pointer, shape, member.place), source: try Self.source(member.value, shape.shape(at: pointer))))
        }
        var ops: [any BoundOp] = [BoundAdopt(moves: moves, defaults: defaults)]
        let listed = try node.member("convert")?.list("convert") ?? []
        let converts = try listed.map { convert throws(FileProblem) in try Convert(convert) }
        for (index, first) in converts.enumerated() where !converts[..<index].contains(where: { $0.path == first.path }) {
            let chain = zip(converts, listed).filter { $0.0.path == first.path }
            ops += try Self.bind(chain.map(\.0), at: chain.map(\.1.mark), shape, type, label)
        }
        (self.moves, self.defaults, self.converts, self.ops) = (moves, defaults, converts, ops)
    }

    private static func pointer(_ member: FileNode.Member) throws(FileProblem) -> JSONPointer {
        do { return try JSONPointer(member.name) } catch {
            throw member.problem("\(member.name) is not a pointer: \(error.reason)", rule: Rule.opArgument, fix: "begin it with a slash")
        }
    }

    private static func place(_ pointer: JSONPointer, _ shape: Shape, _ mark: FileLocation) throws(FileProblem) -> MemberLocation {
        guard shape.shape(at: pointer) != nil, let place = MemberLocation(pointer, here: shape, there: .object([])) else {
            let known = shape.pointers { _ in true }.map(\.description)
            let meant = nearest(to: pointer.description, among: known)
            throw FileProblem(
                Rule.noMember, "version 1 declares no \(pointer) there", at: mark,
                fix: meant.map { "did you mean \($0)?" } ?? "there are: \(known.joined(separator: " "))"
            ).withRepairs(meant.map { mark.repair(.rename($0)) })
        }
        return place
    }

    private static func source(_ node: FileNode, _ shape: Shape?) throws(FileProblem) -> Source {
        if case .string(let text) = node.kind, text == "$time" || text.unicodeScalars.starts(with: "$metadata/".unicodeScalars) {
            do { return try Source(text) } catch { throw node.problem(error.reason, rule: Rule.opArgument, fix: error.fix) }
        }
        let member = try OpRegistry.single(node, "a default")
        guard member.name == "value" else {
            throw member.problem("a default is {value: x}, $time or $metadata/x", rule: Rule.opArgument)
        }
        if let why = shape?.rejection(of: member.value.json) {
            throw member.problem("the default does not fit: \(why.pointer) \(why.reason)", rule: Rule.wrongKind)
        }
        return .constant(member.value.constant)
    }

    /// Binds the conversions of one member as a chain, between the old value, whose shape is unknown, and the shape that version 1
    /// declares.
    private static func bind(
        _ chain: [Convert], at marks: [FileLocation], _ shape: Shape, _ type: String, _ label: String
    ) throws(FileProblem) -> [any BoundOp] {
        let path = chain[0].path
        guard let declared = shape.shape(at: path) else {
            throw FileProblem(Rule.noMember, "version 1 declares no \(path) there", at: marks[0])
        }
        var problem: (mark: FileLocation, words: String)?
        for kind in [Shape.Kind.number, .integer, .string, .boolean] {
            var site = BindingContext(
                shape: shape, stream: nil, shapeTargets: [ShapeTarget(declared: shape, ops: [])], type: type, mark: marks[0], label: label)
            _ = site.shape.replace(at: path, with: Shape(kind))
            var bound: [any BoundOp] = []
            for (convert, mark) in zip(chain, marks) {
                site.mark = mark
                guard let op = convert.bind(&site) else { break }
                bound.append(op)
            }
            if bound.count == chain.count, site.shape.shape(at: path)?.kind == declared.kind { return bound }
            let words = bound.count < chain.count ? site.findings.last.map { ": \($0.message)" } : nil
            problem = (marks[min(bound.count, marks.count - 1)], words ?? "")
        }
        let codecs = chain.count > 1 ? "these codecs, one after the other" : "this codec"
        throw FileProblem(
            Rule.wrongKind, "no value becomes \(declared.noun) by \(codecs)\(problem?.words ?? "")", at: problem?.mark ?? marks[0])
    }
}

extension Adopt {
    /// What it does to members beyond moving them.
    package var effects: [OpEffect] {
        let added = defaults.map { one in
            let words =
                switch one.source {
                case .constant(let value): "is \(value.text) where there is none"
                case .metadata(let pointer): "is \(pointer) of the metadata where there is none"
                default: "is the event's time where there is none"
                }
            return OpEffect(.appears(one.target), words)
        }
        return added + converts.flatMap { $0.effects(.up, in: JSONPointer()) }
    }
}

/// Turns old data into an event in place, and counts the members that it drops and the defaults that it adds.
private final class BoundAdopt: BoundOp {
    let moves: [Adopt.Move]
    let defaults: [Adopt.Default]
    /// The order in which values are placed: an object before the members that are placed inside it.
    private let order: [Int]
    /// Objects of the old data that contain a moved member; they do not count as dropped.
    private let holders: Set<JSONPointer>

    init(moves: [Adopt.Move], defaults: [Adopt.Default]) {
        (self.moves, self.defaults) = (moves, defaults)
        order = moves.indices.sorted { (moves[$0].target.tokens.count, $0) < (moves[$1].target.tokens.count, $1) }
        holders = Set(moves.flatMap { $0.from.prefixes.dropLast() })
    }

    /// Fails on the way down, since nothing leads back to version 0.
    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        if direction == .down { throw .failed(pointer: "", expected: "a version from 1 on", found: "version 0") }
        var (found, values): ([JSONEditor.Node], [JSONEditor.Node?]) = ([], [])
        for one in moves {
            let node = doc.find(one.from, from: object)
            if let node, !found.contains(node) { found.append(node) }
            // A copy, since one value may be the source of several members.
            values.append(node.map { doc.copy($0) })
        }
        doc.run.counts.kept += found.count
        leave(object, JSONPointer(tokens: []), besides: found, &doc.splice, &doc.run)
        while let left = doc.splice.firstChild(of: object) { doc.detach(left) }
        var dropped: [Int] = []
        for index in order {
            guard let value = values[index] else { continue }
            if !moves[index].place.put(value, into: &doc, at: object) { dropped.append(index) }
        }
        for index in dropped {
            let from = moves[index].from
            // The member was dropped because null, or another value without members, already occupied the only object that could hold it.
            let isFirst = dropped.first { moves[$0].from == from } == index
            if !isFirst || moves.indices.contains(where: { moves[$0].from == from && !dropped.contains($0) }) { continue }
            doc.run.counts.kept -= 1
            doc.run.counts.notKept += 1
            doc.run.leftBehind?[from.description, default: 0] += 1
        }
        for one in defaults where one.place.find(in: &doc, at: object) == nil {
            let value: JSONEditor.Node? = if case .constant = one.source { doc.splice.make(one.text.lent) } else { doc.beside(one.source) }
            guard let value, let holder = one.place.holder(in: &doc, at: object, forValue: true) else { continue }
            doc.set(one.place.name, of: holder, toValueOf: value)
            doc.run.counts.defaulted += 1
        }
    }

    /// Counts the members that are not used, and lists their pointers if the caller asked for them.
    private func leave(
        _ object: JSONEditor.Node, _ place: JSONPointer, besides taken: [JSONEditor.Node], _ doc: inout JSONEditor, _ run: inout OpRun
    ) {
        if taken.contains(object) { return }
        let isNamed = holders.count > 1 || run.leftBehind != nil
        var child = doc.firstChild(of: object)
        while let node = child {
            child = doc.next(after: node)
            if taken.contains(node) { continue }
            let pointer = isNamed ? JSONPointer(tokens: place.tokens + [MemberName(doc.name(of: node))]) : place
            if isNamed, doc.kind(node) == .object, holders.contains(pointer) {
                leave(node, pointer, besides: taken, &doc, &run)
                continue
            }
            run.counts.notKept += 1
            run.leftBehind?[pointer.description, default: 0] += 1
        }
    }
}

/// How data from before versions existed becomes events of version 1: by the first case whose guard holds.
package struct Adoption: Sendable {
    package private(set) var cases: [Adopt] = []
    package private(set) var findings: [Finding] = []

    /// Nil if version 1 adopts nothing.
    package init?(_ file: VersionFile?) {
        guard let file, let adopt = file.adopt else { return nil }
        var found: [Finding] = []
        let nodes = found.attempt { () throws(FileProblem) in try adopt.list("adopt") } ?? []
        for (index, node) in nodes.enumerated() {
            let isLast = index == nodes.count - 1
            let made = found.attempt { () throws(FileProblem) -> Adopt? in
                if let otherwise = node.member("otherwise") {
                    let why = "what no case takes is kept, and listed in quarantine"
                    _ = try otherwise.word("otherwise", of: ["quarantine"], why: why)
                    guard isLast else {
                        throw node.problem(
                            "otherwise: quarantine is the last case", rule: Rule.opArgument, fix: "move it after the other cases")
                    }
                    return nil
                }
                guard !isLast else {
                    throw node.problem("the last case says what becomes of the rest", rule: Rule.opArgument, fix: "- otherwise: quarantine")
                }
                return try Adopt(node, number: index + 1, file)
            }
            if let one = made ?? nil { cases.append(one) }
        }
        findings = found
    }
}

extension History {
    /// Whether version 1 declares how to adopt data from before versions existed.
    package var adopts: Bool { versions.first?.adopt != nil }
}

/// A case of adoption, which is selected depending on the data.
struct AdoptionBranch: Sendable {
    let test: Guard?
    let stream: StreamTemplate?
    let segment: PathSegment
}
