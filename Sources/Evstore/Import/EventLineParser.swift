internal import Bytes
internal import EventModel
internal import JSONText

/// Reads event lines, this product's own form and CloudEvents 1.0. One per worker, reused.
///
/// Own form: `{"stream", "type", "data"}` with optional `id`, `time`, `metadata`, `version` (the birth version); what an
/// export adds (`position revision born part epoch`) is ignored, any other member is refused.
/// A line of old data that has not both a `type` and `data` is the payload, of the type `$unknown`.
/// A line that an archive of this store has sealed (`SealedLine`) is opened before it gets here.
/// CloudEvents (known by `specversion`): `subject` is the stream, `dataschema` = `…/v<born>`; the extension attribute `metadata` is read
/// where it is the text of a JSON object, as exports write it; other attributes are ignored.
struct EventLineParser: ~Copyable {
    private var splice = Splice()
    /// Of a whole line.
    let limits: JSONLimits
    private let takesOldData: Bool

    /// - Parameter takesOldData: whether lines are data from before versions existed, unless they say otherwise.
    init(options: Options, takesOldData: Bool) {
        self.takesOldData = takesOldData
        // The line has one level and some members more than payload and metadata.
        limits = JSONLimits(
            depth: options.jsonDepthMax + 1, members: options.jsonMembersMax + 64, bytes: options.eventBytesMax + Self.envelopeBytes)
    }

    /// Longer than any envelope with names and ids at their limits, all of it escaped.
    static let envelopeBytes = 8_192

    /// The event of a line; its payload and metadata are valid JSON objects.
    /// - Parameter isValid: whether the line is known to be valid JSON.
    mutating func parse(_ line: RawSpan, isValid: Bool = false) throws(EvstoreError) -> NewEvent {
        do {
            if !isValid, try JSONScanner.validate(line, limits: limits) != .object {
                throw EvstoreError.invalidLine(reason: "should be a JSON object", pointer: "")
            }
            try splice.load(line)
        } catch { throw EvstoreError(converting: error) }
        if let version = splice.member(Names.specversion, of: splice.root) { return try cloudEvent(version) }
        return takesOldData && !isEventLine() ? oldData(line) : try ownLine()
    }

    private mutating func isEventLine() -> Bool {
        guard let type = splice.member(Names.type, of: splice.root), let data = splice.member(Names.data, of: splice.root) else {
            return false
        }
        return splice.kind(type) == .string && splice.kind(data) == .object
    }

    /// The whole line, without the white space around it.
    private func oldData(_ line: RawSpan) -> NewEvent {
        var (start, end) = (0, line.byteCount)
        while line.byte(at: start) <= UInt8(ascii: " ") { start += 1 }
        while line.byte(at: end - 1) <= UInt8(ascii: " ") { end -= 1 }
        return NewEvent(
            stream: .unknown, type: StreamName.unknown.text, payload: [UInt8](copying: line.slice(start, end - start)))
    }

