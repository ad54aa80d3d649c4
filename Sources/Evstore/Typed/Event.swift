public import EventModel
public import FoundationEssentials
internal import JSONText
internal import SchemaEvolution

/// A fact as a Swift type: the payload of one event type at one version.
///
/// Optional members are absent where nil. `Date` and `Timestamp` are RFC 3339 text in UTC, `Decimal` is an exact number, `Data` is Base64
/// text, `URL` is text; everything else is encoded by its `Codable`.
public protocol Event: Codable, Sendable {
    /// The event type's name in the version files.
    static var type: String { get }
    /// The version whose shape this type has; it also reads later versions as long as the shape stays.
    static var version: SchemaVersion { get }
}

extension NewEvent {
    /// An event to append, born at its type's version.
    /// - Throws: `EvstoreError.invalidEvent` where JSON can't represent the value.
    public init<E: Event>(
        _ event: E, to stream: StreamName, metadata: [UInt8]? = nil, id: EventID? = nil, time: Timestamp? = nil
    ) throws(EvstoreError) {
        let payload: [UInt8]
        do { payload = try SwiftValues.payloads.encode(event) } catch { throw EvstoreError(error, of: E.self) }
        self.init(stream: stream, type: E.type, payload: payload, metadata: metadata, id: id, time: time, version: E.version)
    }
}

extension RecordedEvent {
    /// Decodes the payload as a Swift type, straight from the bytes.
    /// - Throws: `EvstoreError.invalidEvent` where the event has another type, or the Swift type can't read its payload.
    public func decode<E: Event>(_ type: E.Type = E.self) throws(EvstoreError) -> E {
        guard self.type.isSame(as: E.type) else {
            throw .invalidEvent(type: self.type, version: version, pointer: "", reason: "is no \(E.type), which \(E.self) reads")
        }
        do { return try SwiftValues.payloads.decode(type, from: payload, hasUniqueNames: true) } catch {
            throw EvstoreError(error, of: E.self)
        }
    }

    /// Decodes the metadata as a Swift type; nil where the event has none.
    /// - Throws: `EvstoreError.invalidEvent` where the Swift type can't read it.
    public func metadata<M: Decodable>(as type: M.Type) throws(EvstoreError) -> M? {
        if metadata.isEmpty { return nil }
        do { return try SwiftValues.payloads.decode(type, from: metadata, hasUniqueNames: true) } catch {
            throw .invalidEvent(
                type: self.type, version: version, pointer: SwiftValues.pointer(error), reason: "metadata: \(SwiftValues.reason(error))")
        }
    }
}

extension EvstoreError {
    /// Converts an error of a coder to the error of a typed event.
    fileprivate init<E: Event>(_ error: any Error, of type: E.Type) {
        self = .invalidEvent(
            type: E.type, version: E.version, pointer: SwiftValues.pointer(error), reason: "as \(E.self): \(SwiftValues.reason(error))")
    }
}

extension Timestamp {
    /// The moment of a date, to the microsecond; the nearest possible timestamp where the date lies outside the range.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1e6).rounded()
        self.init(microseconds: Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max))
    }

    public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1e6) }
}
