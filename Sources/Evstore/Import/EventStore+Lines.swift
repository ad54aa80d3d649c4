internal import Bytes
public import EventModel

/// The events of some lines, and the conditions that the lines put on their streams.
public struct EventLines: Sendable, Hashable {
    public var events: [NewEvent]
    /// One condition for each line that has `expect`: the expected state of its stream before the append.
    public var conditions: [StreamCondition]
}

extension EventStore {
    /// Parses event lines (this product's or CloudEvents 1.0) into events to append, on the calling thread; empty lines are skipped.
    ///
    /// An event whose line names no stream gets the one that its type's template names.
    /// - Parameters:
    ///   - file: the name that an error gives for the source of the lines.
    ///   - version: the birth version of an event whose line names none; the working version where nil.
    /// - Throws: `EvstoreError.refusedLine` at the first line that is not an event, or has `expect`.
    public func events(
        ofLines text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> [NewEvent] {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source)).events
    }

    /// Parses event lines for one append, as `events(ofLines:)` does, with their conditions: a line may have `expect`, which is a revision,
    /// `"none"`, `"exists"` or `"any"`, and states the expected state of its stream before the append.
    ///
    /// Blocks the calling thread while it parses the lines, some microseconds each.
    public func eventLines(
        _ text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> EventLines {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source, takesExpectations: true))
    }

    private func parse(
        _ text: [UInt8], of file: String?, bornAt version: SchemaVersion?, _ form: LineForm
    ) throws(EvstoreError) -> EventLines {
        let (working, history) = (try effective(version), try evolving.current().history)
        var parser = EventLineParser(form)
        var lines = EventLines(events: [], conditions: [])
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            do {
                var parsed = try parser.parse(Array(line).lent)
                try parsed.nameStream(by: history, bornAt: working)
                parsed.event.version = parsed.event.version ?? version
                lines.events.append(parsed.event)
                if let expectation = parsed.expectation {
                    lines.conditions.append(StreamCondition(parsed.event.stream, expectation))
                }
            } catch { throw .refusedLine(UInt64(index) + 1, file: file, error) }
        }
        return lines
    }
}
