#if Service
    public import Evstore
    internal import Instrumentation
    internal import Synchronization
    internal import Tracing

    /// A store whose calls are spans. An event that is appended through it carries the trace in its metadata (`traceparent`, as in W3C
    /// Trace Context), so that the trace continues where a `ConsumerService` handles it.
    public struct TracedStore: Sendable {
        public let store: EventStore

        public init(_ store: EventStore) { self.store = store }

        /// Appends as `EventStore.append`, in a span of the kind producer.
        @discardableResult
        public func append(
            _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch
        ) async throws -> AppendReceipt {
            try await withSpan("evstore.append", ofKind: .producer) { span in
                span.attributes["evstore.events"] = events.count
                let traced = events.map { StoreTracing.carrying(span.context, $0) }
                let receipt = try await store.append(traced, conditions: conditions, sameID: sameID)
                span.attributes["evstore.position"] = Int(clamping: receipt.position.rawValue)
                span.attributes["evstore.duplicate"] = receipt.duplicate
                return receipt
            }
        }

        /// Appends typed events to one stream, in a span.
        @discardableResult
        public func append(
            _ events: [any Event], to stream: StreamName, expecting expectation: Expectation, metadata: [UInt8]? = nil, id: EventID? = nil
        ) async throws -> AppendReceipt {
            var list: [NewEvent] = []
            for event in events { list.append(try Self.new(event, to: stream, metadata, list.isEmpty ? id : nil)) }
            return try await append(list, conditions: [StreamCondition(stream, expectation)])
        }

        private static func new<E: Event>(_ event: E, to stream: StreamName, _ metadata: [UInt8]?, _ id: EventID?) throws -> NewEvent {
            try NewEvent(event, to: stream, metadata: metadata, id: id)
        }

        /// Reads the events of a stream, in a span.
        public func read(_ stream: StreamName, at version: SchemaVersion? = nil, limit: Int = 1_000) throws -> [RecordedEvent] {
            try withSpan("evstore.read", ofKind: .client) { span in
                let events = try store.read(stream, at: version, limit: limit)
                span.attributes["evstore.events"] = events.count
                return events
            }
        }

        /// Migrates in a span whose events are the migration's steps; the flip is a span within it, which covers the time in which nobody
        /// else could write.
        @discardableResult
        public func migrate(to version: SchemaVersion, options: MigrationOptions = .init()) async throws -> MigrationReport {
            try await withSpan("evstore.replay", ofKind: .internal) { span in
                let steps = Steps(span)
                let report = try await store.migrate(to: version, options: options, progress: steps.take)
                span.attributes["evstore.from"] = report.from.number
                span.attributes["evstore.to"] = report.to.number
                span.attributes["evstore.events"] = Int(clamping: report.events)
                if let pause = report.flipPause { flip(from: report.flipBegan, pause, to: report.to, span) }
                return report
            }
        }

        /// Rolls back in a span whose events are the rollback's steps; the flip is a span within it.
        @discardableResult
        public func rollback(to version: SchemaVersion? = nil) async throws -> RollbackReport {
            try await withSpan("evstore.rollback", ofKind: .internal) { span in
                let report = try await store.rollback(to: version, progress: Steps(span).take)
                span.attributes["evstore.from"] = report.from.number
                span.attributes["evstore.to"] = report.to.number
                flip(from: report.flipBegan, report.flipPause, to: report.to, span)
                return report
            }
        }

        /// Records the span of the flip, whose times are known only afterwards.
        private func flip(from began: Timestamp?, _ pause: Duration, to version: SchemaVersion, _ span: any Span) {
            guard let began else { return }
            let from = UInt64(clamping: began.microseconds).multipliedReportingOverflow(by: 1_000).partialValue
            let flip = startSpan("evstore.flip", context: span.context, ofKind: .internal, at: Moment(nanosecondsSinceEpoch: from))
            flip.attributes["evstore.to"] = version.number
            flip.end(at: Moment(nanosecondsSinceEpoch: from &+ UInt64(clamping: nearest(pause / .nanoseconds(1)))))
        }

        private struct Moment: TracerInstant {
            let nanosecondsSinceEpoch: UInt64

            static func < (one: Moment, other: Moment) -> Bool { one.nanosecondsSinceEpoch < other.nanosecondsSinceEpoch }
        }

        /// Adds each step of long work to its span as an event, once; the flip gets a span of its own instead.
        private final class Steps: Sendable {
            private let span: any Span
            private let last = Mutex("")

            init(_ span: any Span) { self.span = span }

            func take(_ event: ProgressEvent) {
                let isNew = last.withLock { last in
                    defer { last = event.step }
                    return last != event.step && event.step != "flip"
                }
                if isNew { span.addEvent(SpanEvent(name: event.step)) }
            }
        }
    }
#endif
