internal import EventModel
internal import FoundationEssentials
package import JSONText

/// How Swift values are encoded in payloads and in rows; rows have sorted members, so that equal rows have equal digests.
package enum SwiftValues {
    package static let payloads = JSONCoding(leaves: leaves)
    package static let rows = JSONCoding(leaves: leaves, sortsMembers: true)

    private static let leaves: [JSONLeaf] = [
        // Dates have a precision of microseconds, which is what the text can express.
        JSONLeaf(
            Date.self, read: { text($0).flatMap { Timestamp($0) }.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1e6) } },
            write: {
                Int64(exactly: ($0.timeIntervalSince1970 * 1e6).rounded()).map { .string(Timestamp(microseconds: $0).description) }
            }),
        JSONLeaf(
            Decimal.self,
            read: {
                guard case .number(let text) = $0 else { return nil }
                return Decimal(string: text)
            }, write: { $0.isNaN ? nil : .number($0.description) }),
        JSONLeaf(Data.self, read: { text($0).flatMap { Data(base64Encoded: $0) } }, write: { .string($0.base64EncodedString()) }),
        JSONLeaf(URL.self, read: { text($0).flatMap { URL(string: $0) } }, write: { .string($0.absoluteString) }),
    ]

    /// The pointer to the value at which a coder failed.
    package static func pointer(_ error: any Error) -> String {
        var pointer = JSONPointer()
        for key in context(error)?.codingPath ?? [] {
            pointer.tokens.append(MemberName(key.intValue.map { String($0) } ?? key.stringValue))
        }
        return pointer.description
    }

    /// The coder's own description of the error.
    package static func reason(_ error: any Error) -> String { context(error)?.reason ?? "\(error)" }

    private static func context(_ error: any Error) -> (codingPath: [any CodingKey], reason: String)? {
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            (context.codingPath, context.debugDescription)
        case EncodingError.invalidValue(_, let context): (context.codingPath, context.debugDescription)
        default: nil
        }
    }

    private static func text(_ scalar: JSONLeaf.Scalar) -> String? {
        if case .string(let text) = scalar { text } else { nil }
    }
}
