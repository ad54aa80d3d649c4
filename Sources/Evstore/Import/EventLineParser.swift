internal import Bytes
internal import EventLog
internal import EventModel
internal import FoundationEssentials
internal import Hashing
internal import JSONText
internal import Migration
internal import Projections
internal import SchemaEvolution

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
        if isOldData { return ParsedLine(event: oldData(line)) }
        do { try splice.load(line) } catch { throw EvstoreError(converting: error) }
        let version = splice.member(Names.specversion, of: splice.root)
        let parsed = if let version { try cloudEvent(version) } else { try ownLine() }
        // A member or an element takes at least two bytes.
        if !isValid, line.byteCount > 2 * limits.members { try checkLimits(parsed.event) }
        return parsed
    }

    /// Parses a line; opens it first where it is sealed.
    mutating func parse(_ line: RawSpan, isValid: Bool = false, opening sealer: LineSealer?) throws(EvstoreError) -> ParsedLine {
        guard let sealed = SealedLine(line) else { return try parse(line, isValid: isValid) }
        var opened = ByteBuffer(capacity: line.byteCount)
        try sealed.open(by: sealer, into: &opened)
        return try parse(opened.bytes, isEvent: true)
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
            event: NewEvent(
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

struct ParsedLine {
    var event: NewEvent
    /// The name of the member that would have named the stream, where the line lacks it.
    var unnamed: String?
    var expectation: Expectation?
    /// The id without its source, under which an import of an earlier program may have appended the event.
    var plainID: EventID?

    /// Sets the event's stream to the one that its type's template names, where the line names none. Data from before versions existed gets
    /// its stream by adoption.
    /// - Parameter version: the birth version where the line names none.
    mutating func nameStream(by history: History, bornAt version: SchemaVersion) throws(EvstoreError) {
        let birth = event.version ?? version
        guard let unnamed, birth.rawValue > 0 else { return }
        guard let template = try history.requireShape(of: event.type, at: birth).stream else {
            throw .invalidLine(
                reason: "is missing, and \(event.type)@\(birth) has no template that names the stream", pointer: "/\(unnamed)")
        }
        let name: String
        do { name = try template.name(for: event.payload.lent) } catch {
            throw .invalidEvent(type: event.type, version: birth, pointer: error.pointer, reason: error.reason)
        }
        event.stream = try StreamName(name)
    }
}

extension StreamName {
    /// The stream of data from before versions existed that nothing gives a name; its type has the same name.
    static let unknown = StreamName(unchecked: "$unknown")
}

extension Expectation {
    /// A revision, `none`, `exists` or `any`; nil for any other word.
    package init?(word: String) {
        switch word {
        case "any": self = .any
        case "none": self = .noStream
        case "exists": self = .exists
        default:
            guard let revision = UInt64(word) else { return nil }
            self = .revision(Revision(revision))
        }
    }
}

/// Parses CloudEvents in the JSON format: `subject` is the stream, `source` and `id` are the identity, `dataschema` gives the birth version
/// if a store wrote it, and the extension attribute `metadata` is metadata if it is the text of a JSON object, as exports write it. All
/// other attributes are kept in the metadata.
extension EventLineParser {
    mutating func cloudEvent(_ specversion: JSONEditor.Node) throws(EvstoreError) -> ParsedLine {
        guard splice.string(specversion) == "1.0" else {
            throw .invalidLine(reason: "should be \"1.0\", found \(found(specversion))", pointer: "/specversion")
        }
        var fields = LineNodes()
        var (source, schema, contentType, data): (JSONEditor.Node?, JSONEditor.Node?, JSONEditor.Node?, JSONEditor.Node?)
        var (extensions, ofExports): ([JSONEditor.Node], [JSONEditor.Node]) = ([], [])
        var child = splice.firstChild(of: splice.root)
        while let node = child {
            child = splice.next(after: node)
            // An attribute that is null counts as absent.
            if splice.kind(node) == .null { continue }
            switch true {
            case splice.hasName(node, CloudEvent.specversion): break
            case splice.hasName(node, CloudEvent.id): fields.id = node
            case splice.hasName(node, CloudEvent.source): source = node
            case splice.hasName(node, CloudEvent.type): fields.type = node
            case splice.hasName(node, CloudEvent.subject): fields.stream = node
            case splice.hasName(node, CloudEvent.time): fields.time = node
            case splice.hasName(node, CloudEvent.dataschema): schema = node
            case splice.hasName(node, CloudEvent.datacontenttype): contentType = node
            case splice.hasName(node, CloudEvent.data): fields.data = node
            case splice.hasName(node, CloudEvent.dataBase64): data = node
            case splice.hasName(node, CloudEvent.metadata): fields.metadata = node
            case CloudEvent.ofExports.contains(where: { splice.hasName(node, $0) }): ofExports.append(node)
            default: extensions.append(node)
            }
        }
        if let data {
            if fields.data != nil { throw .invalidLine(reason: "is beside data, and an event has one of them", pointer: "/data_base64") }
            fields.data = try decoded(data)
        }
        fields.version = schema.flatMap { splice.string($0) }.flatMap(CloudEvent.version)
        if schema != nil, fields.version != nil { schema = nil } else { extensions += ofExports }
        var parsed = try parsed(fields, streamIn: CloudEvent.subject)
        if let contentType, splice.string(contentType) != CloudEvent.contentType { extensions.append(contentType) }
        if let schema { extensions.append(schema) }
        if try identify(&parsed, fields.id, source) { extensions = [source, fields.id].compactMap(\.self) + extensions }
        parsed.event.metadata = metadata(fields.metadata, with: extensions)
        return parsed
    }

    /// Sets the event's id; returns whether the id comes from a source other than this store, so that both must be kept.
    private func identify(_ line: inout ParsedLine, _ id: JSONEditor.Node?, _ source: JSONEditor.Node?) throws(EvstoreError) -> Bool {
        let source = try source.map { node throws(EvstoreError) in try text(node, CloudEvent.source) }
        if let source, source.isEmpty || source.utf8.contains(where: { $0 < 0x20 }) {
            throw .invalidLine(reason: "should be a URI or a part of one, found \(quoted(source))", pointer: "/source")
        }
        let isForeign = source != nil && source != form.source
        guard let id else { return isForeign }
        let plain = try text(id, CloudEvent.id)
        guard let source, isForeign, !plain.isEmpty else {
            line.event.id = try EventID(plain)
            return false
        }
        line.event.id = EventID(ofCloudEvent: plain, from: source)
        do { line.plainID = try EventID(plain) } catch {
            // No store can hold this id.
        }
        return true
    }

    /// Replaces `data_base64` by the JSON object that its bytes encode: some producers know their data as bytes only.
    private mutating func decoded(_ node: JSONEditor.Node) throws(EvstoreError) -> JSONEditor.Node {
        guard let bytes = Data(base64Encoded: try text(node, CloudEvent.dataBase64)).map({ [UInt8]($0) }), isObject(bytes) else {
            throw .invalidLine(reason: "is binary, and an event's data is a JSON object", pointer: "/data_base64")
        }
        return splice.set(CloudEvent.data, of: splice.root, to: bytes.lent)
    }

    private func isObject(_ text: [UInt8]) -> Bool {
        do { return try JSONScanner.validate(text.lent, limits: limits) == .object } catch { return false }
    }

    /// The metadata of an event: the object in the attribute `metadata`, with the other attributes in its envelope. Where the attribute is
    /// not the text of an object, or its member `cloudevents` contradicts them, it is kept like the other attributes.
    private func metadata(_ attribute: JSONEditor.Node?, with others: [JSONEditor.Node]) -> [UInt8]? {
        guard let attribute else { return others.isEmpty ? nil : merged(Array("{}".utf8), others) }
        if let text = splice.string(attribute).map({ Array($0.utf8) }), isObject(text), let whole = merged(text, others) { return whole }
        return merged(Array("{}".utf8), others + [attribute])
    }

    /// Adds attributes to the envelope in metadata; nil where the envelope has another value for one of them.
    private func merged(_ metadata: [UInt8], _ attributes: [JSONEditor.Node]) -> [UInt8]? {
        if attributes.isEmpty { return metadata }
        var whole = JSONEditor()
        do { try whole.load(metadata.lent) } catch { return nil }
        let there = whole.member(CloudEvent.envelope, of: whole.root)
        if let there, whole.kind(there) != .object { return nil }
        let envelope = there ?? whole.makeObject(CloudEvent.envelope, of: whole.root)
        for node in attributes {
            let (name, value) = (MemberName(splice.name(of: node)), splice.text(of: node))
            if let other = whole.member(name, of: envelope), !whole.text(of: other).equals(value) { return nil }
            whole.set(name, of: envelope, to: value)
        }
        var text = ByteBuffer(capacity: 256)
        whole.write(whole.root, into: &text)
        return text.array()
    }
}

/// The attributes of a CloudEvent (CloudEvents 1.0.2, JSON format). `source`, `id` and each attribute that an event has no place for are
/// kept in the member `cloudevents` of the event's metadata, and an export writes them back as attributes.
enum CloudEvent {
    static let specversion = MemberName("specversion")
    static let id = MemberName("id")
    static let source = MemberName("source")
    static let type = MemberName("type")
    static let subject = MemberName("subject")
    static let time = MemberName("time")
    static let dataschema = MemberName("dataschema")
    static let datacontenttype = MemberName("datacontenttype")
    static let data = MemberName("data")
    static let dataBase64 = MemberName("data_base64")
    static let metadata = MemberName("metadata")
    /// The member of metadata that keeps attributes.
    static let envelope = MemberName("cloudevents")
    /// Extension attributes in which an export writes the other members of the event's line.
    static let ofExports = ["position", "revision", "born"].map(MemberName.init)
    /// Attributes that an export writes from the event itself, whatever its envelope holds.
    static let reserved =
        [specversion, id, source, type, subject, time, dataschema, datacontenttype, data, dataBase64, metadata] + ofExports

    static let contentType = "application/json"

    /// The version in a `dataschema` that a store wrote, `urn:evstore:<store>/v<version>`; nil for any other URI.
    static func version(ofSchema text: String) -> SchemaVersion? {
        guard text.hasPrefix("urn:evstore:"), let last = text.split(separator: "/").last, last.first == "v" else { return nil }
        return UInt32(last.dropFirst()).map { SchemaVersion($0) }
    }

    /// Whether an event's metadata names the source of a CloudEvent.
    static func isNamed(in metadata: RawSpan) -> Bool {
        if metadata.byteCount == 0 { return false }
        var splice = JSONEditor()
        do { try splice.load(metadata) } catch { return false }
        return splice.member(envelope, of: splice.root).flatMap { splice.member(source, of: $0) } != nil
    }
}

extension EventID {
    /// The store's id for a CloudEvent that its source and id identify together: both, separated by a space, if that is a valid id of at
    /// most 64 bytes; otherwise a UUIDv8 (RFC 9562) of the first 16 bytes of SHA-256 over the source, a zero byte and the id.
    init(ofCloudEvent id: String, from source: String) {
        let both = "\(source) \(id)"
        if both.utf8.count <= Self.longestBytes, !source.utf8.contains(UInt8(ascii: " ")) {
            do {
                self = try EventID(both)
                return
            } catch {
                // It holds a control character.
            }
        }
        let digest = SHA256Hasher.hash(Array(source.utf8) + [0] + Array(id.utf8)).bytes
        let (high, low) = (digest.lent.load(UInt64.self, at: 0).bigEndian, digest.lent.load(UInt64.self, at: 8).bigEndian)
        self.init(uuid: (high & ~0xf000 | 0x8000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000))
    }
}
