#if Service
    public import Evstore
    internal import Foundation
    internal import Instrumentation
    internal import ServiceContextModule
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
            _ events: [NewEvent], conditions: [StreamCondition] = [], unless queries: [AppendCondition] = [],
            sameID: SameID = .mustMatch
        ) async throws -> AppendReceipt {
            try await withSpan("evstore.append", ofKind: .producer) { span in
                span.attributes["evstore.events"] = events.count
                let traced = events.map { StoreTracing.carrying(span.context, $0) }
                let receipt = try await store.append(traced, conditions: conditions, unless: queries, sameID: sameID)
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
            try await append(EventStore.list(of: events, to: stream, metadata, id), conditions: [StreamCondition(stream, expectation)])
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

    /// Stores a trace in the metadata of an event, as members whose names the propagation in use defines.
    enum StoreTracing {
        private struct Carrier: Injector, Extractor {
            func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
            func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        }

        /// The event with the trace in its metadata; unchanged where it already has one, or nothing is traced.
        static func carrying(_ context: ServiceContext, _ event: NewEvent) -> NewEvent {
            var carrier: [String: String] = [:]
            InstrumentationSystem.instrument.inject(context, into: &carrier, using: Carrier())
            let metadata = event.metadata ?? Array("{}".utf8)
            let (object, members): ([String: Any], Data)
            do {
                guard let parsed = try JSONSerialization.jsonObject(with: Data(metadata)) as? [String: Any] else { return event }
                let added = carrier.filter { parsed[$0.key] == nil }
                if added.isEmpty { return event }
                object = parsed
                members = try JSONSerialization.data(withJSONObject: added, options: [.sortedKeys, .withoutEscapingSlashes]).dropLast()
            } catch {
                // The append reports the invalid metadata.
                return event
            }
            // Existing members keep their text: numbers keep their digits.
            var event = event
            event.metadata = members + (object.isEmpty ? [] : [UInt8(ascii: ",")]) + metadata.drop { $0 != UInt8(ascii: "{") }.dropFirst()
            return event
        }

        /// Runs a handler in a span that continues the trace of a single event, or links to the traces of several.
        static func handling(_ events: [RecordedEvent], by context: ConsumerContext, _ body: () async throws -> Void) async throws {
            let traces = events.map { trace(of: $0) }
            let parent = traces.count == 1 ? traces[0] : .topLevel
            try await withSpan("evstore.consume", context: parent, ofKind: .consumer) { span in
                span.attributes["evstore.consumer"] = context.consumer
                span.attributes["evstore.attempt"] = context.attempt
                span.attributes["evstore.position"] = Int(clamping: context.checkpoint.position.rawValue)
                if traces.count > 1 { for trace in traces { span.addLink(SpanLink(context: trace, attributes: [:])) } }
                try await body()
            }
        }

        private static func trace(of event: RecordedEvent) -> ServiceContext {
            var context = ServiceContext.topLevel
            if event.metadata.isEmpty { return context }
            let object: Any
            do { object = try JSONSerialization.jsonObject(with: Data(event.metadata)) } catch { return context }
            let carrier = (object as? [String: Any] ?? [:]).compactMapValues { $0 as? String }
            InstrumentationSystem.instrument.extract(carrier, into: &context, using: Carrier())
            return context
        }
    }
#endif
