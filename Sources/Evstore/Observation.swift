public import EventModel
internal import Projections

/// What a query gives now, and then what it gives after each change, as long as somebody asks; made by `EventStore.observe`.
///
/// The first value comes at once. Each later one differs from the one before it; of several changes that come quickly one after the other
/// only the last may be seen. Changes count by whichever process they are made, and so do flips and rollbacks. Nothing is held between two
/// values, and nothing is read while nobody asks for the next; whoever asks has the query made after each commit, of whatever stream, and with
/// each slow poll (`Options.pollInterval`).
public struct Observation<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value
    public typealias Failure = EvstoreError

    let store: EventStore
    /// Asks again, and makes a value where what it reads is not as it was.
    let look: @Sendable (_ before: ObservedRows?) async throws(EvstoreError) -> (rows: ObservedRows, value: Value)?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let observation: Observation
        private var rows: ObservedRows?
        /// The end of the log before the last look; nil before the first.
        private var seen: Position?
        private var hasFailed = false

        init(_ observation: Observation) { self.observation = observation }

        /// The next value; nil where the task was cancelled, or after an error.
        /// - Throws: `EvstoreError`: all that the query throws, behind the first value but for `deadlinePassed` and `migrationInProgress`, which pass.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> Value? {
            if hasFailed { return nil }
            do throws(EvstoreError) {
                while !Task.isCancelled {
                    // A flip moves no end of the log: it is met at the latest with the slow poll.
                    if let seen { try await observation.store.wait(after: seen) }
                    if Task.isCancelled { return nil }
                    // Order: the end before the look, so that what comes meanwhile is looked at again.
                    seen = try observation.store.last().position
                    let new: (rows: ObservedRows, value: Value)?
                    do { new = try await observation.look(rows) } catch {
                        if rows != nil, error.passes { continue }
                        throw error
                    }
                    guard let new else { continue }
                    rows = new.rows
                    return new.value
                }
                return nil
            } catch {
                // Whatever a query that is cancelled says of it.
                if Task.isCancelled { return nil }
                hasFailed = true
                throw error
            }
        }

        public mutating func next() async throws(EvstoreError) -> Value? { try await next(isolation: nil) }
    }
}

/// The rows of a look, by which the next tells whether anything has changed.
struct ObservedRows: Sendable, Equatable {
    var rows: [ReadModelRow]
    /// Whether there were more.
    var isCut = false
}

extension EventStore {
    /// The row of a key, nil where there is none: now, and after each change of it.
    ///
    ///     for try await order in store.observe("orders", as: Order.self, key: "5") { show(order) }
    ///
    /// Cancelling the task ends the sequence.
    /// - Parameter version: at which the read model is read, whatever is live; where nil the working one, which follows flips and rollbacks
    ///   where the store was opened without one.
    public func observe(_ projection: String, at version: SchemaVersion? = nil, key: String) -> Observation<ReadModelRow?> {
        Observation(store: self) { [self] before throws(EvstoreError) in
            let row = try await query(projection, at: version, key: key)
            let rows = ObservedRows(rows: row.map { [$0] } ?? [])
            return rows == before ? nil : (rows, row)
        }
    }

    /// The row of a key as a Swift value; else as the other `observe`.
    /// - Throws: `EvstoreError.invalidRow`, too, where the type can't read the row.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, key: String
    ) -> Observation<Value?> {
        observe(projection, at: version, key: key).mapping { row throws(EvstoreError) in
            if let row { try row.value(of: projection, as: type) } else { nil }
        }
    }

    /// The rows that `query` gives for a range of keys: now, and after each change among them.
    public func observe(
        _ projection: String, at version: SchemaVersion? = nil, prefix: String? = nil, from: String? = nil, to: String? = nil,
        backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<ReadModelRow>> {
        Observation(store: self) { [self] before throws(EvstoreError) in
            let page = try await query(projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit)
            return page.observed == before ? nil : (page.observed, page)
        }
    }

    /// The rows of a range of keys as Swift values; else as the other `observe`.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, prefix: String? = nil, from: String? = nil,
        to: String? = nil, backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<TypedRow<Value>>> {
        observe(projection, at: version, prefix: prefix, from: from, to: to, backwards: backwards, limit: limit)
            .mapping { page throws(EvstoreError) in try page.typed(projection, as: type) }
    }

    /// The rows that `query` gives in the order of an index: now, and after each change among them.
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

    /// The rows in the order of an index as Swift values; else as the other `observe`.
    public func observe<Value: Decodable & Sendable>(
        _ projection: String, at version: SchemaVersion? = nil, as type: Value.Type, index: String, equals values: [IndexValue] = [],
        from: IndexValue? = nil, to: IndexValue? = nil, backwards: Bool = false, limit: Int = 1_000
    ) -> Observation<QueryPage<TypedRow<Value>>> {
        observe(projection, at: version, index: index, equals: values, from: from, to: to, backwards: backwards, limit: limit)
            .mapping { page throws(EvstoreError) in try page.typed(projection, as: type) }
    }
}

extension Observation {
    /// The observation with each value made into something else.
    fileprivate func mapping<New: Sendable>(_ map: @escaping @Sendable (Value) throws(EvstoreError) -> New) -> Observation<New> {
        Observation<New>(store: store) { [look] before throws(EvstoreError) in
            guard let found = try await look(before) else { return nil }
            return (found.rows, try map(found.value))
        }
    }
}

extension QueryPage<ReadModelRow> {
    fileprivate var observed: ObservedRows { ObservedRows(rows: rows, isCut: next != nil) }
}

extension EvstoreError {
    /// Whether others hold the read model, and will not for ever.
    fileprivate var passes: Bool {
        switch self {
        case .deadlinePassed, .migrationInProgress: true
        default: false
        }
    }
}
