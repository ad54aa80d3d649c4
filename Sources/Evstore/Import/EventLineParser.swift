internal import Bytes
internal import EventModel
internal import JSONText
internal import Projections

/// The form of an input's lines.
struct LineForm: Sendable {
    var options: Options
    /// The `source` of the store's own CloudEvents.
    var source: String
    /// Whether each line is data from before versions existed, even if it looks like an event line.
    var isOldData = false
    /// Whether a line may state the expectation of its stream in `expect`.
    var takesExpectations = false
}

/// Reads event lines in this product's own form and as CloudEvents 1.0. One per worker, reused.
///
/// Own form: `{"stream", "type", "data"}` with optional `id`, `time`, `metadata`, `version` (the birth version). The members that an export
/// adds (`position revision born part epoch`) are ignored; any other member is refused.
/// Old data is any JSON object: the whole object is the payload, and its type is `$unknown`.
/// A line that an archive of this store has sealed (`SealedLine`) is opened before it is parsed here.
struct EventLineParser: ~Copyable {
    var splice = JSONEditor()
    let form: LineForm
    /// The limits of a whole line: one level deeper than payload and metadata, with some more members.
    private let lineLimits: JSONLimits
    /// The limits of a payload and of metadata.
    let limits: JSONLimits

    init(_ form: LineForm) {
        let options = form.options
        self.form = form
        limits = JSONLimits(depth: options.jsonDepthMax, members: options.jsonMembersMax, bytes: .max)
        lineLimits = JSONLimits(
            depth: options.jsonDepthMax + 1, members: 2 * options.jsonMembersMax + Self.envelopeMembers,
            bytes: Self.lineBytesMax(options))
    }

    /// The largest size of a line. It has room for a CloudEvent whose metadata is a text with each quote escaped, or whose data is in
    /// base64, and for an envelope whose names and ids are at their limits and fully escaped.
    static func lineBytesMax(_ options: Options) -> Int { 2 * options.eventBytesMax + 8_192 }

    private static let envelopeMembers = 64

    /// Parses a line; payload and metadata of the result are valid JSON objects.
    /// - Parameters:
    ///   - isValid: whether the line was read before, without an error.
    ///   - isEvent: whether it is an event line even where the input is old data.
    mutating func parse(_ line: RawSpan, isValid: Bool = false, isEvent: Bool = false) throws(EvstoreError) -> ParsedLine {
        let isOldData = form.isOldData && !isEvent
        if !isValid { try checkForm(line, isOldData ? limits : lineLimits) }
        if isOldData { return ParsedLine(oldData(line)) }
        do { try splice.load(line) } catch { throw EvstoreError(converting: error) }
        let version = splice.member(Names.specversion, of: splice.root)
        let parsed = if let version { try cloudEvent(version) } else { try ownLine() }
        // A member or an element takes at least two bytes.
        if !isValid, line.byteCount > 2 * limits.members { try checkLimits(parsed.event) }
        return parsed
    }

    private func checkForm(_ line: RawSpan, _ limits: JSONLimits) throws(EvstoreError) {
        let kind: JSONKind
        do throws(JSONError) { kind = try JSONScanner.validate(line, limits: limits) } catch {
            if error.offset < line.byteCount { throw EvstoreError(converting: error) }
            throw .invalidLine(reason: "the line ends before its JSON does, and a line is one whole event", pointer: "")
        }
        if kind == .array { throw .invalidLine(reason: "a list is no event, and a line is one", pointer: "") }
        guard kind == .object else { throw .invalidLine(reason: "should be a JSON object", pointer: "") }
    }

    private func checkLimits(_ event: NewEvent) throws(EvstoreError) {
        do {
            _ = try JSONScanner.validate(event.payload.lent, limits: limits)
            if let metadata = event.metadata { _ = try JSONScanner.validate(metadata.lent, limits: limits) }
        } catch { throw EvstoreError(converting: error) }
    }

    /// The event of old data: the whole line, without white space around it.
    private func oldData(_ line: RawSpan) -> NewEvent {
        var (start, end) = (0, line.byteCount)
        while line.byte(at: start) <= UInt8(ascii: " ") { start += 1 }
        while line.byte(at: end - 1) <= UInt8(ascii: " ") { end -= 1 }
        return NewEvent(
            stream: .unknown, type: StreamName.unknown.text, payload: [UInt8](copying: line.slice(start, end - start)))
    }

