internal import Bytes
internal import EventModel
internal import JSONText

/// Reads shapes from a file and collects all problems.
struct ShapeReader {
    /// The definitions that `$ref: "#/$defs/NAME"` may refer to, and the index of each name.
    private let (definitions, places): ([FileNode.Member], [Name: Int])
    var findings: [Finding] = []
    /// The references that are currently being followed, to detect cycles.
    private var following: [String] = []
    /// The maximum number of shapes in an event's shape, and the maximum nesting depth, with references resolved. No payload nests deeper.
    private static let (budgetMax, depthMax) = (10_000, 64)
    private var (budget, depth) = (budgetMax, 0)

    init(definitions: FileNode?) {
        if case .map(let members)? = definitions?.kind { self.definitions = members } else { self.definitions = [] }
        places = Dictionary(self.definitions.enumerated().map { (Name($1.name), $0) }, uniquingKeysWith: { first, _ in first })
    }

    static let keywords = [
        "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "minimum", "maximum",
        "minLength", "maxLength", "format", "$ref", "default", "deprecated", "description", "personal", "sealed", "any",
    ]

    private static let besideReference = ["$ref", "default", "deprecated", "description", "personal", "sealed"]

    mutating func begin() { (findings, budget) = ([], Self.budgetMax) }

    /// Reads a shape. Returns nil, after adding a finding, if it has no known type.
    mutating func read(_ node: FileNode) -> Shape? { read(node, allowing: [], isRoot: false) }

    /// Reads an event's shape: an object, with or without `type: object`, optionally with `stream`.
    mutating func readEvent(_ node: FileNode) -> Shape? { read(node, allowing: ["stream", "tags"], isRoot: true) }

    private mutating func read(_ node: FileNode, allowing more: [String], isRoot: Bool) -> Shape? {
        budget -= 1
        guard budget >= 0 else {
            note(node.problem("the shape is too large once its references are followed", rule: FileRule.reference))
            return nil
        }
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthMax else {
            note(node.problem("the shape is more than \(Self.depthMax) deep, through references too", rule: FileRule.reference))
            return nil
        }
        guard case .map(let members) = node.kind else {
            note(node.problem("a shape must be a map such as {type: string}, not \(node.words)", rule: FileRule.shape))
            return nil
        }
        for member in members where !Self.keywords.contains(member.name) && !more.contains(member.name) {
            if let advice = Self.advice[member.name] {
                note(member.problem("shapes do not have \(quoted(member.name))", rule: FileRule.shape, fix: advice))
            } else {
                note(member.unknown(in: "a shape", known: Self.keywords + more, rule: FileRule.shape))
            }
        }
        if let reference = members.first(where: { $0.name == "$ref" }) { return follow(reference, in: node, allowing: more) }
        guard var shape = kind(of: node, isRoot: isRoot) else {
            readInside(node)
            return nil
        }
        for member in members where !more.contains(member.name) { attempt(member, &shape) }
        readContents(of: node, into: &shape)
        checkValues(of: node, shape)
        guard shape.bytesLeast <= Shape.bytesMax else {
            note(node.problem("a value that has every member is larger than any event, by minLength or minItems", rule: FileRule.shape))
            return nil
        }
        return shape
    }

    private mutating func note(_ problem: FileProblem) { findings.add(problem) }

    // MARK: References and types

    private mutating func follow(_ reference: FileNode.Member, in node: FileNode, allowing more: [String]) -> Shape? {
        if case .map(let members) = node.kind {
            for member in members where !Self.besideReference.contains(member.name) && !more.contains(member.name) {
                note(member.problem("\(member.name) can't stand beside $ref", rule: FileRule.reference, fix: "put it into the definition"))
            }
        }
        guard let text = findings.attempt({ () throws(FileProblem) in try reference.value.text("$ref") }) else { return nil }
        let prefix = "#/$defs/"
        guard text.unicodeScalars.starts(with: prefix.unicodeScalars) else {
            let meant = text.split(separator: "/").last.flatMap { nearest(to: String($0), among: definitions.map(\.name)) }
            note(
                reference.value.problem(
                    "$ref is local, not \(quoted(text))", rule: FileRule.reference,
                    fix: meant.map { "did you mean \"\(prefix)\($0)\"?" } ?? knownDefinitions
                ).withRepairs(meant.map { reference.value.becomes(.string(prefix + $0)) }))
            return nil
        }
        let name = String(text.unicodeScalars.dropFirst(prefix.unicodeScalars.count))
        guard !following.has(name) else {
            note(reference.value.problem("\(name) leads back to itself", rule: FileRule.reference, fix: "shapes can't be recursive"))
            return nil
        }
        guard let target = places[name].map({ definitions[$0].value }) else {
            let meant = nearest(to: name, among: definitions.map(\.name))
            note(
                reference.value.problem(
                    "$ref: there is no \(quoted(name)) in $defs", rule: FileRule.reference,
                    fix: meant.map { "did you mean \($0)?" } ?? knownDefinitions
                )
                .withRepairs(meant.map { reference.value.becomes(.string(prefix + $0)) }))
            return nil
        }
        following.append(name)
        defer { following.removeLast() }
        guard var shape = read(target) else { return nil }
        if case .map(let members) = node.kind {
            for member in members where Self.besideReference.contains(member.name) { attempt(member, &shape) }
        }
        return shape
    }

