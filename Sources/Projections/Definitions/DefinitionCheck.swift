internal import EventModel
internal import JSONText
internal import SchemaEvolution

struct DefinitionCheck {
    private let projection: DeclaredProjection
    private let layout: RowLayout
    private(set) var findings: [Finding] = []
    private var seen: Set<Place> = []

    private struct Place: Hashable {
        var mark: FileLocation
        var id: String
        var subject: String
    }

    /// The event from which sources are read.
    private struct Site {
        var type: String
        var version: SchemaVersion
        var shape: Shape
        var item: Shape?
        var mark: FileLocation
        /// The history for which a following definition can be proposed; nil if one exists already.
        var next: History?
    }

    init(_ projection: DeclaredProjection) {
        self.projection = projection
        layout = RowSlots(projection).layout
    }

    /// - Parameter isLast: whether no other definition follows, so that one can be proposed.
    mutating func run(through end: SchemaVersion, _ history: History, isLast: Bool = true) {
        guard projection.since <= history.head else {
            note(
                ProjectionRule.since, projection.mark,
                "\(projection.name) begins at \(projection.since), and the newest version is \(history.head)",
                fix: "add v\(history.head.next.number).yaml, or begin earlier")
            return
        }
        checkRow()
        checkIndexes()
        for number in projection.since.number ... max(projection.since, min(end, history.head)).number {
            let version = SchemaVersion(number)
            for (name, folds) in projection.on.sorted(by: { $0.key < $1.key }) {
                let type = name.text
                let mark = projection.typeMarks[type] ?? projection.mark
                guard let shape = history.shape(of: type, at: version)?.shape else {
                    if number > projection.since.number, history.shape(of: type, at: version.previous) != nil {
                        ended(type, mark, version, history, isLast)
                        continue
                    }
                    let types = history.types(at: version)
                    let meant = nearest(to: type, among: types.filter { projection.on[$0] == nil })
                    note(
                        ProjectionRule.type, mark, "there is no event type \(type) at \(version)", type,
                        fix: meant.map { "did you mean \($0)?" } ?? "the types of \(version) are: \(types.joined(separator: ", "))",
                        repair: meant.map { mark.repair(.rename($0)) })
                    continue
                }
                check(type, folds, Site(type: type, version: version, shape: shape, mark: mark, next: isLast ? history : nil))
            }
            for finding in NestingCheck(projection, at: version, history).findings {
                let mark = FileLocation(file: finding.file ?? "", line: finding.line ?? 0, column: finding.column ?? 0)
                let place = Place(mark: mark, id: finding.id, subject: "nesting: \(finding.severity)")
                if seen.insert(place).inserted { findings.append(finding) }
            }
        }
    }

    /// Reports members that order rows although no fold creates them.
    private mutating func checkIndexes() {
        let targets = projection.targets.map(\.fixed)
        for (index, mark) in projection.indexes {
            for member in index.members {
                let names = member.tokens.map { Name($0.text) }
                if targets.contains(where: { names.starts(with: $0) || $0.starts(with: names) }) { continue }
                let known = Set(targets.compactMap(\.first)).sorted().map { "/\($0)" }
                note(
                    ProjectionRule.index, mark, "the index \(index.name) of \(projection.name) is by \(member), which no fold makes",
                    "\(index.name) \(member)", fix: "rows have \(known.joined(separator: ", "))")
            }
        }
    }

    /// Reports a type that existed only up to some version: the definition is correct so far, but another one must follow.
    private mutating func ended(_ type: String, _ mark: FileLocation, _ version: SchemaVersion, _ history: History, _ isLast: Bool) {
        let names = history.names(of: type, from: version.previous, upTo: version)
        let there = names.isEmpty ? "nothing takes its place" : "it is \(names.joined(separator: " or "))"
        note(
            ProjectionRule.type, mark, "there is no event type \(type) at \(version)", type,
            fix: "from \(version) on \(there): give \(projection.name) another definition, since: \(version.number)",
            repair: isLast ? projection.following(at: version, history) : nil)
    }

