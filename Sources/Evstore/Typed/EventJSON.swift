internal import EventModel
internal import JSONText
internal import Projections

/// How Swift values are written in payloads, and what goes wrong there.
enum EventJSON {
    static var coding: JSONCoding { SwiftValues.payloads }

    /// What a coder threw, as the error of a typed event.
    static func failure<E: Event>(_ error: any Error, of type: E.Type) -> EvstoreError {
        .invalidEvent(type: E.type, version: E.version, pointer: pointer(error), reason: "as \(E.self): \(reason(error))")
    }

    static func pointer(_ error: any Error) -> String {
        var pointer = JSONPointer()
        for key in context(error)?.codingPath ?? [] {
            pointer.tokens.append(MemberName(key.intValue.map { String($0) } ?? key.stringValue))
        }
        return pointer.description
    }

    static func reason(_ error: any Error) -> String { context(error)?.reason ?? "\(error)" }

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
}
