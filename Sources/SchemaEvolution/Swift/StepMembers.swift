internal import Bytes
internal import JSONText

/// The members of a payload that a Swift step declares: the step can read some of them and change others.
///
/// Pointers are RFC 6901 pointers from the payload's root. On the way down, a step can also read what it writes on the way up. Values are
/// decoded and encoded like those of typed events.
public struct StepMembers: ~Copyable {
    /// The event's type at the version of the step.
    public private(set) var type = ""
    var doc = JSONEditor()
    private var text = ByteBuffer()
    private var readable: [JSONPointer] = []
    private var writable: [JSONPointer] = []
    /// Whether the step replaced all members at once, so that members which it may not write must be compared.
    private(set) var isReplaced = false

    init() {}

    /// The value of a member; nil if it is absent or null.
    /// - Throws: `StepFailure` if the step does not declare to read the member, or if it has another type of value.
    public mutating func read<T: Decodable>(_ pointer: String, as type: T.Type = T.self) throws(StepFailure) -> T? {
        let place = try place(pointer, among: readable + writable, "read")
        guard let node = member(place), doc.kind(node) != .null else { return nil }
        text.removeAll()
        doc.write(node, into: &text)
        do { return try SwiftValues.payloads.decode(type, from: text.array(), hasUniqueNames: true) } catch {
            throw StepFailure(coding: error, T.self, at: pointer)
        }
    }

    /// Sets the value of a member and creates the objects around it.
    /// - Throws: `StepFailure` if the step does not declare to write the member, or if JSON can't express the value.
    public mutating func write(_ pointer: String, _ value: some Encodable) throws(StepFailure) {
        let place = try place(pointer, among: writable, "write")
        let json: [UInt8]
        do { json = try SwiftValues.payloads.encode(value) } catch { throw StepFailure(coding: error, Swift.type(of: value), at: pointer) }
        doc.put(json.lent, at: place)
    }

    /// Removes a member; does nothing if it is absent.
    /// - Throws: `StepFailure` if the step does not declare to write the member.
    public mutating func remove(_ pointer: String) throws(StepFailure) {
        let place = try place(pointer, among: writable, "write")
        if let node = member(place) { doc.detach(node) }
    }

    /// All members that the step reads, decoded as one value.
    /// - Throws: `StepFailure`.
    public mutating func decode<T: Decodable>(_ type: T.Type = T.self) throws(StepFailure) -> T {
        do { return try SwiftValues.payloads.decode(type, from: json, hasUniqueNames: true) } catch {
            throw StepFailure(coding: error, T.self, at: "")
        }
    }

    /// Replaces all members by an encoded value. Members that the step does not write must be absent or unchanged in it.
    /// - Throws: `StepFailure`.
    public mutating func encode(_ value: some Encodable) throws(StepFailure) {
        let text: [UInt8]
        do { text = try SwiftValues.payloads.encode(value) } catch { throw StepFailure(coding: error, Swift.type(of: value), at: "") }
        try replace(with: text)
    }

    /// The members as JSON text, one object.
    public var json: [UInt8] {
        mutating get {
            text.removeAll()
            doc.write(doc.root, into: &text)
            return text.array()
        }
    }

    /// Replaces all members by JSON text, one object. Members that the step does not write must be absent or unchanged in it.
    /// - Throws: `StepFailure` if the text is not a valid object.
    public mutating func replace(with json: [UInt8]) throws(StepFailure) {
        let kind: JSONKind
        do {
            kind = try JSONScanner.validate(json.lent, limits: .none)
            try doc.load(json.lent)
        } catch { throw StepFailure(expected: "JSON text", found: "\(error.reason) at byte \(error.offset)") }
        guard kind == .object else { throw StepFailure(expected: "one object", found: "\(kind)") }
        isReplaced = true
    }

    private mutating func member(_ place: JSONPointer) -> JSONEditor.Node? {
        let root = doc.root
        return doc.find(place, from: root)
    }

    private func place(_ text: String, among allowed: [JSONPointer], _ verb: String) throws(StepFailure) -> JSONPointer {
        let place: JSONPointer
        do { place = try JSONPointer(text) } catch { throw StepFailure(at: text, expected: "a pointer", found: error.reason) }
        guard allowed.contains(where: { place.hasPrefix($0) }) else {
            throw StepFailure(at: text, expected: "a member that the step declares to \(verb)", found: "one that it does not")
        }
        return place
    }
}

extension StepMembers {
    mutating func begin(_ type: String, reads: [JSONPointer], writes: [JSONPointer]) throws(JSONError) {
        (self.type, readable, writable, isReplaced) = (type, reads, writes, false)
        try doc.load(Self.empty.lent)
    }

    private static let empty = Array("{}".utf8)

    mutating func copy(_ node: JSONEditor.Node, of payload: borrowing JSONEditor, at place: JSONPointer) {
        text.removeAll()
        payload.write(node, into: &text)
        doc.put(text, at: place)
    }
}

extension JSONEditor {
    fileprivate mutating func put(_ json: borrowing ByteBuffer, at place: JSONPointer) { put(json.bytes, at: place) }

    /// Sets the value of a member and creates the objects around it.
    fileprivate mutating func put(_ json: RawSpan, at place: JSONPointer) {
        guard let name = place.last else { return }
        var holder = root
        for token in place.tokens.dropLast() {
            if let next = member(token, of: holder), kind(next) == .object {
                holder = next
            } else {
                holder = makeObject(token, of: holder)
            }
        }
        set(name, of: holder, to: json)
    }
}

extension StepFailure {
    fileprivate init(coding error: any Error, _ type: Any.Type, at pointer: String) {
        self.init(at: pointer + SwiftValues.pointer(error), expected: "a value of \(type)", found: SwiftValues.reason(error))
    }
}
