internal import Bytes

/// One value, or one member's name, of a text.
struct JSONNode: BitwiseCopyable, Sendable {
    var kind: JSONKind
    var hasEscapes = false
    /// For a string, the content between the quotes.
    var start: Int32
    var end: Int32 = 0
    /// The index of the node behind this one and everything that it contains.
    var next: Int32 = 0
    /// For an array, the number of its elements; for an object, its index among the objects.
    var extra: Int32 = 0

    /// The value's text; for a string or name, what lies between its quotes.
    @_lifetime(copy text)
    func content(in text: RawSpan) -> RawSpan { text.slice(Int(start), Int(end - start)) }
}

/// A text and the locations of its values, in the order of the text; an object's members are a name and a value each.
///
/// Used by one thread.
final class JSONTape {
    let bytes: [UInt8]
    let leaves: [JSONLeaf]
    let nodes: UniqueArray<JSONNode>
    /// For each object, the name that was looked up last, where the next search begins.
    private var hints: UniqueArray<Int32>
    /// A null behind the text, which stands for absent values.
    let absent: Int

    init(_ bytes: [UInt8], _ limits: JSONLimits, comparesNames: Bool, _ leaves: [JSONLeaf]) throws(JSONError) {
        (self.bytes, self.leaves) = (bytes, leaves)
        let record = try TapeRecord.of(bytes.lent, limits, comparesNames: comparesNames)
        hints = UniqueArray(repeating: 0, count: record.objects)
        var nodes = record.nodes
        absent = nodes.count
        nodes.append(JSONNode(kind: .null, start: 0, next: Int32(nodes.count + 1)))
        self.nodes = nodes
    }

    /// The node of a member's value; nil if the object lacks the member.
    func value(of name: String, in object: Int) -> Int? {
        let first = object + 1
        let end = Int(nodes[object].next)
        if first == end { return nil }
        let hint = Int(nodes[object].extra)
        let start = hints[hint] == 0 ? first : Int(hints[hint])
        var at = start
        repeat {
            if isName(at, name) {
                hints[hint] = Int32(truncatingIfNeeded: at)
                return at + 1
            }
            at = Int(nodes[at + 1].next)
            if at == end { at = first }
        } while at != start
        return nil
    }

    private func isName(_ index: Int, _ name: String) -> Bool {
        let node = nodes[index]
        if node.hasEscapes { return text(of: node)?.utf8.elementsEqual(name.utf8) ?? false }
        let bytes = bytes
        return node.content(in: bytes.lent).equals(utf8: name)
    }

    /// The text that a string or name denotes, or the text of a number.
    func text(of node: JSONNode) -> String? {
        let bytes = bytes
        let literal = node.content(in: bytes.lent)
        guard node.hasEscapes else { return String(utf8: literal) }
        var buffer = ByteBuffer(capacity: literal.byteCount)
        appendUnescaped(literal, into: &buffer)
        return String(utf8: buffer.bytes)
    }

    func path(to target: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var at = 0
        while at < target, target < Int(nodes[at].next) {
            let isObject = nodes[at].kind == .object
            var child = at + 1
            var index = 0
            while true {
                let value = isObject ? child + 1 : child
                if target < Int(nodes[value].next) {
                    path.append(isObject ? JSONKey(stringValue: text(of: nodes[child]) ?? "") : JSONKey(intValue: index))
                    if target <= value { return path }
                    at = value
                    break
                }
                (child, index) = (Int(nodes[value].next), index + 1)
            }
        }
        return path
    }
}

/// The nodes of a text in its order, from the root on, collected while it is validated.
struct TapeRecord: ValueRecorder, ~Copyable {
    private(set) var nodes: UniqueArray<JSONNode>
    private(set) var objects = 0

    private init(of bytes: Int) { nodes = UniqueArray(capacity: bytes / 8 + 4) }

    /// Validates a text. O(bytes).
    static func of(_ text: RawSpan, _ limits: JSONLimits, comparesNames: Bool = true) throws(JSONError) -> TapeRecord {
        try JSONScanner.requireSize(of: text, limits)
        var validator = JSONValidator(text, limits, TapeRecord(of: text.byteCount), comparesNames: comparesNames)
        _ = try validator.validate()
        return validator.record
    }

    mutating func begin(_ kind: JSONKind, at offset: Int) -> Int {
        var node = JSONNode(kind: kind, start: Int32(truncatingIfNeeded: kind == .string ? offset &+ 1 : offset))
        if kind == .object {
            node.extra = Int32(truncatingIfNeeded: objects)
            objects &+= 1
        }
        nodes.append(node)
        return nodes.count &- 1
    }

    mutating func end(_ value: Int, at offset: Int, hasEscapes: Bool, elements: Int) {
        let kind = nodes[value].kind
        nodes[value].hasEscapes = hasEscapes
        nodes[value].end = Int32(truncatingIfNeeded: kind == .string ? offset &- 1 : offset)
        if kind == .array { nodes[value].extra = Int32(truncatingIfNeeded: elements) }
        nodes[value].next = Int32(truncatingIfNeeded: nodes.count)
    }