    private var knownDefinitions: String {
        definitions.isEmpty
            ? "this file has no $defs: write the shape out" : "known: \(definitions.map { "#/$defs/\($0.name)" }.joined(separator: ", "))"
    }

    private mutating func kind(of node: FileNode, isRoot: Bool) -> Shape? {
        findings.attempt { () throws(FileProblem) -> Shape in
            let known: [Shape.Kind] = [.object, .array, .string, .integer, .number, .boolean, .null]
            func kind(_ node: FileNode) throws(FileProblem) -> Shape.Kind {
                if case .null = node.kind {
                    throw node.problem("a type is a text, not null", rule: FileRule.shape, fix: "write \"null\" in quotes")
                        .withRepairs(node.becomes(.string("null")).certain)
                }
                let name = try node.text("type")
                guard let kind = known.first(where: { $0.rawValue == name }) else {
                    let names = known.map(\.rawValue)
                    let meant = Self.elsewhere[name.lowercased()] ?? nearest(to: name, among: names)
                    throw node.problem(
                        "there is no type \(quoted(name))", rule: FileRule.shape,
                        fix: meant.map { "did you mean \($0)?" } ?? "the types are: \(names.joined(separator: ", "))"
                    ).withRepairs(meant.map { node.becomes(.string($0)).certain(where: isTypo(name, of: $0, among: names)) })
                }
                return kind
            }
            if let any = node.member("any") {
                guard case .bool(true) = any.kind else { throw any.problem("any is true or is left out", rule: FileRule.shape) }
                if let type = node.member("type") {
                    throw type.problem("type can't stand beside any", rule: FileRule.shape).withRepairs(any.mark.repair(.remove))
                }
                if isRoot { throw any.problem("an event's payload is an object", rule: FileRule.shape, fix: "declare its properties") }
                return .any
            }
            guard let type = node.member("type") else {
                if isRoot { return Shape(.object) }
                let isObject = node.member("properties") != nil || node.member("additionalProperties") != nil
                let meant = isObject ? "object" : node.member("items") != nil ? "array" : "string"
                throw node.problem("a shape has no type", rule: FileRule.shape, fix: "add type: \(meant), or any: true")
                    .withRepairs(node.mark.repair("type", to: .string(meant)))
            }
            guard case .list(let names) = type.kind else {
                let kind = try kind(type)
                if isRoot, kind != .object {
                    throw type.problem("an event's payload is an object, not \(kind.rawValue)", rule: FileRule.shape)
                }
                return Shape(kind)
            }
            var kinds: [Shape.Kind] = []
            for name in names { kinds.append(try kind(name)) }
            guard kinds.count == 2, kinds.count(where: { $0 == .null }) == 1, let kind = kinds.first(where: { $0 != .null }) else {
                throw type.problem("a list of types is one type and \"null\"", rule: FileRule.shape, fix: "type: [string, \"null\"]")
            }
            if isRoot { throw type.problem("an event's payload is never null", rule: FileRule.shape, fix: "type: object") }
            var shape = Shape(kind)
            shape.isNullable = true
            return shape
        }
    }

    // MARK: What a value holds

    private mutating func readContents(of node: FileNode, into shape: inout Shape) {
        if let properties = node.member("properties"), case .map(let members) = properties.kind {
            for member in members {
                if member.name.isEmpty {
                    note(member.problem("a member can't have an empty name", rule: FileRule.shape))
                } else if let inner = read(member.value) {
                    shape.members.append(.init(member.name, inner))
                } else {
                    // Order: an unreadable member keeps its position, so that `required` does not report it again.
                    shape.members.append(.init(member.name, .any))
                }
            }
        }
        if let items = node.member("items") { shape.items = read(items) }
        if let values = node.member("additionalProperties") { readMap(values, of: node, into: &shape) }
        if let required = node.member("required") { readRequired(required, into: &shape) }
    }