    private mutating func ownLine() throws(EvstoreError) -> NewEvent {
        var fields = Fields()
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
            default:
                guard Names.ofExports.contains(where: { splice.hasName(node, $0) }) else {
                    throw .invalidLine(reason: "is not a member of an event line", pointer: "/\(splice.name(of: node))")
                }
            }
            child = splice.next(after: node)
        }
        return try event(fields, Names.stream)
    }

    private mutating func cloudEvent(_ specversion: Splice.Node) throws(EvstoreError) -> NewEvent {
        guard splice.string(specversion) == "1.0" else {
            throw .invalidLine(reason: "should be \"1.0\"", pointer: "/specversion")
        }
        if splice.member(Names.dataBase64, of: splice.root) != nil {
            throw .invalidLine(reason: "is binary; an event's data is a JSON object", pointer: "/data_base64")
        }
        var fields = Fields()
        fields.stream = splice.member(Names.subject, of: splice.root)
        fields.type = splice.member(Names.type, of: splice.root)
        fields.data = splice.member(Names.data, of: splice.root)
        fields.id = splice.member(Names.id, of: splice.root)
        fields.time = splice.member(Names.time, of: splice.root)
        if let schema = splice.member(Names.dataschema, of: splice.root) { fields.version = version(ofSchema: schema) }
        var event = try event(fields, Names.subject)
        if let metadata = splice.member(Names.metadata, of: splice.root) { event.metadata = object(inText: metadata) }
        return event
    }

    /// The JSON object in a text; nil for other text, which is an attribute of the same name with another meaning.
    private func object(inText node: Splice.Node) -> [UInt8]? {
        guard let text = splice.string(node).map({ Array($0.utf8) }) else { return nil }
        do { return try JSONScanner.validate(text.lent, limits: limits) == .object ? text : nil } catch { return nil }
    }

    /// The nodes of a line's members, under the names of the own form.
    private struct Fields {
        var stream, type, data, id, time, metadata: Splice.Node?
        var version: SchemaVersion?
    }

    private func event(_ fields: Fields, _ streamName: MemberName) throws(EvstoreError) -> NewEvent {
        var event = NewEvent(
            stream: try stream(fields, streamName), type: try text(fields.type, Names.type),
            payload: try object(fields.data, Names.data) ?? [], version: fields.version)
        if event.payload.isEmpty { throw .invalidLine(reason: "is missing", pointer: "/data") }
        event.metadata = try object(fields.metadata, Names.metadata)
        if let id = fields.id, splice.kind(id) != .null { event.id = try EventID(try text(id, Names.id)) }
        if let time = fields.time, splice.kind(time) != .null {
            guard let parsed = Timestamp(try text(time, Names.time)) else {
                throw .invalidLine(reason: "should be a date-time as RFC 3339 writes it", pointer: "/time")
            }
            event.time = parsed
        }
        return event
    }

    /// The stream of data from before versions existed: adoption finds it where the line names none.
    private func stream(_ fields: Fields, _ name: MemberName) throws(EvstoreError) -> StreamName {
        if fields.stream == nil, fields.version.map({ $0.rawValue == 0 }) ?? takesOldData { return .unknown }
        return try StreamName(try text(fields.stream, name))
    }

    private func text(_ node: Splice.Node?, _ name: MemberName) throws(EvstoreError) -> String {
        guard let node else { throw .invalidLine(reason: "is missing", pointer: "/\(name.text)") }
        guard let text = splice.string(node) else { throw .invalidLine(reason: "should be text", pointer: "/\(name.text)") }
        return text
    }

    /// The text of an object; nil where there is none.
    private func object(_ node: Splice.Node?, _ name: MemberName) throws(EvstoreError) -> [UInt8]? {
        guard let node, splice.kind(node) != .null else { return nil }
        guard splice.kind(node) == .object else {
            throw .invalidLine(reason: "should be a JSON object", pointer: "/\(name.text)")
        }
        return [UInt8](copying: splice.text(of: node))
    }

    private func version(ofNumber node: Splice.Node) throws(EvstoreError) -> SchemaVersion {
        guard splice.kind(node) == .number, let text = String(utf8: splice.text(of: node)), let number = UInt32(text) else {
            throw .invalidLine(reason: "should be the number of a version", pointer: "/version")
        }
        return SchemaVersion(number)
    }

    /// The version that a `dataschema` such as `https://example.com/schemas/v4` ends in; nil where it names none.
    private func version(ofSchema node: Splice.Node) -> SchemaVersion? {
        guard let last = splice.string(node)?.split(separator: "/").last, last.first == "v" else { return nil }
        return UInt32(last.dropFirst()).map { SchemaVersion($0) }
    }
}

extension StreamName {
    /// Of data from before versions existed that nothing gives a name; its type is called the same.
    static let unknown = StreamName(unchecked: "$unknown")
}

private enum Names {
    static let stream = MemberName("stream")
    static let type = MemberName("type")
    static let data = MemberName("data")
    static let id = MemberName("id")
    static let time = MemberName("time")
    static let metadata = MemberName("metadata")
    static let version = MemberName("version")
    static let specversion = MemberName("specversion")
    static let subject = MemberName("subject")
    static let dataschema = MemberName("dataschema")
    static let dataBase64 = MemberName("data_base64")
    /// What an export adds and an import ignores.
    static let ofExports = ["position", "revision", "born", "part", "epoch"].map(MemberName.init)
}