    private mutating func check(_ type: String, _ folds: [FoldRule], _ given: Site) {
        var site = given
        if let each = folds.first?.each, let mark = folds.first?.mark {
            site.mark = mark
            if let list = look(each, in: site.shape, site) {
                if list.kind == .array || list.kind == .any {
                    site.item = list.items ?? .any
                } else {
                    wrongKind("each goes through \(each), which", list, "a list", site)
                    site.item = .any
                }
            } else {
                site.item = .any
            }
        }
        let key = projection.key(of: Name(type))
        site.mark = key.mark
        if let shape = self.shape(of: key.source, site) { checkText("the key", shape, site) }
        if folds.contains(where: { $0.guardTest == nil }) { checkKey(key.source, site) }
        for fold in folds {
            if fold.guardTest == nil, fold.edits.isEmpty, !fold.deletes {
                note(FileRule.value, fold.mark, "the fold of \(type) does nothing", type, severity: .warning, fix: "take it out")
            }
            if let test = fold.guardTest { check(test, at: fold.guardMark ?? fold.mark, site) }
            for edit in fold.edits { check(edit, site) }
        }
    }

    /// Reports members of the key that an event may lack.
    private mutating func checkKey(_ key: Source, _ site: Site) {
        for pointer in key.pointers where site.shape.at(pointer) != nil && !site.shape.isAlwaysPresent(at: pointer) {
            note(
                ProjectionRule.key, site.mark,
                "\(site.type) at \(site.version) may lack \(pointer): such an event has no row and fails", "\(site.type) \(pointer)",
                severity: .note)
        }
    }

    private mutating func check(_ test: Guard, at mark: FileLocation, _ given: Site) {
        var site = given
        site.mark = mark
        if case .below(let bound) = test.test, let problem = bound.problem(of: test.source) {
            note(ProjectionRule.guarded, mark, "the guard never holds: \(problem)", site.type, severity: .warning)
        }
        guard let shape = shape(of: test.source, site) else { return }
        for (constant, reason) in test.misfits(shape) {
            note(
                ProjectionRule.guarded, mark, "the guard never holds for \(constant.text): the value \(reason) at \(site.version)",
                site.type,
                severity: .warning)
        }
    }

    private mutating func check(_ edit: Edit, _ given: Site) {
        var site = given
        site.mark = edit.mark
        for token in edit.target.tokens {
            guard case .template(let template) = token else { continue }
            _ = shape(of: .template(template), site)
        }
        if edit.kind == .unset { return }
        guard let shape = shape(of: edit.source, site), shape.kind != .any else { return }
        checkFit(edit, shape, site)
        switch edit.kind {
        case .add:
            if shape.kind != .integer, shape.kind != .number { wrongKind("the source of add", shape, "a number", site) }
        case .max, .min:
            if ![.integer, .number, .string].contains(shape.kind) {
                wrongKind("the source of \(edit.kind.rawValue)", shape, "a number or a text", site)
            }
        case .include, .exclude:
            if !shape.isScalar || shape.kind == .null {
                wrongKind("the source of \(edit.kind.rawValue)", shape, "a text, a number or a flag", site)
            }
        default: break
        }
    }

    /// Reports an edit whose result never fits the row's shape. A warning: a definition may be live as long as no event has the source.
    private mutating func checkFit(_ edit: Edit, _ source: Shape, _ site: Site) {
        // No member has an empty name, so a name from the event finds the shape of a map's values.
        let names = edit.target.tokens.map { token -> MemberName in
            if case .name(let name) = token { MemberName(name.text) } else { MemberName("") }
        }
        guard let member = projection.row?.at(JSONPointer(tokens: names)), member.kind != .any else { return }
        let made: Shape.Kind =
            switch edit.kind {
            case .set, .initial, .max, .min: source.kind
            case .add, .count: .number
            case .append, .include: .array
            case .exclude, .unset: member.kind
            }
        // A number may be whole, and null is of the kind of whatever may be null.
        let numbers: Set<Shape.Kind> = [.integer, .number]
        let mayFit =
            made == member.kind || made == .null && member.isNullable || numbers.contains(made) && numbers.contains(member.kind)
        var problem: String?
        if case .constant(let value) = edit.source, edit.kind == .set || edit.kind == .initial {
            problem = member.rejection(of: value)?.reason
        } else if !mayFit {
            problem = "is \(made.rawValue) at \(site.version), and should be \(member.kind.rawValue)"
        }
        guard let problem else { return }
        note(
            ProjectionRule.row, site.mark, "the row's \(edit.target.text) \(problem)", "\(site.type) shape", severity: .warning,
            fix: "give it in row: the shape that it has")
    }