    /// Reads the shapes inside a shape whose own type is invalid, to collect their findings.
    private mutating func readInside(_ node: FileNode) {
        if let properties = node.member("properties"), case .map(let members) = properties.kind {
            for member in members { _ = read(member.value) }
        }
        if let items = node.member("items") { _ = read(items) }
        if let values = node.member("additionalProperties") {
            var ignored = Shape(.object)
            readMap(values, of: node, into: &ignored)
        }
    }

    private mutating func readMap(_ values: FileNode, of node: FileNode, into shape: inout Shape) {
        if case .bool(let isOpen) = values.kind {
            let fix = isOpen ? "additionalProperties: {any: true}" : "take it out: objects are closed"
            return note(
                values.problem("additionalProperties is a shape, not \(isOpen)", rule: FileRule.shape, fix: fix).withRepairs(
                    isOpen ? values.becomes(.object([.init(name: "any", value: .bool(true))])) : values.mark.repair(.remove)))
        }
        guard node.member("properties") == nil else {
            return note(
                values.problem(
                    "an object has properties or additionalProperties, not both", rule: FileRule.shape,
                    fix: "put the map into a member of its own"))
        }
        if let inner = read(values) { shape.additional = inner }
    }

    private mutating func readRequired(_ required: FileNode, into shape: inout Shape) {
        guard case .list(let names) = required.kind else {
            return note(required.problem("required is a list of names, not \(required.words)", rule: FileRule.shape))
        }
        let known = shape.properties.map(\.name)
        let isKnown = Set(of: known)
        for node in names {
            guard let name = findings.attempt({ () throws(FileProblem) in try node.text("each name in required") }) else { continue }
            if !isKnown.contains(name) {
                let meant = nearest(to: name, among: known).flatMap { near in names.contains { $0.kind == .string(near) } ? nil : near }
                let fix = meant.map { "did you mean \($0)?" } ?? "add it to properties, or take it out of required"
                note(
                    node.problem("required names \(quoted(name)), which is not in properties", rule: FileRule.shape, fix: fix)
                        .withRepairs(meant.map { node.becomes(.string($0)) } ?? node.mark.repair(.remove)))
            } else if !shape.required.insert(name) {
                note(node.problem("required names \(quoted(name)) twice", rule: FileRule.shape).withRepairs(node.mark.repair(.remove)))
            }
        }
    }

    private mutating func attempt(_ member: FileNode.Member, _ shape: inout Shape) {
        do throws(FileProblem) { try shape.read(member) } catch { note(error) }
    }

    /// Checks that constants fit their shape and that no minimum exceeds its maximum.
    private mutating func checkValues(of node: FileNode, _ shape: Shape) {
        var free = shape
        (free.enumeration, free.constant) = (nil, nil)
        var seen: Set<[UInt8]> = []
        if case .list(let values)? = node.member("enum")?.kind {
            for value in values {
                if let error = free.rejection(of: value.json) {
                    note(value.problem("the value in enum \(error.reason)", rule: FileRule.shape))
                }
                if !seen.insert(value.json.canonical()).inserted {
                    note(value.problem("enum has \(value.words) twice", rule: FileRule.shape).withRepairs(value.mark.repair(.remove)))
                }
            }
            if shape.isNullable, let list = node.member("enum"), !seen.contains(JSONValue.null.canonical()) {
                note(
                    list.problem(
                        "null is allowed by type and not by enum", rule: FileRule.shape,
                        fix: "add null to enum, or take \"null\" out of type"
                    ).withRepairs(list.mark.repair(.append("null"))))
            }
        }
        if let value = node.member("const"), let error = free.rejection(of: value.json) {
            note(value.problem("const \(error.reason)", rule: FileRule.shape))
        }
        if let value = node.member("default"), let error = shape.rejection(of: value.json) {
            var plain = shape
            plain.defaultValue = nil
            note(
                value.problem("default \(error.pointer.isEmpty ? "" : error.pointer + " ")\(error.reason)", rule: FileRule.shape)
                    .withRepairs(value.becomes(plain.sample)))
        }
        for (low, high) in [("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum")] {
            guard let least = node.member(low), let most = node.member(high), case .number(let a) = least.kind,
                case .number(let b) = most.kind,
                let a = DecimalNumber(json: Array(a.utf8).lent), let b = DecimalNumber(json: Array(b.utf8).lent), a > b
            else { continue }
            note(
                least.problem("\(low) is above \(high)", rule: FileRule.shape, fix: "were they meant the other way round?")
                    .withRepairs(least.becomes(most.json), most.becomes(least.json)))
        }
    }
}

