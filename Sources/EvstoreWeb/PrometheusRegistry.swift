#if Service
    internal import Foundation
    public import Metrics
    internal import Synchronization

    /// Metrics as text in the exposition format 0.0.4 of Prometheus: counters, gauges, and timers as histograms of seconds.
    ///
    /// For programs without a metrics backend of their own; the command line's `serve` is one.
    public final class PrometheusRegistry: MetricsFactory {
        private struct Key: Hashable {
            var label: String
            /// The labels as they appear in the text: `{a="b"}`, or nothing.
            var labels: String
        }

        private enum Kind: String { case counter, gauge, histogram }

        private struct Series {
            var kind: Kind
            var value = 0.0
            /// For a histogram: the number of observations up to each bound, and of all observations.
            var buckets = [UInt64](repeating: 0, count: PrometheusRegistry.bounds.count)
            var count: UInt64 = 0

            mutating func observe(_ value: Double) {
                self.value += value
                count += 1
                for (index, bound) in PrometheusRegistry.bounds.enumerated() where value <= bound { buckets[index] += 1 }
            }
        }

        /// The bounds of the histogram's buckets in seconds.
        fileprivate static let bounds = [0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]

        private let series = Mutex<[Key: Series]>([:])
        private let help: [String: String]

        /// - Parameter help: the descriptions of metrics by name, without the `_total` of counters: `StoreMetrics.help` for those of a
        ///   store.
        public init(help: [String: String] = [:]) { self.help = help }

        /// All series, by name.
        public var text: String {
            let all = series.withLock { $0 }
            var lines: [String] = []
            for (label, group) in Dictionary(grouping: all, by: \.key.label).sorted(by: { $0.key < $1.key }) {
                guard let kind = group.first?.value.kind else { continue }
                let name = kind == .counter && label.hasSuffix("_total") ? String(label.dropLast("_total".count)) : label
                // Quotes need no escape in this line.
                if let words = help[name] {
                    lines.append("# HELP \(label) \(words.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))")
                }
                lines.append("# TYPE \(label) \(kind.rawValue)")
                for (key, series) in group.sorted(by: { $0.key.labels < $1.key.labels }) { lines += Self.lines(key, series) }
            }
            return lines.map { $0 + "\n" }.joined()
        }

        private static func lines(_ key: Key, _ series: Series) -> [String] {
            guard series.kind == .histogram else { return ["\(key.label)\(key.labels) \(number(series.value))"] }
            let inner = key.labels.isEmpty ? "" : key.labels.dropFirst().dropLast() + ","
            return zip(bounds, series.buckets).map { "\(key.label)_bucket{\(inner)le=\"\(number($0))\"} \($1)" } + [
                "\(key.label)_bucket{\(inner)le=\"+Inf\"} \(series.count)", "\(key.label)_sum\(key.labels) \(number(series.value))",
                "\(key.label)_count\(key.labels) \(series.count)",
            ]
        }

        private static func number(_ value: Double) -> String {
            value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
        }

        // MARK: Handlers

        private final class Handler: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
            private let registry: PrometheusRegistry
            private let key: Key
            private let kind: Kind

            init(_ registry: PrometheusRegistry, _ label: String, _ dimensions: [(String, String)], _ kind: Kind) {
                let labels = dimensions.sorted { $0.0 < $1.0 }.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
                key = Key(label: Self.name(label), labels: labels.isEmpty ? "" : "{\(labels)}")
                (self.registry, self.kind) = (registry, kind)
            }

            private static func name(_ text: String) -> String {
                String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
            }

            private static func escaped(_ text: String) -> String {
                text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            }

            func remove() { if kind == .gauge { registry.series.withLock { _ = $0.removeValue(forKey: key) } } }

            private func change(_ body: (inout Series) -> Void) {
                registry.series.withLock { body(&$0[key, default: Series(kind: kind)]) }
            }

            func increment(by amount: Int64) { change { $0.value += Double(amount) } }
            func increment(by amount: Double) { change { $0.value += amount } }
            func decrement(by amount: Double) { change { $0.value -= amount } }
            func reset() { change { $0 = Series(kind: kind) } }
            func set(_ value: Int64) { change { $0.value = Double(value) } }
            func set(_ value: Double) { change { $0.value = value } }
            func record(_ value: Int64) { record(Double(value)) }

            func record(_ value: Double) { change { kind == .histogram ? $0.observe(value) : ($0.value = value) } }

            func recordNanoseconds(_ duration: Int64) { change { $0.observe(Double(duration) / 1e9) } }
        }

        public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            Handler(self, label + (label.hasSuffix("_total") ? "" : "_total"), dimensions, .counter)
        }
        public func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
            Handler(self, label + (label.hasSuffix("_total") ? "" : "_total"), dimensions, .counter)
        }
        public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
            Handler(self, label, dimensions, .gauge)
        }
        public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            Handler(self, label, dimensions, aggregate ? .histogram : .gauge)
        }
        public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
            Handler(self, label, dimensions, .histogram)
        }

        // A counter stays once it was reported: a scraper would take its absence for a reset.
        public func destroyCounter(_ handler: any CounterHandler) {}
        public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
        public func destroyMeter(_ handler: any MeterHandler) { (handler as? Handler)?.remove() }
        public func destroyRecorder(_ handler: any RecorderHandler) { (handler as? Handler)?.remove() }
        public func destroyTimer(_ handler: any TimerHandler) {}
    }
#endif
