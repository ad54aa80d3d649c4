internal import Bytes
internal import JSONText

/// The members of a payload that a Swift step declares: it sees those that it reads and changes those that it writes.
///
/// Pointers are RFC 6901, from the payload's root. On the way down a step also sees what it writes on the way up. Values are
/// read and written as those of typed events are.
public struct StepMembers: ~Copyable {
    /// The event's type at the step.
    public private(set) var type = ""
    var doc = Splice()
    private var text = ByteBuffer()
    private var readable: [JSONPointer] = []
    private var writable: [JSONPointer] = []
    /// Whether the step replaced all members at once, so that those it may not write have to be compared.
    private(set) var isReplaced = false

    init() {}

    /// A member's value; nil where it is absent or null.
    /// - Throws: `StepFailure` where the step does not declare to read it, or it is no such value.
    public mutating func read<T: Decodable>(_ pointer: String, as type: T.Type = T.self) throws(StepFailure) -> T? {
        let place = try place(pointer, among: readable + writable, "read")
        guard let node = member(place), doc.kind(node) != .null else { return nil }
        text.removeAll()
        doc.write(node, into: &text)
        do { return try SwiftValues.payloads.decode(type, from: text.array(), hasUniqueNames: true) } catch {
            throw StepFailure(coding: error, T.self, at: pointer)
        }
    }

    /// Gives a member a value, and makes the objects around it.
    /// - Throws: `StepFailure` where the step does not declare to write it, or JSON can't say the value.
    public mutating func write(_ pointer: String, _ value: some Encodable) throws(StepFailure) {
        let place = try place(pointer, among: writable, "write")
        let json: [UInt8]
        do { json = try SwiftValues.payloads.encode(value) } catch { throw StepFailure(coding: error, Swift.type(of: value), at: pointer) }
        doc.put(json.lent, at: place)
    }

    /// Takes a member out; nothing where it is absent.
    /// - Throws: `StepFailure` where the step does not declare to write it.
    public mutating func remove(_ pointer: String) throws(StepFailure) {
        let place = try place(pointer, among: writable, "write")
        if let node = member(place) { doc.detach(node) }
    }

    /// All that the step reads, as one value.
    /// - Throws: `StepFailure`.
    public mutating func decode<T: Decodable>(_ type: T.Type = T.self) throws(StepFailure) -> T {
        do { return try SwiftValues.payloads.decode(type, from: json, hasUniqueNames: true) } catch {
            throw StepFailure(coding: error, T.self, at: "")
        }
    }

    /// Puts a value in the place of all members; those that the step does not write must be absent or as they were.
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

    /// Puts JSON text, one object, in the place of all members; those that the step does not write must be absent or as they were.
    /// - Throws: `StepFailure` where the text is no valid object.
    public mutating func replace(with json: [UInt8]) throws(StepFailure) {
        let kind: JSONKind
        do {
            kind = try JSONScanner.validate(json.lent, limits: .none)
            try doc.load(json.lent)
        } catch { throw StepFailure(expected: "JSON text", found: "\(error.reason) at byte \(error.offset)") }
        guard kind == .object else { throw StepFailure(expected: "one object", found: "\(kind)") }
        isReplaced = true
    }

    private mutating func member(_ place: JSONPointer) -> Splice.Node? {
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

    /// Copies a member of a payload.
    mutating func copy(_ node: Splice.Node, of payload: borrowing Splice, at place: JSONPointer) {
        text.removeAll()
        payload.write(node, into: &text)
        doc.put(text, at: place)
    }
}

extension Splice {
    fileprivate mutating func put(_ json: borrowing ByteBuffer, at place: JSONPointer) { put(json.bytes, at: place) }

    /// Gives a member a value, and makes the objects around it.
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
