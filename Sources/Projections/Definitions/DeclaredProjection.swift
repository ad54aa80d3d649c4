internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// One definition of a projection file, valid from its `since` until the next one; not yet checked against shapes.
struct DeclaredProjection: Sendable {
    var name: String
    var since: SchemaVersion
    /// The key of types whose folds have none of their own.
    private var key: Source?
    var initial: [(target: Target, value: JSONValue)] = []
    var on: [Name: [FoldRule]] = [:]
    var row: Shape?
    var indexes: [(index: RowIndex, mark: FileLocation)] = []
    /// The complete definition as JSON: `like` is resolved, and `since` is left out.
    var json: JSONValue
    var mark: FileLocation
    private var keyMark: FileLocation?
    var typeMarks: [Name: FileLocation] = [:]

    var consumes: Set<Name> { Set(on.keys) }

    /// The source of the key of the row that events of a type are about, and its location in the file.
    func key(of type: Name) -> (source: Source, mark: FileLocation) {
        if let fold = on[type]?.first, let key = fold.key { return (key, fold.keyMark ?? fold.mark) }
        return (key ?? .constant(.null), keyMark ?? mark)
    }

    /// The pointers that its folds read of a type's events; nil if they read the whole payload.
    func reads(of type: Name) -> [JSONPointer]? {
        let folds = on[type, default: []]
        var sources = [key(of: type).source] + folds.compactMap(\.guardTest?.source)
        for edit in folds.flatMap(\.edits) { sources += [edit.source] + edit.target.sources }
        return sources.contains(where: \.readsPayload) ? nil : folds.compactMap(\.each) + sources.flatMap(\.pointers)
    }

    /// What it creates or changes in rows.
    var targets: [Target] { initial.map(\.target) + on.values.joined().flatMap { $0.edits.map(\.target) } }

    /// The names of the members that its folds create in rows, sorted bytewise.
    var rowNames: [String] { Set(targets.flatMap(\.fixed)).sorted().map(\.text) }

    /// A row that needs more targets should contain a map whose member names come from events.
    static let targetsMax = 1_000

    /// The folds of a type have a number of 16 bits.
    private static let typesMax = 1 << 16

    static let members = ["since", "like", "key", "initial", "on", "row", "indexes"]

    /// - Parameter node: the complete definition, without `like`.
    init(name: String, since: SchemaVersion, _ node: FileNode) throws(FileProblem) {
        (self.name, self.since, mark) = (name, since, node.mark)
        let members = try node.map("the definition of \(name)", allowing: Self.members)
        json = .object(members.filter { $0.name != "since" }.map { .init(name: $0.name, value: $0.value.json) })
        if let node = node.member("key") { (key, keyMark) = (try Source(key: node), node.mark) }
        for member in try node.member("initial")?.map("initial") ?? [] {
            let target = try Target(member.name, at: member.place)
            guard target.fixed.count == target.tokens.count else { throw member.problem("a target of initial can't be a template") }
            guard case .constant(let value) = try Source(member.value, "initial") else {
                throw member.value.problem("what a made row holds first is a constant", fix: "write {value: x}")
            }
            initial.append((target, value))
        }
        let types = try node.required("on", of: "the definition of \(name)")
        for member in try types.map("on") {
            on[member.name] = try FoldRule.list(member.value, of: member.name)
            typeMarks[member.name] = member.place
        }
        guard !on.isEmpty else { throw types.problem("\(name) consumes no event type") }
        guard on.count <= Self.typesMax else {
            throw types.problem("\(name) consumes \(on.count) event types; \(Self.typesMax) are the most")
        }
        // Without a key of its own a definition needs one for every type.
        if key == nil, on.values.contains(where: { $0.first?.key == nil }) { _ = try node.required("key", of: "the definition of \(name)") }
        let targets = Set(on.values.joined().flatMap { $0.edits.map(\.target.text) }).count
        guard targets <= Self.targetsMax else {
            throw types.problem("\(name) makes \(targets) members of a row; \(Self.targetsMax) are the most")
        }
        if let row = node.member("row") { self.row = try Self.rowShape(row) }
        if let indexes = node.member("indexes") {
            self.indexes = try RowIndex.list(indexes, of: name).map { ($0, indexes.member($0.name)?.mark ?? indexes.mark) }
        }
    }

