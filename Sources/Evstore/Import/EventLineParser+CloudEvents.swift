internal import Bytes
internal import EventModel
internal import FoundationEssentials
internal import JSONText

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
