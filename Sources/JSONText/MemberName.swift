internal import Bytes

/// A member's name with the precomputed forms that comparing and writing need. Make it once and reuse it for every event.
package struct MemberName: Hashable, Sendable, CustomStringConvertible {
    // A single reference, so that a copy costs no more than that.
    let forms: Forms

    package init(_ text: String) { forms = Forms(text) }

    package var text: String { forms.text }
    package var utf8: [UInt8] { forms.utf8 }
    /// The name as a JSON string literal, with its quotes.
    package var quoted: [UInt8] { forms.quoted }

    package var description: String { text }

    // Names are compared bytewise: JSON does not know canonical equivalence.
    package static func == (left: MemberName, right: MemberName) -> Bool { left.utf8 == right.utf8 }
    package func hash(into hasher: inout Hasher) { hasher.combine(utf8) }

    final class Forms: Sendable {
        let text: String
        let utf8: [UInt8]
        let quoted: [UInt8]
        /// `quoted` followed by a colon, as it is written before a value.
        let label: [UInt8]
        /// The name's `firstWord`, the mask of the bits that belong to the name, and its `nameKey`.
        let word: UInt64
        let mask: UInt64
        let key: UInt32
        let count: Int
        /// The byte count of `quoted`.
        let literalCount: Int
        let hasEscapes: Bool

        init(_ text: String) {
            let bytes = Array(text.utf8)
            var literal = ByteBuffer(capacity: bytes.count + 16)
            appendQuoted(bytes.lent, into: &literal)
            self.text = text
            utf8 = bytes
            quoted = literal.array()
            label = quoted + [UInt8(ascii: ":")]
            word = firstWord(of: bytes.lent)
            mask = bytes.count < 7 ? 1 << UInt64(8 * (bytes.count + 1)) - 1 : .max
            key = nameKey(word)
            count = bytes.count
            literalCount = quoted.count
            hasEscapes = literalCount != count + 2
        }
    }
}
