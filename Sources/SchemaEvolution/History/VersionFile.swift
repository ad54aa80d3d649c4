internal import Bytes
package import EventModel
package import Hashing
package import JSONText

/// One schema version as declared in its file: the shapes of its events, and the step from the previous version.
package struct VersionFile: Hashable, Sendable {
    package let number: SchemaVersion
    /// The application releases that write this version, as dotted numbers.
    package let labels: [String]
    /// The day of its release; from then on, the content that the digest covers must not change.
    package let released: String?
    package let description: String?
    /// The oldest version in which every event of this one must have an image; nil means the previous version.
    package let forward: SchemaVersion?
    /// The items of the step from the previous version; nil if the file has none.
    package let upcast: FileNode?
    /// How data from before versions existed becomes events; in version 1 only.
    package let adopt: FileNode?
    package let events: [Name: EventShape]
    /// The names of the event types, in the order of the file.
    package let types: [String]
    /// RFC 8785 form of the whole file, which a store keeps.
    package let canonical: [UInt8]
    /// SHA-256 of RFC 8785 without released, labels, description and deprecated.
    package let digest: Digest
    /// The name of the file as findings show it.
    package let file: String

    package var isReleased: Bool { released != nil }

    /// The location of the file as a whole.
    package var mark: FileLocation { FileLocation(file: file, line: 1, column: 1) }

    let numberMark: FileLocation
    let labelsMark: FileLocation

    package static func == (a: VersionFile, b: VersionFile) -> Bool { a.canonical == b.canonical }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension VersionFile {
    /// Checks a payload as an append does: valid JSON, one object, fitting the type's shape and naming a stream.
    /// - Returns: the stream that the type's template names; nil if there is none.
    @discardableResult
    package func validate(_ payload: [UInt8], as type: String, limits: JSONLimits = JSONLimits()) throws(EvstoreError) -> String? {
        guard let event = events[type] else { throw .unknownType(type, version: number, known: types) }
        do throws(JSONError) { _ = try JSONScanner.validate(payload.lent, limits: limits) } catch {
            throw EvstoreError(error)
        }
        do throws(ShapeError) { return try event.validatedStream(of: payload.lent) } catch {
            throw .invalidEvent(type: type, version: number, pointer: error.pointer, reason: error.reason)
        }
    }

    /// The newest version of the file format that this program reads.
    package static let format = 1

    package static let members = [
        "evstore", "version", "labels", "released", "description", "forward", "upcast", "adopt", "events", "$defs",
    ]

    /// Reads a version file: YAML or JSON, depending on its name.
    /// - Throws: `schemaInvalid` with all findings.
    package init(text: [UInt8], file: String) throws(EvstoreError) {
        try self.init(FileReader.read(text: text, file: file))
    }

    package init(_ root: FileNode) throws(EvstoreError) {
        var reader = VersionFileReader(root)
        let file = reader.read()
        guard let file, !reader.findings.hasErrors else { throw .schemaInvalid(reader.findings) }
        self = file
    }

    /// The members, and the event types and shapes, by which the digest differs from that of another file of this version, in words.
    package func differences(from other: VersionFile) throws(EvstoreError) -> [String] {
        let own = Self.fingerprinted(try FileReader.read(text: canonical, file: file))
        let others = Self.fingerprinted(try FileReader.read(text: other.canonical, file: other.file))
        return Self.members.flatMap { name -> [String] in
            guard own[name] != others[name] else { return [] }
            guard name == "events" || name == "$defs" else { return [name] }
            let (new, old) = (Self.shapes(own[name]), Self.shapes(others[name]))
            return Set(new.keys).union(old.keys).filter { new[$0] != old[$0] }.sorted().map { type in
                new[type] == nil ? "\(type) is gone" : old[type] == nil ? "\(type) is new" : "the shape of \(type)"
            }
        }
    }

    private static func shapes(_ value: JSONValue?) -> [String: JSONValue] {
        guard case .object(let members)? = value else { return [:] }
        return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The JSON that the digest covers: the file without what may change after its release.
    static func fingerprinted(_ root: FileNode) -> JSONValue {
        guard case .map(let members) = root.kind else { return root.json }
        let kept = members.filter { !["released", "labels", "description"].contains($0.name) }
        return .object(
            kept.map { member in
                guard case .map(let shapes) = member.value.kind, member.name == "events" || member.name == "$defs" else {
                    return .init(name: member.name, value: member.value.json)
                }
                return .init(name: member.name, value: .object(shapes.map { .init(name: $0.name, value: withoutAnnotations($0.value)) }))
            })
    }

    /// A shape without the keywords `description` and `deprecated`; members and constants of these names remain.
    private static func withoutAnnotations(_ shape: FileNode) -> JSONValue {
        guard case .map(let keywords) = shape.kind else { return shape.json }
        let kept = keywords.filter { $0.name != "description" && $0.name != "deprecated" }
        return .object(
            kept.map { keyword in
                switch (keyword.name, keyword.value.kind) {
                case ("properties", .map(let properties)):
                    .init(name: keyword.name, value: .object(properties.map { .init(name: $0.name, value: withoutAnnotations($0.value)) }))
                case ("items", _), ("additionalProperties", _): .init(name: keyword.name, value: withoutAnnotations(keyword.value))
                default: .init(name: keyword.name, value: keyword.value.json)
                }
            })
    }
}

/// Reads one version file and collects its findings.
private struct VersionFileReader {
    let root: FileNode
    var findings: [Finding] = []

    init(_ root: FileNode) { self.root = root }

    mutating func read() -> VersionFile? {
        guard case .map(let members) = root.kind else {
            findings.add(root.problem("a version file is a map, not \(root.words)", fix: "begin it with evstore: 1"))
            return nil
        }
        guard checkFormat() else { return nil }
        for member in members where !VersionFile.members.contains(member.name) {
            findings.add(member.unknown(in: "a version file", known: VersionFile.members))
        }
        let number = attempt { root throws(FileProblem) in
            try root.required("version", of: "the file").integer("version", from: 1, through: 1_000_000)
        }
        let released = optional("released") { node throws(FileProblem) in
            let text = try node.text("released")
            guard isDate(Array(text.utf8).lent) else { throw node.problem("released is a day such as 2026-01-31, not \(quoted(text))") }
            return text
        }
        let description = optional("description") { node throws(FileProblem) in try node.text("description") }
        let forward = optional("forward") { node throws(FileProblem) in
            SchemaVersion(try node.integer("forward", from: 1, through: max(1, (number ?? 2) - 1)))
        }
        let labels = readLabels()
        readSteps(number)
        let (types, events) = readEvents()
        guard let number else { return nil }
        return VersionFile(
            number: SchemaVersion(number), labels: labels, released: released, description: description, forward: forward,
            upcast: root.member("upcast"), adopt: root.member("adopt"), events: events, types: types,
            canonical: root.json.canonical(), digest: SHA256Hasher.hash(VersionFile.fingerprinted(root).canonical()), file: root.mark.file,
            numberMark: place(of: "version"), labelsMark: place(of: "labels"))
    }

    private func place(of name: String) -> FileLocation { root.member(name)?.mark ?? root.mark }

    private mutating func attempt<Result>(_ read: (FileNode) throws(FileProblem) -> Result) -> Result? {
        findings.attempt { () throws(FileProblem) in try read(root) }
    }

    private mutating func optional<Result>(_ name: String, _ read: (FileNode) throws(FileProblem) -> Result) -> Result? {
        guard let node = root.member(name) else { return nil }
        return findings.attempt { () throws(FileProblem) in try read(node) }
    }

    /// Order: the format is checked first, since a newer format may change the meaning of everything else.
    private mutating func checkFormat() -> Bool {
        attempt { root throws(FileProblem) -> Int in
            let node = try root.required("evstore", of: "the file")
            let format = try node.integer("evstore", from: 1)
            guard format <= VersionFile.format else {
                throw node.problem(
                    "the file has format \(format) and this program reads up to \(VersionFile.format)", rule: FileRule.format,
                    fix: "use a newer evstore")
            }
            return format
        } != nil
    }

    private mutating func readLabels() -> [String] {
        guard let node = root.member("labels"),
            let nodes = findings.attempt({ () throws(FileProblem) in try node.list("labels") })
        else { return [] }
        var labels: [String] = []
        var seen: Set<String> = []
        for node in nodes {
            _ = findings.attempt { () throws(FileProblem) in
                if case .number(let text) = node.kind {
                    throw node.problem(
                        "a label is a text, and \(text) is a number: 1.10 would be 1.1", fix: "put it in quotes: \"\(text)\""
                    ).withRepairs(node.becomes(.string(text)))
                }
                let text = try node.text("a label")
                guard DottedNumber(text) != nil, text.contains(".") else {
                    throw node.problem("a label is a dotted number such as 1.2.0, not \(quoted(text))")
                }
                guard seen.insert(text).inserted else { throw node.problem("the label \(text) is there twice") }
                labels.append(text)
            }
        }
        return labels
    }

    private mutating func readSteps(_ number: Int?) {
        if let upcast = root.member("upcast") {
            _ = findings.attempt { () throws(FileProblem) in
                _ = try upcast.list("upcast")
                if number == 1 {
                    throw upcast.problem("version 1 has no version before it", fix: "take upcast out; adopt reads older data")
                        .withRepairs(upcast.mark.repair(.remove))
                }
            }
        }
        if let adopt = root.member("adopt") {
            _ = findings.attempt { () throws(FileProblem) in
                _ = try adopt.list("adopt")
                if let number, number != 1 { throw adopt.problem("adopt is allowed in version 1 only", fix: "move it to v1") }
            }
        }
    }

    private mutating func readEvents() -> ([String], [Name: EventShape]) {
        let definitions = root.member("$defs")
        if let definitions { _ = findings.attempt { () throws(FileProblem) in _ = try definitions.map("$defs") } }
        guard
            let members = attempt({ root throws(FileProblem) in try root.required("events", of: "the file").map("events") })
        else { return ([], [:]) }
        var reader = ShapeReader(definitions: definitions)
        var types: [String] = []
        var events: [Name: EventShape] = [:]
        for member in members {
            guard !member.name.isEmpty, member.name.utf8.count <= 200, !member.name.hasPrefix("$"),
                member.name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }), member.name != "all"
            else {
                findings.add(
                    member.problem(
                        "\(quoted(member.name)) can't name an event type", rule: FileRule.value,
                        fix: "a type has 1 to 200 bytes, no spaces, no $ in front, and is not called all"))
                continue
            }
            reader.begin()
            let shape = reader.readEvent(member.value)
            findings += reader.findings
            let stream = shape.flatMap { readStream(of: member.value, $0) }
            let tags = shape.flatMap { readTags(of: member.value, $0) } ?? []
            types.append(member.name)
            if let shape { events[member.name] = EventShape(shape: shape, stream: stream, tags: tags, mark: member.place) }
        }
        checkDefinitions(definitions)
        return (types, events)
    }

    /// Reads all definitions, to find errors in those that no event refers to yet.
    private mutating func checkDefinitions(_ definitions: FileNode?) {
        guard case .map(let members)? = definitions?.kind else { return }
        var reader = ShapeReader(definitions: definitions)
        var known = Set(findings)
        for member in members {
            reader.begin()
            _ = reader.read(member.value)
            for finding in reader.findings where known.insert(finding).inserted { findings.append(finding) }
        }
    }

    private mutating func readTags(of node: FileNode, _ shape: Shape) -> [TagTemplate]? {
        guard let tags = node.member("tags") else { return nil }
        return findings.attempt { () throws(FileProblem) in try TagTemplate.list(tags, shape) }
    }

    private mutating func readStream(of node: FileNode, _ shape: Shape) -> StreamTemplate? {
        guard let stream = node.member("stream") else { return nil }
        return findings.attempt { () throws(FileProblem) in
            let text = try stream.text("stream")
            let template: StreamTemplate
            do throws(ExpressionError) { template = try StreamTemplate(stream: text) } catch {
                throw stream.problem("the stream \(quoted(text)) can't be read: \(error.reason)", rule: FileRule.stream, fix: error.fix)
                    // Each member's name gets a slash, unless one has it already.
                    .withRepairs(
                        text.contains("{") && !text.contains("{/") ? stream.becomes(.string(text.replacing("{", with: "{/"))) : nil)
            }
            if let reason = template.mismatch(with: shape) {
                throw stream.problem("the stream \(quoted(text)) does not fit the event: \(reason)", rule: FileRule.stream)
                    .withRepairs(template.meant(for: shape).map { stream.becomes(.string($0)) })
            }
            return template
        }
    }
}

extension StreamTemplate {
    /// The template with each unknown member replaced by the nearest known one; nil if there is none.
    fileprivate func meant(for shape: Shape) -> String? {
        let known = shape.properties.filter { shape.required.contains($0.name) && $0.shape.isScalar }.map { "/" + $0.name }
        var text = description
        for pointer in members where shape.shape(at: pointer) == nil {
            guard let near = nearest(to: pointer.description, among: known) else { return nil }
            text = text.replacing("{\(pointer)}", with: "{\(near)}")
        }
        return text == description ? nil : text
    }

    /// Why the template can't name the streams of events of this shape; nil if it can.
    package func mismatch(with shape: Shape) -> String? {
        for pointer in members {
            guard let member = shape.shape(at: pointer) else { return "it has no member \(pointer)" }
            guard member.isScalar, member.kind != .null else { return "\(pointer) is \(member.noun), which names nothing" }
        }
        var literal = false
        for part in parts {
            switch part {
            case .literal: literal = true
            case .member(let pointer):
                if shape.isAlwaysPresent(at: pointer), shape.shape(at: pointer)?.isNullable == false { return nil }
                literal = false
            }
        }
        return literal ? nil : "every member in it may be absent, so the name may be empty"
    }
}