    /// A row is always an object, so its shape need not say so.
    private static func rowShape(_ node: FileNode) throws(FileProblem) -> Shape {
        let members = try node.map("row")
        let isTyped = members.contains { $0.name == "type" }
        let type = FileNode.Member(name: "type", place: node.mark, value: FileNode(.string("object"), at: node.mark))
        let shape = try Shape(reading: FileNode(.map(isTyped ? members : [type] + members), at: node.mark))
        guard shape.kind == .object, !shape.isNullable else { throw node.problem("a row is an object") }
        return shape
    }
}

extension FileNode {
    /// This definition completed with everything that it does not override from the previous one; within `on`, type by type.
    func completed(from previous: FileNode) throws(FileProblem) -> FileNode {
        var members = try map("a definition").filter { $0.name != "like" }
        for old in try previous.map("a definition") where old.name != "since" {
            guard let index = members.firstIndex(where: { $0.name == old.name }) else {
                members.append(old)
                continue
            }
            if old.name == "on" {
                let types = try members[index].value.map("on")
                let before = try old.value.map("on")
                for gone in types where gone.value.kind == .null && !before.contains(where: { $0.name.isSame(as: gone.name) }) {
                    throw gone.problem("the definition before has no fold of \(gone.name) to leave out", rule: FileRule.value)
                }
                let all =
                    before.filter { old in !types.contains { $0.name.isSame(as: old.name) } } + types.filter { $0.value.kind != .null }
                members[index] = Member(
                    name: "on", place: members[index].place, value: FileNode(.map(all), at: members[index].value.mark))
            }
        }
        members.removeAll { $0.value.kind == .null && $0.name != "since" }
        return FileNode(.map(members), at: mark)
    }
}

extension DeclaredProjection {
    /// Proposes the next definition after this one, from a version on: a copy with the names that types and members have at that version.
    /// Nil if one of its types becomes several types or none.
    func following(at version: SchemaVersion, _ history: History) -> Repair? {
        guard case .object(let members) = json else { return nil }
        var turns: [TypeSuccessor] = []
        var made: [JSONValue.Member] = [.init(name: "since", value: .number("\(version.number)"))]
        for member in members {
            guard member.name == "on", case .object(let types) = member.value else {
                made.append(member)
                continue
            }
            var folds: [JSONValue.Member] = []
            for type in types {
                guard let turn = history.successor(of: type.name, at: version),
                    !folds.contains(where: { $0.name.isSame(as: turn.type) })
                else { return nil }
                folds.append(.init(name: turn.type, value: type.value.moving(turn.place(of:))))
                turns.append(turn)
            }
            made.append(.init(name: "on", value: .object(folds)))
        }
        // The key must consist of equal members for every type.
        if let index = made.firstIndex(where: { $0.name == "key" }) {
            let keys = Set(turns.map { made[index].value.moving($0.place(of:)).text })
            guard keys.count == 1, let turn = turns.first else { return nil }
            made[index] = .init(name: "key", value: made[index].value.moving(turn.place(of:)))
        }
        return Repair(file: mark.file, path: ["projections", name], .append(JSONValue.object(made).text)).certain
    }
}

extension JSONValue {
    /// The value with all pointers moved: texts that are pointers, and pointers in braces.
    fileprivate func moving(_ place: (JSONPointer) -> JSONPointer) -> JSONValue {
        switch self {
        case .string(let text): .string(Self.moved(text, place))
        case .array(let values): .array(values.map { $0.moving(place) })
        // Constants are not changed.
        case .object(let members):
            .object(members.map { .init(name: $0.name, value: $0.name == "value" ? $0.value : $0.value.moving(place)) })
        default: self
        }
    }

    private static func moved(_ text: String, _ place: (JSONPointer) -> JSONPointer) -> String {
        func pointer(_ text: Substring) -> String? {
            do { return try place(JSONPointer(String(text))).description } catch { return nil }
        }
        if text.begins(with: "/") { return pointer(text[...]) ?? text }
        var result = ""
        var rest = text[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")), let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}")) {
            let inner = rest[rest.utf8.index(after: open) ..< close]
            result += rest[..<open] + "{" + (inner.begins(with: "/") ? pointer(inner) ?? String(inner) : String(inner)) + "}"
            rest = rest[rest.utf8.index(after: close)...]
        }
        return result + rest
    }
}
