internal import Bytes

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
        guard let value = bytes.lent.slice(Int(node.start), Int(node.end - node.start)).integer(type) else {
            throw corrupted("\(text(of: node) ?? "the number") does not fit \(type)", index)
        }
        return value
    }

    func double(_ index: Int) throws -> Double {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(Double.self, index) }
        let bytes = bytes
        if let value = bytes.lent.slice(Int(node.start), Int(node.end - node.start)).shortDouble() { return value }
        return try floating(Double.self, node, index)
    }

    func float(_ index: Int) throws -> Float {
        let node = nodes[index]
        guard node.kind == .number else { throw mismatch(Float.self, index) }
        return try floating(Float.self, node, index)
    }

    private func floating<T: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: T.Type, _ node: JSONNode, _ index: Int
    ) throws -> T {
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
