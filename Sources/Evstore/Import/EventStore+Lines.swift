internal import Bytes
public import EventModel

/// The events of some lines, and the conditions that the lines put on their streams.
public struct EventLines: Sendable, Hashable {
    public var events: [NewEvent]
    /// One condition for each line that has `expect`: the expected state of its stream before the append.
    public var conditions: [StreamCondition]
    /// The name of the source of the lines, and the number of the line of each event and of each condition: for errors.
    let file: String?
    var numbers: [UInt64] = []
    var conditionNumbers: [UInt64] = []
}

extension EventStore {
    /// Parses event lines (this product's or CloudEvents 1.0) into events to append, on the calling thread; empty lines are skipped.
    ///
    /// An event whose line names no stream gets the one that its type's template names.
    /// - Parameters:
    ///   - text: UTF-8 with one JSON object on each line; the last line needs no line feed.
    ///   - file: the name that an error gives for the source of the lines.
    ///   - version: the birth version of an event whose line names none; the working version where nil.
    /// - Throws: `EvstoreError`: refusedLine at the first line that is not an event, or has `expect`; usage where the text is compressed or
    ///   not UTF-8.
    public func events(
        ofLines text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> [NewEvent] {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source)).events
    }

    /// Parses event lines for one append, as `events(ofLines:)` does, with their conditions: a line may have `expect`, which is a revision,
    /// `"none"`, `"exists"` or `"any"`, and states the expected state of its stream before the append.
    ///
    /// No two lines may give one id.
    ///
    /// Blocks the calling thread while it parses the lines, some microseconds each.
    /// - Throws: `EvstoreError`: refusedLine at the first line that is not an event, or gives an id again; usage as `events(ofLines:)`.
    public func eventLines(
        _ text: [UInt8], of file: String? = nil, bornAt version: SchemaVersion? = nil
    ) throws(EvstoreError) -> EventLines {
        try parse(text, of: file, bornAt: version, LineForm(options: options, source: source, takesExpectations: true))
    }

    /// Appends the events of lines together. Waits and throws as `append(_:conditions:sameID:)` does, but an error that one line causes is
    /// a `refusedLine` that names it.
    @discardableResult
    public func append(_ lines: EventLines, sameID: SameID = .mustMatch) async throws(EvstoreError) -> AppendReceipt {
        do throws(EvstoreError) { return try await append(lines.events, conditions: lines.conditions, sameID: sameID) } catch {
            guard let line = await line(of: error, in: lines) else { throw error }
            throw .refusedLine(line, file: lines.file, error)
        }
    }

    /// The line that causes the error of an append; nil where it is not one line's.
    private func line(of error: EvstoreError, in lines: EventLines) async -> UInt64? {
        var (index, numbers): (Int?, [UInt64]) = (nil, lines.numbers)
        switch error {
        case .idReused(let id, _, _): index = lines.events.firstIndex { $0.id == id }
        case .expectationFailed(let stream, let expected, _):
            index = lines.conditions.firstIndex { $0.stream == stream && $0.expectation == expected }
            numbers = lines.conditionNumbers
        default:
            do { _ = try await check(lines.events, lines.conditions, isFresh: true) } catch EvstoreError.refusedLine(let number, _, error) {
                index = Int(clamping: number) - 1
            } catch {
                // It is another error, and does not name the line of this one.
            }
        }
        return index.flatMap { numbers.indices.contains($0) ? numbers[$0] : nil }
    }

    private func parse(
        _ text: [UInt8], of file: String?, bornAt version: SchemaVersion?, _ form: LineForm
    ) throws(EvstoreError) -> EventLines {
        let (working, history) = (try effective(version), try evolving.current().history)
        var parser = EventLineParser(form)
        var lines = EventLines(events: [], conditions: [], file: file)
        var ids: [EventID: UInt64] = [:]
        let text = text.dropFirst(try TextBeginning.passedOver(text.lent, of: file ?? "the input"))
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            let number = UInt64(index) + 1
            do throws(EvstoreError) {
                var parsed = try parser.parse(Array(line).lent)
                try parsed.nameStream(by: history, bornAt: working)
                parsed.event.version = parsed.event.version ?? version
                if form.takesExpectations, let id = parsed.event.id {
                    if let first = ids[id] { throw .idReused(id: id, position: nil, line: first) }
                    ids[id] = number
                }
                lines.events.append(parsed.event)
                lines.numbers.append(number)
                if let expectation = parsed.expectation {
                    lines.conditions.append(StreamCondition(parsed.event.stream, expectation))
                    lines.conditionNumbers.append(number)
                }
            } catch { throw .refusedLine(number, file: file, error) }
        }
        return lines
    }
}
