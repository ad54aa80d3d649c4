internal import Bytes

/// A member's name in the forms that comparing and writing need, made once and kept by who uses it per event.
package struct MemberName: Hashable, Sendable, CustomStringConvertible {
    // One reference: a copy of a name costs no more than that, whatever forms there are.
    let forms: Forms

    package init(_ text: String) { forms = Forms(text) }

    package var text: String { forms.text }
    package var utf8: [UInt8] { forms.utf8 }
    /// The name as a JSON string literal, with its quotes.
    package var quoted: [UInt8] { forms.quoted }

    package var description: String { text }

    // Names are the same when their bytes are: canonical equivalence of texts is not meant in JSON.
    package static func == (left: MemberName, right: MemberName) -> Bool { left.utf8 == right.utf8 }
    package func hash(into hasher: inout Hasher) { hasher.combine(utf8) }

    final class Forms: Sendable {
        let text: String
        let utf8: [UInt8]
        let quoted: [UInt8]
        /// `quoted` and a colon, as it is placed before a value.
        let label: [UInt8]
        /// `firstWord` of the name, the bits of it that are the name's, and its `nameKey`.
        let word: UInt64
        let mask: UInt64
        let key: UInt32
        let count: Int
        /// Of `quoted`.
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