    mutating func name(_ start: Int, _ end: Int, hasEscapes: Bool) {
        var name = JSONNode(kind: .string, hasEscapes: hasEscapes, start: Int32(truncatingIfNeeded: start))
        name.end = Int32(truncatingIfNeeded: end)
        name.next = Int32(truncatingIfNeeded: nodes.count &+ 1)
        nodes.append(name)
    }
}

extension JSONTape {
    func isNull(_ index: Int) -> Bool { nodes[index].kind == .null }

    func bool(_ index: Int) throws -> Bool {
        switch nodes[index].kind {
        case .true: return true
        case .false: return false
        default: throw mismatch(Bool.self, index)
        }
    }

    func string(_ index: Int) throws -> String {
        let node = nodes[index]
        guard node.kind == .string else { throw mismatch(String.self, index) }
        guard let text = text(of: node) else { throw corrupted("valid UTF-8 was expected", index) }
        return text
    }

    func integer<T: FixedWidthInteger>(_ type: T.Type, _ index: Int) throws -> T {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(type, index) }
        let bytes = bytes
        guard let value = node.content(in: bytes.lent).integer(type) else {
            throw corrupted("\(text(of: node) ?? "the number") does not fit \(type)", index)
        }
        return value
    }

    func double(_ index: Int) throws -> Double {
        let node = nodes[index]
        let bytes = bytes
        if node.kind == .number, let value = node.content(in: bytes.lent).shortDouble() { return value }
        return try floating(Double.self, index)
    }

    func floating<T: BinaryFloatingPoint & LosslessStringConvertible>(_ type: T.Type, _ index: Int) throws -> T {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(type, index) }
        guard let text = text(of: node), let value = T(text), value.isFinite else {
            throw corrupted("\(text(of: node) ?? "the number") does not fit \(type)", index)
        }
        return value
    }

    /// Reads any value: as a leaf if its type is one, otherwise by the type's own conformance.
    func read<T: Decodable>(_ type: T.Type, at index: Int) throws -> T {
        let wanted = ObjectIdentifier(type)
        for leaf in leaves where leaf.type == wanted {
            let scalar: JSONLeaf.Scalar? =
                switch nodes[index].kind {
                case .string: .string(try string(index))
                case .number: text(of: nodes[index]).map { .number($0) }
                default: nil
                }
            guard let scalar else { throw mismatch(type, index) }
            guard let value = leaf.read(scalar) as? T else { throw corrupted("\(scalar) is no \(leaf.name)", index) }
            return value
        }
        return try T(from: ValueReader(tape: self, index: index))
    }

    func mismatch(_ type: Any.Type, _ index: Int) -> DecodingError {
        let found = nodes[index].kind
        if found == .null {
            return .valueNotFound(type, .init(codingPath: path(to: index), debugDescription: "\(type) was expected, null found"))
        }
        return .typeMismatch(type, .init(codingPath: path(to: index), debugDescription: "\(type) was expected, \(found) found"))
    }

    func corrupted(_ reason: String, _ index: Int) -> DecodingError {
        .dataCorrupted(.init(codingPath: path(to: index), debugDescription: reason))
    }
}

extension RawSpan {
    /// The integer that a JSON number denotes, however it is written (`100`, `1e2`, `100.0`); nil if it is not an integer or does not fit.
    @inline(__always)
    fileprivate func integer<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        let isNegative = byte(at: 0) == UInt8(ascii: "-")
        var at = isNegative ? 1 : 0
        guard byteCount - at <= 18 else { return longInteger(type) }
        var value: Int64 = 0
        while at < byteCount {
            let digit = byte(at: at) &- UInt8(ascii: "0")
            guard digit < 10 else { return longInteger(type) }
            value = value &* 10 &+ Int64(digit)
            at &+= 1
        }
        return T(exactly: isNegative ? -value : value)
    }

    @inline(never)
    private func longInteger<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        // No integer type of the standard library has that many digits.
        guard let number = NumberText(self), number.digits.count <= number.point, number.point <= 40 else {
            return NumberText(self).flatMap { $0.digits.isEmpty ? 0 : nil }
        }
        var value: T = 0
        for index in 0 ..< number.point {
            let digit = T(index < number.digits.count ? number.digits[index] : 0)
            let (product, isOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOverToo) =
                number.isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if isOver || isOverToo { return nil }
            value = sum
        }
        return value
    }

    /// The double nearest to a short number of at most 16 bytes without exponent, where one exact division computes it (Clinger 1990).
    fileprivate func shortDouble() -> Double? {
        let isNegative = byte(at: 0) == UInt8(ascii: "-")
        guard byteCount <= 16 else { return nil }
        var mantissa: Int64 = 0
        var fraction = -1
        for at in (isNegative ? 1 : 0) ..< byteCount {
            let digit = byte(at: at) &- UInt8(ascii: "0")
            if digit < 10 {
                mantissa = mantissa &* 10 &+ Int64(digit)
                if fraction >= 0 { fraction &+= 1 }
            } else if byte(at: at) == UInt8(ascii: "."), fraction < 0 {
                fraction = 0
            } else {
                return nil
            }
        }
        guard mantissa <= 1 << 53 else { return nil }
        let value = fraction > 0 ? Double(mantissa) / powersOfTen[fraction] : Double(mantissa)
        return isNegative ? -value : value
    }
}

/// Powers of ten that a double represents exactly, as far as short numbers need them.
private let powersOfTen: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16]
