/// Why a text is not the JSON that was expected, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was expected, or which limit was exceeded.
    package let reason: String
    /// In bytes from the beginning of the text.
    package let offset: Int

    package init(_ reason: String, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(reason), at byte \(offset)" }
}
