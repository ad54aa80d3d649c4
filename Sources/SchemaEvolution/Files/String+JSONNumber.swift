internal import Bytes
internal import JSONText

extension String {
    /// Whether the whole text is a JSON number (RFC 8259, section 6).
    var isJSONNumber: Bool {
        guard let first = utf8.first, first == UInt8(ascii: "-") || (48 ... 57).contains(first) else { return false }
        guard utf8.allSatisfy({ (48 ... 57).contains($0) || "+-.eE".utf8.contains($0) }) else { return false }
        do { return try JSONScanner.validate(Array(utf8).lent, limits: JSONLimits()) == .number } catch { return false }
    }
}
