internal import Bytes
package import EventLog
package import EventModel
package import EvstoreTesting
internal import TestSupport

extension Options {
    /// Small numbers, so that tests stay quick and reach the limits.
    package static func small(_ change: (inout Options) -> Void = { _ in }) -> Options {
        var options = Options()
        options.mapBytes = 1 << 28
        options.ballastBytes = 0
        options.appendDeadline = .seconds(300)
        change(&options)
        return options
    }
}

package func makeLog(_ directory: TemporaryDirectory, _ options: Options = .small()) throws -> EventLog {
    try EventLog.create(at: directory.store, options: options) { update in
        update.state.live = SchemaVersion(1)
        update.state.floor = SchemaVersion(1)
        update.state.top = SchemaVersion(1)
        update.state.head = SchemaVersion(1)
    }
}

package func event(
    _ stream: String, _ payload: String = "{}", type: String = "noted", born: UInt32 = 1, id: String? = nil, metadata: String = ""
) throws -> StoredEvent {
    StoredEvent(
        stream: try StreamName(stream), type: type, born: SchemaVersion(born), payload: Array(payload.utf8),
        metadata: Array(metadata.utf8), id: try id.map { try EventID($0) }, time: Timestamp(microseconds: 1_700_000_000_000_000))
}

extension EventLog {
    @discardableResult
    package func add(_ events: StoredEvent..., conditions: [StreamCondition] = []) async throws -> AppendOutcome {
        try await append(AppendRequest(events: events, conditions: conditions))
    }

    /// The payloads of a stream as text.
    package func payloads(_ stream: String, from: UInt64 = 0, limit: Int = 1_000, backwards: Bool = false) throws -> [String] {
        let name = try StreamName(stream)
        return try read { reader in
            var texts: [String] = []
            try reader.stream(name, from: Revision(from), limit: limit, backwards: backwards) {
                texts.append(text($0.payload))
                return true
            }
            return texts
        }
    }

    /// Every event as text, by position.
    package func everything(after: Position = .start) throws -> [String] {
        var texts: [String] = []
        try scan(after: after) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                texts.append(
                    "\(record.position) \(record.streamID) \(record.revision) \(name(ofType: record.type)) \(text(record.payload))")
            }
            return true
        }
        return texts
    }
}

package func text(_ bytes: RawSpan) -> String { String(decoding: (0 ..< bytes.byteCount).map { bytes.byte(at: $0) }, as: UTF8.self) }
