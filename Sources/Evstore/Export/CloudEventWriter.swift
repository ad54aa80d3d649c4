internal import Bytes
internal import EventModel
internal import JSONText
internal import Migration

/// Writes events as CloudEvents 1.0.2 in the JSON format. Used by one thread; after its first events it allocates only for metadata.
///
/// `subject` is the stream, and `dataschema` names the store and the version; the other members of an event line are extension attributes.
/// An event that was imported as a CloudEvent keeps its `source`, `id` and extension attributes; attributes that an event has no place for
/// stay in its metadata.
struct CloudEventWriter: ~Copyable {
    private let source: String
    private var metadata = JSONEditor()
    private var text = ByteBuffer(capacity: 256)

    init(source: String) { self.source = source }

    /// Writes a line without its line feed.
    mutating func write(_ line: EventLine, payload: RawSpan, metadata: RawSpan, into output: inout ByteBuffer) {
        let envelope = load(metadata)
        let identity = envelope.flatMap { takeIdentity(of: line, from: $0) }
        output.append("{\"specversion\":\"1.0\",\"id\":")
        if let identity { appendQuoted(identity.id, into: &output) } else { output.append(quoted: line.id) }
        output.append(",\"source\":")
        appendQuoted(identity?.source ?? source, into: &output)
        output.append(",\"type\":")
        appendQuoted(line.type, into: &output)
        output.append(",\"subject\":")
        appendQuoted(line.stream.text, into: &output)
        output.append(",\"time\":\"")
        line.time.append(to: &output)
        output.append("\",\"dataschema\":\"")
        output.append(source)
        output.append("/v")
        output.append(digits: UInt64(line.version.rawValue))
        output.append("\",\"datacontenttype\":\"\(CloudEvent.contentType)\",\"data\":")
        output.append(onOneLine: payload)
        if let envelope { writeExtensions(from: envelope, into: &output) }
        writeMetadata(metadata, isLoaded: envelope != nil, into: &output)
        output.append(",\"position\":\"")
        output.append(digits: line.position.rawValue)
        output.append("\",\"revision\":\"")
        output.append(digits: line.revision.rawValue)
        output.append("\",\"born\":")
        output.append(digits: UInt64(line.born.rawValue))
        output.append("}")
    }

    /// The CloudEvents envelope in an event's metadata; nil where it has none.
    private mutating func load(_ metadata: RawSpan) -> JSONEditor.Node? {
        if metadata.byteCount == 0 { return nil }
        do { try self.metadata.load(metadata) } catch { return nil }
        guard let node = self.metadata.member(CloudEvent.envelope, of: self.metadata.root), self.metadata.kind(node) == .object else {
            return nil
        }
        return node
    }

    /// The source and id that the event was imported with, where an import derives the event's own id from what is written of them. It
    /// derives that of a part only where source and id are short.
    private mutating func takeIdentity(of line: EventLine, from envelope: JSONEditor.Node) -> (source: String, id: String)? {
        guard let sourceNode = metadata.member(CloudEvent.source, of: envelope), let source = metadata.string(sourceNode),
            let idNode = metadata.member(CloudEvent.id, of: envelope), let whole = metadata.string(idNode)
        else { return nil }
        let id = line.part > 0 ? "\(whole)#\(line.part)" : whole
        guard line.id == EventID(ofCloudEvent: id, from: source) else { return nil }
        metadata.detach(sourceNode)
        metadata.detach(idNode)
        return (source, id)
    }

    private mutating func writeExtensions(from envelope: JSONEditor.Node, into output: inout ByteBuffer) {
        var child = metadata.firstChild(of: envelope)
        while let node = child {
            child = metadata.next(after: node)
            if !isExtension(node) { continue }
            output.append(",\"\(metadata.name(of: node))\":")
            output.append(onOneLine: metadata.text(of: node))
            metadata.detach(node)
        }
        if metadata.isEmpty(envelope) { metadata.detach(envelope) }
    }

    /// Whether a member of the envelope can be an attribute: its name and value are allowed by the format, and no export writes that name.
    private func isExtension(_ node: JSONEditor.Node) -> Bool {
        switch metadata.kind(node) {
        case .true, .false: break
        // An Integer has 32 bits, and neither a fraction nor an exponent.
        case .number: if String(utf8: metadata.text(of: node)).flatMap({ Int32($0) }) == nil { return false }
        case .string: if metadata.string(node)?.unicodeScalars.allSatisfy(Self.allows) != true { return false }
        default: return false
        }
        let name = metadata.name(of: node).utf8
        return !name.isEmpty && name.allSatisfy { (97 ... 122).contains($0) || (48 ... 57).contains($0) }
            && !CloudEvent.reserved.contains { metadata.hasName(node, $0) }
    }

    /// Whether a String may have this character: neither a control character nor one that Unicode calls a noncharacter.
    private static func allows(_ character: Unicode.Scalar) -> Bool {
        character.value >= 0x20 && !(0x7f ... 0x9f).contains(character.value) && !character.properties.isNoncharacterCodePoint
    }

    /// Writes the rest of the metadata as the text of a JSON object.
    private mutating func writeMetadata(_ whole: RawSpan, isLoaded: Bool, into output: inout ByteBuffer) {
        if whole.byteCount == 0 || isLoaded && metadata.isEmpty(metadata.root) { return }
        output.append(",\"metadata\":")
        guard isLoaded else { return appendQuoted(whole, into: &output) }
        text.removeAll()
        metadata.write(metadata.root, into: &text)
        appendQuoted(text.bytes, into: &output)
    }
}
