public import Evstore

extension NewEvent {
    /// Creates an event from texts: `.event("order-42", "OrderPlaced", #"{"id":"42"}"#, at: 1)`.
    public static func event(
        _ stream: String, _ type: String, _ payload: String, at version: Int? = nil, id: String? = nil, metadata: String? = nil,
        time: Timestamp? = nil
    ) throws(EvstoreError) -> NewEvent {
        NewEvent(
            stream: try StreamName(stream), type: type, payload: Array(payload.utf8), metadata: metadata.map { Array($0.utf8) },
            id: try id.map { id throws(EvstoreError) in try EventID(id) }, time: time, version: version.map { SchemaVersion($0) })
    }
}

extension RecordedEvent {
    /// The payload as text.
    public var json: String { String(decoding: payload, as: UTF8.self) }
}

extension ReadModelRow {
    /// The value as text.
    public var json: String { String(decoding: value, as: UTF8.self) }
}