extension ShapeReader {
    /// The names of the types in other languages.
    static let elsewhere = [
        "int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number", "double": "number",
        "decimal": "number", "bool": "boolean", "str": "string", "text": "string", "list": "array", "map": "object", "dict": "object",
        "struct": "object",
    ]

    /// What to use instead of keywords that shapes do not support.
    static let advice = [
        "pattern": "shapes hold no regular expressions: use enum, format, or check it in the program",
        "oneOf": "make an event type of each alternative", "anyOf": "make an event type of each alternative",
        "allOf": "write the members out in one shape", "not": "say what is allowed",
        "if": "make an event type of each alternative", "patternProperties": "additionalProperties: SHAPE is a map with any names",
        "nullable": "type: [string, \"null\"]", "optional": "leave the name out of required", "examples": "put fixtures into fixtures/vN",
        "exclusiveMinimum": "use minimum", "exclusiveMaximum": "use maximum", "uniqueItems": "check it in the program",
        "$id": "references are local: \"#/$defs/Name\"", "$defs": "$defs belongs at the top level of the file",
    ]
}

/// The keywords that describe the value itself.
extension Shape {
    /// Reads one keyword of a shape. `ShapeReader` reads the keywords that contain shapes.
    mutating func read(_ member: FileNode.Member) throws(FileProblem) {
        let (name, value) = (member.name, member.value)
        switch name {
        case "minItems", "maxItems":
            try only([.array], member)
            let count = try value.integer(name, from: 0)
            if name == "minItems" { minItems = count } else { maxItems = count }
        case "minLength", "maxLength":
            try only([.string], member)
            let count = try value.integer(name, from: 0)
            if name == "minLength" { minLength = count } else { maxLength = count }
        case "minimum", "maximum":
            try only([.integer, .number], member)
            guard case .number(let text) = value.kind else { throw value.problem("\(name) must be a number, not \(value.words)") }
            guard let number = DecimalNumber(json: Array(text.utf8).lent) else {
                throw value.problem("\(name) must be a number with \(DecimalNumber.exponents), not \(text)")
            }
            if name == "minimum" { minimum = number } else { maximum = number }
        case "format":
            try only([.string], member)
            let text = try value.text(name)
            guard let known = Format(rawValue: text) else {
                throw value.problem("there is no format \"\(text)\"", rule: FileRule.shape, fix: "the formats are: date-time, date")
                    .withRepairs(value.swapped(text, among: Format.allCases.map(\.rawValue)) ?? value.mark.repair(.remove))
            }
            format = known
        case "enum":
            try only([.string, .integer, .number, .boolean, .null], member)
            let values = try value.list(name)
            if values.isEmpty { throw value.problem("enum has no value", rule: FileRule.shape) }
            enumeration = values.map(\.json)
        case "const": constant = value.json
        case "default": defaultValue = value.json
        case "deprecated": isDeprecated = try value.flag(name)
        case "personal": isPersonal = try value.flag(name)
        case "sealed": isSealed = try value.flag(name)
        case "description": description = try value.text(name)
        case "properties":
            try only([.object], member)
            try value.map(name)
        case "required", "additionalProperties": try only([.object], member)
        case "items": try only([.array], member)
        default: break
        }
    }

    private func only(_ kinds: [Kind], _ member: FileNode.Member) throws(FileProblem) {
        if kinds.contains(kind) { return }
        let words = kinds.map(\.rawValue).joined(separator: " or ")
        throw member.problem("\(member.name) is for \(words), and this is \(noun)", rule: FileRule.shape)
            .withRepairs(member.value.mark.repair(.remove))
    }
}

extension Shape {
    /// Reads a shape with the references of a file's `$defs`; throws the first problem.
    package init(reading node: FileNode, definitions: FileNode? = nil) throws(FileProblem) {
        var reader = ShapeReader(definitions: definitions)
        let shape = reader.read(node)
        if let first = reader.findings.first { throw FileProblem(first) }
        guard let shape else { throw node.problem("this is not a shape", rule: FileRule.shape) }
        self = shape
    }
}
