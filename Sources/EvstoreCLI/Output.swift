internal import Bytes
internal import EventModel
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
        /// Why nothing can be written any more; nil while it can.
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

    /// Writes one line of a result for people.
    func line(_ text: String) throws { try put(Array(text.shown.utf8)) }

    /// Writes one line of a result for programs.
    func object(_ members: Members) throws { try put(members.json) }

    /// Writes a result: one object for programs, or lines for people. Where nobody reads it any more, the command goes on to its exit code,
    /// which says the outcome still.
    /// - Parameter isAside: whether it goes to standard error, because standard output is something else.
    func print(_ members: Members, isAside: Bool = false, @TextLines _ lines: () throws -> [String]) throws {
        do { try row(members, isAside: isAside, lines) } catch is OutputClosed {}
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

    /// Writes binary data for a file or a pipe.
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

    private static func write(_ bytes: RawSpan, _ collected: inout Collected) throws {
        do { try Descriptor.standardOutput.write(bytes) } catch {
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

    /// Writes one line for programs to standard error.
    func note(_ members: Members) { note(String(decoding: members.json, as: UTF8.self)) }

    /// Writes text that may have control sequences to standard error. A failed write is ignored: there is no other place to report it.
    func raw(_ text: String) {
        if !Descriptor.standardError.isStream { return }
        do { try Descriptor.standardError.write(Array(text.utf8).lent) } catch {}
    }
}
