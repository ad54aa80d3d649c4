#if Service
    import Evstore
    internal import Foundation
    internal import Instrumentation
    internal import ServiceContextModule
    internal import Tracing

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
