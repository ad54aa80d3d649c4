public import EventModel
internal import Projections

/// The current result of a query, and then its result after each change, for as long as values are asked for; made by `EventStore.observe`.
///
/// The first value comes at once. Each later one differs from the one before it; of several quick changes only the last may be seen.
/// Changes by any process count, and so do flips and rollbacks. Between two values no transaction is held, only the rows of the last one.
/// Nothing is read until the next value is asked for; then the query runs after each commit, to whichever stream, and at each slow poll
/// (`Options.pollInterval`). <doc:Observing> says what this costs.
public struct Observation<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = EvstoreError

    let store: EventStore
    /// Runs the query, and makes a value where the rows differ from those before.
    let fetch: @Sendable (_ before: ObservedRows?) async throws(EvstoreError) -> (rows: ObservedRows, value: Value)?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let observation: Observation
        private var rows: ObservedRows?
        /// The end of the log before the last query; nil before the first.
        private var seen: Position?
        private var hasFailed = false

        init(_ observation: Observation) { self.observation = observation }

        /// The next value; nil where the task was cancelled, or after an error.
        /// - Throws: `EvstoreError`: all that the query throws. After the first value not `deadlinePassed` and `migrationInProgress`, which
        ///   are transient.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> Value? {
            if hasFailed { return nil }
            do throws(EvstoreError) {
                while !Task.isCancelled {
                    // A flip does not move the log's end: it is found at the latest by the slow poll.
                    if let seen { try await observation.store.wait(after: seen) }
                    if Task.isCancelled { return nil }
                    // Order: the end is read before the query runs, so that the next query covers what is appended meanwhile.
                    seen = try observation.store.last().position
                    let new: (rows: ObservedRows, value: Value)?
                    do { new = try await observation.fetch(rows) } catch {
                        if rows != nil, error.isTransient { continue }
                        throw error
                    }
                    guard let new else { continue }
                    rows = new.rows
                    return new.value
                }
                return nil
            } catch {
                // When the task is cancelled, the error of the query does not matter.
                if Task.isCancelled { return nil }
                hasFailed = true
                throw error
            }
        }

        public mutating func next() async throws(EvstoreError) -> Value? { try await next(isolation: nil) }
    }
}

/// The rows of one query, by which the next one determines whether anything has changed.
struct ObservedRows: Sendable, Equatable {
    var rows: [ReadModelRow]
    var isCut = false
}

extension EventStore {
    /// Observes the row of a key: its current value, nil where there is none, and then its value after each change.
    ///
    ///     for try await order in store.observe("orders", as: Order.self, key: "5") { show(order) }
    ///
    /// Cancelling the task ends the sequence.
    /// - Parameters:
    ///   - projection: the name of a projection that the version has; otherwise `unknownProjection` is thrown.
    ///   - version: the version at which the read model is read, from the floor to the top, whatever is live; nil is the working version.
    ///     On a handle opened without one, that follows flips and rollbacks.
    ///   - key: the key of the row, which need not be there yet.
    public func observe(_ projection: String, at version: SchemaVersion? = nil, key: String) -> Observation<ReadModelRow?> {
        Observation(store: self) { [self] before throws(EvstoreError) in
            let row = try await query(projection, at: version, key: key)
            let rows = ObservedRows(rows: row.map { [$0] } ?? [])
            return rows == before ? nil : (rows, row)
        }
    }

    /// Observes the row of a key as a Swift value; otherwise like the other `observe`.
    /// - Throws: `EvstoreError.invalidRow`, too, where the type can't read the row.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, key: String
    ) -> Observation<Value?> {
        observe(projection, at: version, key: key).mapping { row throws(EvstoreError) in
            if let row { try row.value(of: projection, as: type) } else { nil }
        }
    }

    /// Observes the rows that `query` gives for a range of keys: the current ones, and then the rows after each change among them.
    public func observe(
        _ projection: String, at version: SchemaVersion? = nil, prefix: String? = nil, from: String? = nil, to: String? = nil,
        backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<ReadModelRow>> {
        Observation(store: self) { [self] before throws(EvstoreError) in
            let page = try await query(projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit)
            return page.observed == before ? nil : (page.observed, page)
        }
    }

    /// Observes the rows of a range of keys as Swift values; otherwise like the other `observe`.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, prefix: String? = nil, from: String? = nil,
        to: String? = nil, backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<TypedRow<Value>>> {
        observe(projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit)
            .mapping { page throws(EvstoreError) in try page.typed(projection, as: type) }
    }

    /// Observes the rows that `query` gives in the order of an index: the current ones, and then the rows after each change among them.
    public func observe(
        _ projection: String, at version: SchemaVersion? = nil, index: String, equals values: [IndexValue] = [], from: IndexValue? = nil,
        to: IndexValue? = nil, backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<ReadModelRow>> {
        Observation(store: self) { [self] before throws(EvstoreError) in
            let page = try await query(
                projection, at: version, index: index, equals: values, from: from, to: to, backwards: backwards, limit: limit)
            return page.observed == before ? nil : (page.observed, page)
        }
    }

    /// Observes the rows in the order of an index as Swift values; otherwise like the other `observe`.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, index: String, equals values: [IndexValue] = [],
        from: IndexValue? = nil, to: IndexValue? = nil, backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<TypedRow<Value>>> {
        observe(projection, at: version, index: index, equals: values, from: from, to: to, backwards: backwards, limit: limit)
            .mapping { page throws(EvstoreError) in try page.typed(projection, as: type) }
    }
}

extension Observation {
    fileprivate func mapping<New: Sendable>(_ map: @escaping @Sendable (Value) throws(EvstoreError) -> New) -> Observation<New> {
        Observation<New>(store: store) { [fetch] before throws(EvstoreError) in
            guard let found = try await fetch(before) else { return nil }
            return (found.rows, try map(found.value))
        }
    }
}

extension QueryPage<ReadModelRow> {
    fileprivate var observed: ObservedRows { ObservedRows(rows: rows, isCut: next != nil) }
}

extension EvstoreError {
    /// Whether the error is transient: others hold the read model for a limited time.
    fileprivate var isTransient: Bool {
        switch self {
        case .deadlinePassed, .migrationInProgress: true
        default: false
        }
    }
}