    /// The shape of a source's value; nil if it is unknown or if a finding was added.
    private mutating func shape(of source: Source, _ site: Site) -> Shape? {
        switch source {
        case .pointer(let pointer) where pointer.isRoot:
            note(
                ProjectionRule.pointer, site.mark, "\"\" names no member of \(site.type)", site.type,
                fix: "a member is /name, the whole payload $payload")
            return nil
        case .pointer(let pointer): return look(pointer, in: site.shape, site)
        case .item(let pointer):
            guard let item = site.item else {
                note(
                    ProjectionRule.item, site.mark, "$item needs each: there is no element here", site.type,
                    fix: "add each: /list to the fold")
                return nil
            }
            return look(pointer, in: item, site)
        case .row(let pointer):
            let isKnown = layout.slot(of: pointer.tokens.map { Name($0.text) }) != nil || !layout.slots(within: pointer).isEmpty
            if !isKnown {
                note(
                    ProjectionRule.row, site.mark, "the row has no \(pointer): no fold makes it", pointer.description,
                    fix: "its members are: \(layout.slots.map(\.description).joined(separator: ", "))")
            }
            return nil
        case .day(let inner), .month(let inner):
            if let shape = shape(of: inner, site), shape.kind != .string, shape.kind != .any {
                wrongKind("a day or month", shape, "a date or a date-time", site)
            }
            return Shape(.string)
        case .template(let template):
            for inner in template.members {
                if let shape = shape(of: inner, site) { checkText("a template's member", shape, site) }
            }
            return Shape(.string)
        case .constant(let value):
            switch value {
            case .number: return Shape(.number)
            case .string: return Shape(.string)
            case .bool: return Shape(.boolean)
            case .array: return Shape(.array)
            case .object: return Shape(.object)
            case .null: return Shape(.null)
            }
        case .payload: return site.shape
        case .stream, .type, .time: return Shape(.string)
        case .position: return Shape(.integer)
        case .metadata: return nil
        }
    }

    private mutating func look(_ pointer: JSONPointer, in shape: Shape, _ site: Site) -> Shape? {
        if let found = shape.at(pointer) { return found }
        if let history = site.next, site.version > projection.since,
            history.shape(of: site.type, at: site.version.previous)?.shape.at(pointer) != nil, site.item == nil
        {
            let place = history.successor(of: site.type, at: site.version)?.place(of: pointer)
            let there = place.flatMap { $0 != pointer && shape.at($0) != nil ? "it is \($0)" : nil } ?? "it is gone"
            note(
                ProjectionRule.pointer, site.mark, "\(site.type) at \(site.version) has no \(pointer)", "\(site.type) \(pointer)",
                fix: "from \(site.version) on \(there): give \(projection.name) another definition, since: \(site.version.number)",
                repair: projection.following(at: site.version, history))
            return nil
        }
        let names = (pointer.parent.flatMap { shape.at($0) } ?? shape).properties.map(\.name)
        let near = pointer.last.flatMap { nearest(to: $0.text, among: names) }
        let meant = near.map { "\(pointer.parent ?? JSONPointer())/\($0)" }
        note(
            ProjectionRule.pointer, site.mark, "\(site.type) at \(site.version) has no \(pointer)", "\(site.type) \(pointer)",
            fix: meant.map { "did you mean \($0)?" } ?? "its members are: \(names.joined(separator: ", "))",
            repair: meant.map { site.mark.repair(.swap(pointer.description, JSONValue.string($0).text)) })
        return nil
    }

    private mutating func checkText(_ what: String, _ shape: Shape, _ site: Site) {
        if !shape.isScalar && shape.kind != .any { wrongKind(what, shape, "a text, a number or a flag", site) }
    }

    private mutating func wrongKind(_ what: String, _ shape: Shape, _ expected: String, _ site: Site) {
        note(
            ProjectionRule.kind, site.mark, "\(what) is \(shape.kind.rawValue) at \(site.version), and should be \(expected)",
            "\(site.type) \(what)")
    }

