internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Encodes Swift values as payloads, and describes coding errors.
enum EventJSON {
    static var coding: JSONCoding { SwiftValues.payloads }

    /// Converts an error of a coder to the error of a typed event.
    static func failure<E: Event>(_ error: any Error, of type: E.Type) -> EvstoreError {
        .invalidEvent(type: E.type, version: E.version, pointer: pointer(error), reason: "as \(E.self): \(reason(error))")
    }

    static func pointer(_ error: any Error) -> String { SwiftValues.pointer(error) }

    static func reason(_ error: any Error) -> String { SwiftValues.reason(error) }
}
