internal import Bytes
internal import EventModel
internal import Evstore
internal import FoundationEssentials
internal import Platform
internal import Synchronization

/// Thrown where the reader of the results has closed the pipe (`| head`): what gives one row after the other ends without an error.
struct OutputClosed: Error {}

/// Prints results to standard output, and everything else to standard error. Results are collected into large writes; payloads and names
/// are escaped before they reach a terminal.
final class Output: Sendable {
    /// Whether results and errors are JSON objects.
    let json: Bool
    let resultsOnTerminal = Descriptor.standardOutput.isTerminal
    let notesOnTerminal = Descriptor.standardError.isTerminal
    /// Whether notes may be coloured: on a terminal, unless NO_COLOR (no-color.org) is set to anything.
    let coloured: Bool
    private let collected = Mutex(Collected())

    private struct Collected: ~Copyable {
        var bytes = ByteBuffer(capacity: Output.writeBytes + 4_096)
        var failure: (any Error)?
    }

    private static let writeBytes = 64 << 10

    init(json: Bool) {
        self.json = json
        if !Descriptor.standardOutput.isStream {
            collected.withLock { $0.failure = EvstoreError.ioFailure(doing: "writing the results", reason: "standard output is closed") }
        }
        let environment = ProcessInfo.processInfo.environment
        coloured = notesOnTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func line(_ text: String) throws { try put(Array(text.shown.utf8)) }

    func object(_ members: Members) throws { try put(members.json) }

    /// Writes the result of work that is done: one object for programs, or lines for people. Where nobody reads it any more, the command
    /// goes on to its exit code, which says the outcome still.
    /// - Parameter isAside: whether it goes to standard error, because standard output is something else.
    /// - Throws: `UnprintedResult` where it can't be written.
    func print(_ members: Members, isAside: Bool = false, @TextLines _ lines: () throws -> [String]) throws {
        do {
            try row(members, isAside: isAside, lines)
            if !isAside { try flush() }
        } catch is OutputClosed {} catch {
            throw try UnprintedResult(json ? [String(decoding: members.json, as: UTF8.self)] : lines(), because: error)
        }
    }

    func print(_ report: some Report, isAside: Bool = false) throws { try print(report.members, isAside: isAside) { report.lines } }

    /// Writes one of many results: where nobody reads them any more, the command ends.
    func row(_ members: Members, isAside: Bool = false, @TextLines _ lines: () throws -> [String]) throws {
        if json { return try isAside ? note(members) : object(members) }
        for text in try lines() { try isAside ? note(text) : line(text) }
    }

    func row(_ report: some Report) throws { try row(report.members) { report.lines } }

    /// Writes one line of text; escapes it only where a terminal might act on it.
    func put(_ line: [UInt8]) throws {
        let shown = resultsOnTerminal ? Array(String(decoding: line, as: UTF8.self).shown.utf8) : line
        try collected.withLock { collected in
            if let failure = collected.failure { throw failure }
            collected.bytes.append(shown)
            collected.bytes.append(UInt8(ascii: "\n"))
            if collected.bytes.count >= Self.writeBytes || resultsOnTerminal { try Self.flush(&collected) }
        }
    }

    /// Writes many lines at once, each with its line feed, escaped like a single line.
    func put(lines: [UInt8]) throws {
        if resultsOnTerminal {
            for line in lines.split(separator: UInt8(ascii: "\n")) { try put(Array(line)) }
        } else {
            try put(raw: lines)
        }
    }

    func put(raw bytes: [UInt8]) throws {
        try collected.withLock { collected in
            if let failure = collected.failure { throw failure }
            try Self.flush(&collected)
            try Self.write(bytes.lent, &collected)
        }
    }

    /// Writes the collected bytes: before waiting, before a note that follows them, and at the end.
    func flush() throws { try collected.withLock { try Self.flush(&$0) } }

    private static func flush(_ collected: inout Collected) throws {
        if let failure = collected.failure, failure is OutputClosed || collected.bytes.count > 0 { throw failure }
        if collected.bytes.count == 0 { return }
        var bytes = ByteBuffer()
        swap(&bytes, &collected.bytes)
        defer {
            bytes.removeAll()
            swap(&bytes, &collected.bytes)
        }
        try write(bytes.bytes, &collected)
    }

    private struct Writes {
        var begun = 0
        /// When each of those that go on began, by its number.
        var current: [Int: Instant] = [:]
    }

    /// The writes of this process to standard output and standard error.
    private static let writes = Mutex(Writes())

    /// Whether a write has gone on for a second: nobody reads what is printed.
    static var isUnread: Bool {
        let latest = Instant.now + .seconds(-1)
        return writes.withLock { writes in writes.current.values.contains { $0 <= latest } }
    }

    private static func write(_ bytes: RawSpan, to stream: Descriptor) throws(SystemFailure) {
        let number = writes.withLock { writes in
            writes.begun += 1
            writes.current[writes.begun] = Instant.now
            return writes.begun
        }
        defer { writes.withLock { $0.current[number] = nil } }
        try stream.write(bytes)
    }

    private static func write(_ bytes: RawSpan, _ collected: inout Collected) throws {
        do { try write(bytes, to: .standardOutput) } catch {
            let failure: any Error =
                error == .brokenPipe ? OutputClosed() : EvstoreError.ioFailure(doing: "writing the results", reason: error.description)
            collected.failure = failure
            throw failure
        }
    }

    /// Writes one line for people to standard error, beside the results.
    func note(_ text: String) { raw(text.shown + "\n") }

    /// Writes a note that only people want: programs see it in the result.
    func remark(_ text: String) { if !json { note(text) } }

    func note(_ members: Members) { note(String(decoding: members.json, as: UTF8.self)) }

    /// Writes text that may have control sequences to standard error. A failed write is ignored: there is no other place to report it.
    func raw(_ text: String) {
        if !Descriptor.standardError.isStream { return }
        do { try Self.write(Array(text.utf8).lent, to: .standardError) } catch {}
    }
}

/// Prints the lines of a listing while the store lends them one by one. An error of printing, or an interruption, ends the listing and is
/// thrown after it, since it is not an error of the store.
struct Lines {
    private let session: Session
    private var failure: (any Error)?