    /// A row's shape is closed, so it must name everything that the folds create.
    private mutating func checkRow() {
        guard let row = projection.row, row.kind != .any else { return }
        let rules = projection.on.values.sorted { $0[0].mark.line < $1[0].mark.line }
        for edit in rules.joined().flatMap(\.edits)
        where edit.kind != .unset && row.at(JSONPointer(tokens: edit.target.fixed.map { MemberName($0.text) })) == nil {
            note(ProjectionRule.row, edit.mark, "the row's shape has no \(edit.target.text)", edit.target.text)
        }
        for name in row.required.sorted().map(\.text)
        where !layout.slots.contains(where: { $0.tokens.first?.text.isSame(as: name) ?? false }) {
            note(ProjectionRule.row, projection.mark, "the row requires \(quoted(name)), which no fold makes", name)
        }
    }

    private mutating func note(
        _ id: String, _ mark: FileLocation, _ message: String, _ subject: String = "", severity: Finding.Severity = .error,
        fix: String? = nil, repair: Repair? = nil
    ) {
        guard seen.insert(Place(mark: mark, id: id, subject: subject)).inserted else { return }
        findings.append(Finding(id, severity, at: mark, message, fix: fix, repairs: repair.map { [$0] } ?? []))
    }
}

/// Finds targets inside another target that is not an object: members of a number or text can't be changed.
struct NestingCheck {
    /// A change after which its target is not an object.
    private struct Plain {
        /// The fold that makes the change, and its index in the fold; nil for the initial value of a new row.
        var fold: FileLocation?
        var order = -1
        var isCertain: Bool
    }

    private(set) var findings: [Finding] = []
    private var plain: [[Target.Token]: [Plain]] = [:]

    init(_ projection: DeclaredProjection, at version: SchemaVersion, _ history: History) {
        var edits: [(edit: Edit, fold: FileLocation, order: Int)] = []
        var open: Set<[Target.Token]> = []
        for (type, rules) in projection.on {
            guard let shape = history.shape(of: type.text, at: version)?.shape else { continue }
            for rule in rules {
                let item = rule.each.flatMap { shape.at($0)?.items }
                for (order, edit) in rule.edits.enumerated() {
                    edits.append((edit, rule.mark, order))
                    if edit.kind == .unset { continue }
                    if Self.mayBeObject(edit, shape, item) {
                        open.insert(edit.target.tokens)
                    } else {
                        let isCertain = edit.source.pointers.allSatisfy { shape.isAlwaysPresent(at: $0) } && !edit.source.readsItem
                        plain[edit.target.tokens, default: []].append(Plain(fold: rule.mark, order: order, isCertain: isCertain))
                    }
                }
            }
        }
        for (target, value) in projection.initial {
            if case .object = value { continue }
            plain[target.tokens, default: []].append(Plain(fold: nil, isCertain: !open.contains(target.tokens)))
        }
        if plain.isEmpty { return }
        for (edit, fold, order) in edits.sorted(by: { ($0.edit.mark.line, $0.edit.mark.column) < ($1.edit.mark.line, $1.edit.mark.column) })
        {
            check(edit, fold, order, at: version)
        }
    }

    private mutating func check(_ edit: Edit, _ fold: FileLocation, _ order: Int, at version: SchemaVersion) {
        let tokens = edit.target.tokens
        for count in tokens.indices.dropFirst() {
            guard let outer = plain[Array(tokens[..<count])] else { continue }
            let isSure = outer.contains { $0.isCertain && ($0.fold == nil || $0.fold == fold && $0.order < order) }
            let text = tokens[..<count].map { "/\($0.words)" }.joined()
            findings.append(
                Finding(
                    ProjectionRule.kind, isSure ? .error : .warning, at: edit.mark,
                    "\(edit.target.text) lies within \(text), which is \(isSure ? "" : "made ")no object at \(version)",
                    fix: "choose another location in the row for one of them"))
            return
        }
    }

    private static func mayBeObject(_ edit: Edit, _ shape: Shape, _ item: Shape?) -> Bool {
        guard edit.kind == .set || edit.kind == .initial else { return false }
        func mayBe(_ shape: Shape?) -> Bool { shape.map { $0.kind == .object || $0.kind == .any } ?? true }
        switch edit.source {
        case .pointer(let pointer): return mayBe(shape.at(pointer))
        case .item(let pointer): return mayBe(item?.at(pointer))
        case .constant(let value): if case .object = value { return true } else { return false }
        case .payload, .row, .metadata: return true
        case .stream, .type, .time, .position, .day, .month, .template: return false
        }
    }
}

extension Target.Token {
    fileprivate var words: String {
        switch self {
        case .name(let name): name.text
        case .template: "{…}"
        }
    }
}
