public import Evstore

extension Scenario {
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
        var found: Row?
        try await store.query(projection, at: version, key: key) { row in
            found = try row.decode(Row.self)
            return true
        }
        if found != expected {
            let (a, b) = (expected.map { "\($0)" } ?? "absent", found.map { "\($0)" } ?? "absent")
            throw ScenarioFailure(description: "\(projection) \(key) should be \(a) and is \(b)")
        }
        return self
    }
}