    private mutating func ownLine() throws(EvstoreError) -> ParsedLine {
        var fields = LineNodes()
        var expectation: Expectation?
        var child = splice.firstChild(of: splice.root)
        while let node = child {
            switch true {
            case splice.hasName(node, Names.stream): fields.stream = node
            case splice.hasName(node, Names.type): fields.type = node
            case splice.hasName(node, Names.data): fields.data = node
            case splice.hasName(node, Names.id): fields.id = node
            case splice.hasName(node, Names.time): fields.time = node
            case splice.hasName(node, Names.metadata): fields.metadata = node
            case splice.hasName(node, Names.version): fields.version = try version(ofNumber: node)
            case splice.hasName(node, Names.expect): expectation = try self.expectation(node)
            default:
                guard Names.ofExports.contains(where: { splice.hasName(node, $0) }) else {
                    throw .invalidLine(reason: "is not a member of an event line", pointer: "/\(splice.name(of: node))")
                }
            }
            child = splice.next(after: node)
        }
        var parsed = try parsed(fields, streamIn: Names.stream)
        parsed.event.metadata = try object(fields.metadata, Names.metadata)
        if let id = fields.id, splice.kind(id) != .null { parsed.event.id = try EventID(try text(id, Names.id)) }
        parsed.expectation = expectation
        return parsed
    }

    /// Parses the members that both forms of a line share, except the id and metadata.
    func parsed(_ fields: LineNodes, streamIn name: MemberName) throws(EvstoreError) -> ParsedLine {
        var parsed = ParsedLine(
            NewEvent(
                stream: .unknown, type: try text(fields.type, Names.type), payload: try object(fields.data, Names.data) ?? [],
                version: fields.version))
        if parsed.event.payload.isEmpty { throw .invalidLine(reason: "is missing", pointer: "/data") }
        if let stream = fields.stream {
            parsed.event.stream = try StreamName(try text(stream, name))
        } else {
            parsed.unnamed = name.text
        }
        if let time = fields.time, splice.kind(time) != .null {
            let text = try text(time, Names.time)
            guard let date = Timestamp(text) else {
                throw .invalidLine(
                    reason: "should be a date-time as RFC 3339 writes it, such as 2026-01-02T03:04:05Z, found \(quoted(text))",
                    pointer: "/time")
            }
            parsed.event.time = date
        }
        return parsed
    }

    func text(_ node: JSONEditor.Node?, _ name: MemberName) throws(EvstoreError) -> String {
        guard let node else { throw .invalidLine(reason: "is missing", pointer: "/\(name.text)") }
        guard let text = splice.string(node) else {
            throw .invalidLine(reason: "should be text, found \(found(node))", pointer: "/\(name.text)")
        }
        return text
    }

    /// The JSON text of an object; nil where there is none.
    private func object(_ node: JSONEditor.Node?, _ name: MemberName) throws(EvstoreError) -> [UInt8]? {
        guard let node, splice.kind(node) != .null else { return nil }
        guard splice.kind(node) == .object else {
            throw .invalidLine(reason: "should be a JSON object, found \(found(node))", pointer: "/\(name.text)")
        }
        return [UInt8](copying: splice.text(of: node))
    }

    private func version(ofNumber node: JSONEditor.Node) throws(EvstoreError) -> SchemaVersion {
        guard let number = number(node).flatMap({ UInt32(exactly: $0) }) else {
            throw .invalidLine(reason: "should be the number of a version, found \(found(node))", pointer: "/version")
        }
        return SchemaVersion(number)
    }

    private func expectation(_ node: JSONEditor.Node) throws(EvstoreError) -> Expectation {
        guard form.takesExpectations else {
            throw .invalidLine(reason: "is of lines that are appended together, which an import's are not", pointer: "/expect")
        }
        let word = splice.string(node) ?? number(node).map { String($0) } ?? ""
        guard let expectation = Expectation(word: word) else {
            throw .invalidLine(reason: "should be a revision, \"none\", \"exists\" or \"any\", found \(found(node))", pointer: "/expect")
        }
        return expectation
    }

    /// A value as an error shows it.
    func found(_ node: JSONEditor.Node) -> String {
        switch splice.kind(node) {
        case .object: return "an object"
        case .array: return "a list"
        case .string: return quoted(splice.string(node) ?? "")
        case .number, .true, .false, .null:
            let text = splice.text(of: node)
            return String(utf8: text.slice(0, min(text.byteCount, 40))) ?? ""
        }
    }

    private func number(_ node: JSONEditor.Node) -> UInt64? {
        splice.kind(node) == .number ? String(utf8: splice.text(of: node)).flatMap { UInt64($0) } : nil
    }
}

/// The nodes of a line's members; the names are those of this product's own form.
struct LineNodes {
    var stream, type, data, id, time, metadata: JSONEditor.Node?
    var version: SchemaVersion?
}

private enum Names {
    static let stream = MemberName("stream")
    static let type = MemberName("type")
    static let data = MemberName("data")
    static let id = MemberName("id")
    static let time = MemberName("time")
    static let metadata = MemberName("metadata")
    static let version = MemberName("version")
    static let expect = MemberName("expect")
    static let specversion = MemberName("specversion")
    /// Members that an export adds and an import ignores.
    static let ofExports = ["position", "revision", "born", "part", "epoch"].map(MemberName.init)
}