    init(_ session: Session) { self.session = session }

    /// Prints one line and says whether the next one is wanted.
    mutating func next(_ print: (Output) throws -> Void) -> Bool {
        do {
            try session.interrupts.check()
            try print(session.output)
            return true
        } catch {
            failure = error
            return false
        }
    }

    func end() throws {
        if let failure { throw failure }
        try session.output.flush()
    }
}

/// Progress on standard error: a bar with rate and time left on a terminal, a line every five seconds
/// elsewhere, a JSON object a line for programs.
final class ProgressBar: Sendable {
    private enum Form { case bar, lines, objects, nothing }

    private struct Shown {
        var step = ""
        var began = Instant.now
        var last: Instant?
        var latest: ProgressEvent?
        var isDrawn = false
    }

    private let output: Output
    private let form: Form
    private let shown = Mutex(Shown())

    init(_ style: ProgressStyle, output: Output) {
        self.output = output
        form =
            switch style {
            case .jsonl: .objects
            case .none: .nothing
            case .auto: output.notesOnTerminal ? .bar : .lines
            }
    }

    /// Draws an event; called on the thread that does the work, and drops events that come too soon after another.
    func take(_ event: ProgressEvent) {
        // Events without numbers also appear in the results.
        let isWords = event.done == 0 && event.total == 0
        if form == .nothing || isWords && form != .objects { return }
        shown.withLock { shown in
            let now = Instant.now
            if shown.step != event.step {
                end(&shown)
                shown = Shown(step: event.step, began: now)
                // A step that is shorter than the interval prints no line.
                if form == .lines { shown.last = now }
            }
            shown.latest = event
            let isDone = event.total > 0 && event.done >= event.total
            if let last = shown.last, last.duration(to: now) < interval, !(isDone && form != .lines) { return }
            draw(event, &shown, at: now)
        }
    }

    /// Ends the line of the bar, so that its last state stays.
    func finish() { shown.withLock { end(&$0) } }

    private var interval: Duration {
        switch form {
        case .bar: .milliseconds(100)
        case .objects: .milliseconds(200)
        case .lines, .nothing: .seconds(5)
        }
    }

    private func draw(_ event: ProgressEvent, _ shown: inout Shown, at now: Instant) {
        shown.last = now
        shown.isDrawn = true
        let seconds = shown.began.duration(to: now).inSeconds
        switch form {
        case .bar:
            let width = (Descriptor.standardError.columns ?? 100) - 1
            output.raw("\r" + Self.line(event, seconds: seconds, bar: true, width: width) + "\u{1b}[K")
        case .lines: output.note(Self.line(event, seconds: seconds, bar: false))
        case .objects:
            output.note([
                "step": event.step, "done": event.done, "total": event.total == 0 ? nil : event.total,
                "quarantined": event.quarantined, "seconds": seconds, "note": event.note,
            ])
        case .nothing: break
        }
    }

    private func end(_ shown: inout Shown) {
        if form == .bar, shown.isDrawn {
            if let latest = shown.latest { draw(latest, &shown, at: .now) }
            output.raw("\n")
        }
        shown.isDrawn = false
    }

    /// `replay     [##############------]  71 %  855,200 / 1,204,511   1.1 M/s   0.3 s left   0 quarantined`
    ///
    /// Parts that do not fit are left out as a whole, the last one first.
    static func line(_ event: ProgressEvent, seconds: Double, bar: Bool, width: Int = .max) -> String {
        var parts: [String] = []
        let perSecond = seconds > 0 ? Double(event.done) / seconds : 0
        if event.total > 0 {
            let share = min(1, Double(event.done) / Double(event.total))
            // Only a finished step shows 100 %.
            let percent = event.done < event.total ? min(99, nearest(share * 100)) : 100
            let filled = Int(share * 20)
            let drawn = bar ? "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled) + "]" : ""
            parts.append(drawn + String(percent).aligned(to: bar ? 4 : 3) + " %  \(grouped(event.done)) / \(grouped(event.total))")
        } else if event.done > 0 {
            parts.append(grouped(event.done))
        }
        if perSecond >= 1 {
            parts.append(rate(perSecond: perSecond))
            if event.total > event.done { parts.append(duration(seconds: Double(event.total - event.done) / perSecond) + " left") }
        }
        if event.total > 0 { parts.append("\(grouped(event.quarantined)) quarantined") }
        if !event.note.isEmpty { parts.append(event.note) }
        var line = event.step.shown.padded(to: 10)
        for (index, part) in parts.enumerated() {
            let more = (index == 0 ? " " : "   ") + part.shown
            if line.count + more.count > width { break }
            line += more
        }
        return String(line.prefix(width))
    }
}
