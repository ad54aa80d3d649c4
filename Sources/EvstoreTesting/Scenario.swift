internal import Bytes
public import Evstore
internal import JSONText

/// What a scenario expected and what it found, as one sentence.
public struct ScenarioFailure: Error, CustomStringConvertible {
    public let description: String
}

/// Given, when, then, for steps and projections, with a store of its own:
///
///     try await Scenario(schemas, at: SchemaVersion(2))
///         .given(.event("order-1", "OrderPlaced", #"{"id":"1"}"#, at: 1))
///         .when(.event("order-1", "OrderPaid", #"{"id":"1"}"#))
///         .then("order-1", are: [("OrderPlaced", #"{"id":"1","total":0}"#), ("OrderPaid", #"{"id":"1"}"#)])
///         .then("orders", key: "1", is: #"{"state":"paid"}"#)
public final class Scenario: Sendable {
    private let temporary: TemporaryStore
    /// The error of the last `when`; nil where its events were accepted.
    private let refusal: EvstoreError?

    public var store: EventStore { temporary.store }

    /// Creates a store that is live at `version` (the newest where nil) and accepts events born from `floor` on.
    public convenience init(
        _ schemas: Schemas, at version: SchemaVersion? = nil, from floor: SchemaVersion = SchemaVersion(1),
        steps: [any SwiftStep] = [], projections: [any SwiftProjection] = []
    ) async throws {
        self.init(try await TemporaryStore.make(schemas, at: version, from: floor, steps: steps, projections: projections), nil)
    }

    private init(_ temporary: TemporaryStore, _ refusal: EvstoreError?) { (self.temporary, self.refusal) = (temporary, refusal) }

    /// Appends events one by one as the history; each must be accepted.
    @discardableResult
    public func given(_ events: NewEvent...) async throws(EvstoreError) -> Scenario {
        for event in events { _ = try await store.append([event]) }
        return self
    }

    /// Appends events together; `then` and `thenRefused` check whether they were accepted.
    @discardableResult
    public func when(_ events: NewEvent...) async -> Scenario {
        do {
            _ = try await store.append(events)
            return Scenario(temporary, nil)
        } catch { return Scenario(temporary, error) }
    }

    /// Requires that the last `when` was refused with an error of this code.
    @discardableResult
    public func thenRefused(_ code: String) throws -> Scenario {
        guard refusal?.code == code else {
            throw ScenarioFailure(description: "expected \(code), found \(refusal.map(\.code) ?? "no refusal")")
        }
        return self
    }

    /// Requires that the events of a stream, as seen at a version, are exactly these types and payloads.
    @discardableResult
    public func then(_ stream: String, at version: SchemaVersion? = nil, are expected: [(type: String, payload: String)]) throws -> Scenario
    {
        if let refusal { throw refusal }
        let found = try store.read(StreamName(stream), at: version).map { ($0.type, $0.payload) }
        let isSame =
            try found.count == expected.count
            && zip(found, expected).allSatisfy { found, expected in
                try found.0 == expected.type && isSameJSON(found.1, expected.payload)
            }
        guard isSame else {
            throw ScenarioFailure(
                description: """
                    \(stream) should be
                    \(expected.map { "  \($0.type) \($0.payload)" }.joined(separator: "\n"))
                    and is
                    \(found.map { "  \($0.0) \(String(decoding: $0.1, as: UTF8.self))" }.joined(separator: "\n"))
                    """)
        }
        return self
    }

    /// Requires that a row of a read model has this value; nil requires that there is none.
    @discardableResult
    public func then(
        _ projection: String, key: String, at version: SchemaVersion? = nil, is expected: String?
    ) async throws -> Scenario {
        if let refusal { throw refusal }
        var found: [UInt8]?
        try await store.query(projection, at: version, key: key) { row in
            found = row.value
            return true
        }
        let isSame = if let found, let expected { try isSameJSON(found, expected) } else { found == nil && expected == nil }
        guard isSame else {
            let text = found.map { String(decoding: $0, as: UTF8.self) }
            throw ScenarioFailure(description: "\(projection) \(key) should be \(expected ?? "absent") and is \(text ?? "absent")")
        }
        return self
    }

    private func isSameJSON(_ a: [UInt8], _ b: String) throws -> Bool {
        try Canonical.bytes(of: a.lent) == Canonical.bytes(of: Array(b.utf8).lent)
    }
}
