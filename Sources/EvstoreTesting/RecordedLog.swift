public import Logging
internal import Synchronization

/// Keeps what was logged through its logger, one line per entry: `warning the message key=value …`.
public final class RecordedLog: Sendable {
    private let kept = Mutex<[String]>([])

    public init() {}

    public var lines: [String] { kept.withLock { $0 } }

    /// A logger that keeps entries of every level.
    public var logger: Logger {
        var logger = Logger(label: "recorded") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let words = [event.level.rawValue, event.message.description] + all.map { "\($0.key)=\($0.value)" }
            log.kept.withLock { $0.append(words.joined(separator: " ")) }
        }
    }
}
