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
        let found = try await store.query(projection, at: version, key: key)?.value
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

    /// Requires that the last event of a stream, seen at the version of this Swift value, equals it: given, when, then for an upcast.
    @discardableResult
    public func then<E: Event & Equatable>(_ stream: String, last expected: E) throws -> Scenario {
        let found = try store.read(StreamName(stream), at: E.version, limit: 1, backwards: true)
        guard let last = found.first else { throw ScenarioFailure(description: "\(stream) has no event at \(E.version)") }
        let event = try last.decode(E.self)
        if event != expected { throw ScenarioFailure(description: "the last event of \(stream) should be \(expected) and is \(event)") }
        return self
    }

    /// Requires that a row of a read model, as a Swift value, equals this; nil requires that there is none.
    @discardableResult
    public func then<Row: Decodable & Equatable>(
        _ projection: String, key: String, at version: SchemaVersion? = nil, row expected: Row?
    ) async throws -> Scenario {
        let found = try await store.query(projection, at: version, key: key)?.decode(Row.self)
        if found != expected {
            let (a, b) = (expected.map { "\($0)" } ?? "absent", found.map { "\($0)" } ?? "absent")
            throw ScenarioFailure(description: "\(projection) \(key) should be \(a) and is \(b)")
        }
        return self
    }
}

/// Given, when, then, for a decision on a stream's state, without a store:
///
///     try DecisionScenario(fold)
///         .given(OrderPlaced(id: "1", customer: "Ada Lovelace", cents: 1250))
///         .when { order in order.cents > 1000 ? [OrderVoided(id: "1")] : [] }
///         .then(OrderVoided(id: "1"))
public struct DecisionScenario<State: Sendable> {
    private let fold: StreamFold<State>
    private let given: [any Event]
    private let outcome: Result<[any Event], any Error>

    public init(_ fold: StreamFold<State>) { self.init(fold, [], .success([])) }

    private init(_ fold: StreamFold<State>, _ given: [any Event], _ outcome: Result<[any Event], any Error>) {
        (self.fold, self.given, self.outcome) = (fold, given, outcome)
    }

    /// Adds events to the history of the stream.
    public func given(_ events: any Event...) -> Self { Self(fold, given + events, outcome) }

    /// Decides on the state that follows from the given events.
    /// - Throws: what the fold throws; `thenThrows` checks what `body` throws.
    public func when(_ body: (State) throws -> [any Event]) throws -> Self {
        var state = fold.initial
        for (revision, event) in given.enumerated() { try fold.apply(Self.recorded(event, revision), to: &state) }
        return Self(fold, given, Result { try body(state) })
    }

    /// Requires that the decision came to exactly these events.
    @discardableResult
    public func then(_ expected: any Event...) throws -> Self {
        let found = try outcome.get().map(Self.text)
        let wanted = try expected.map(Self.text)
        if found != wanted {
            throw ScenarioFailure(
                description: """
                    it should have come to
                    \(wanted.map { "  \($0)" }.joined(separator: "\n"))
                    and came to
                    \(found.map { "  \($0)" }.joined(separator: "\n"))
                    """)
        }
        return self
    }

    /// Requires that the decision was refused with this error.
    @discardableResult
    public func thenThrows<E: Error & Equatable>(_ expected: E) throws -> Self {
        switch outcome {
        case .failure(let error as E) where error == expected: return self
        case .failure(let error): throw ScenarioFailure(description: "it should have been refused with \(expected), and was with \(error)")
        case .success(let events):
            let found = try events.map(Self.text).joined(separator: ", ")
            throw ScenarioFailure(description: "it should have been refused with \(expected), and came to \(found)")
        }
    }

    private static func text(_ event: any Event) throws -> String {
        let new = try NewEvent(event, to: StreamName("decided"))
        return "\(new.type) \(String(decoding: try Canonical.bytes(of: new.payload.lent), as: UTF8.self))"
    }

    private static func recorded(_ event: any Event, _ revision: Int) throws -> RecordedEvent {
        let new = try NewEvent(event, to: StreamName("decided"))
        let version = type(of: event).version
        return RecordedEvent(
            epoch: .first, position: Position(UInt64(revision) + 1), stream: new.stream, revision: Revision(UInt64(revision)),
            type: new.type, payload: new.payload, metadata: new.metadata ?? [], id: try EventID("given-\(revision)"), time: .now,
            born: version,
            version: version, part: 0)
    }
}

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
