internal import EventModel
internal import Migration

/// Where an import reads from.
public enum ImportSource: Sendable, Hashable {
    case file(String)
    /// An open file descriptor, such as 0 for standard input; the import does not close it.
    case descriptor(Int32)
}

/// How an import treats its lines.
public struct ImportOptions: Sendable, Hashable {
    /// A JSON pointer to the list of events, where the input is one JSON document; nil where it is lines.
    public var each: String?
    /// Whether a line that is refused stops the import or is listed.
    public var onError: FailureRule
    /// Checks everything and appends nothing.
    public var dryRun: Bool
    /// Whether a line whose id is in the store is refused where its content differs.
    public var sameID: SameID
    /// Whether to append lines again that an earlier import of the same input has appended.
    public var again: Bool
    /// Whether to append events to streams that their types' templates do not name; the report counts them.
    public var takesAnyStream: Bool

    public init(
        each: String? = nil, onError: FailureRule = .stop, dryRun: Bool = false, sameID: SameID = .mustMatch, again: Bool = false,
        takesAnyStream: Bool = false
    ) {
        (self.each, self.onError, self.dryRun, self.sameID, self.again) = (each, onError, dryRun, sameID, again)
        self.takesAnyStream = takesAnyStream
    }
}

/// The input of an import, and how to import it.
struct ImportRequest {
    let source: ImportSource
    let rules: AppendRules
    let options: ImportOptions
    let job: Job
}

/// A line that was refused and why.
public struct RefusedLine: Hashable, Sendable {
    /// The number of the line, from 1.
    public var line: UInt64
    /// The number of the element that begins in this line, from 1, where the input is a document.
    public var element: UInt64?
    /// Why it was refused.
    public var error: EvstoreError
}

/// What an import did.
public struct ImportReport: Hashable, Sendable {
    /// Lines that hold an event, refused ones included.
    public var read: UInt64 = 0
    /// Lines that were appended, or in a dry run would be.
    public var added: UInt64 = 0
    /// Lines that are in the store already: an earlier import appended them, or their id is there.
    public var skipped: UInt64 = 0
    /// The part of `skipped` whose id is in the store, or in an earlier line.
    public var repeated: UInt64 = 0
    /// Lines that an earlier import refused and left out: they were checked again, and are among the added, skipped or refused ones.
    public var leftOut: UInt64 = 0
    /// Lines that were refused and did not stop the import.
    public var quarantined: UInt64 = 0
    /// The last position of the log.
    public var position: Position = .start
    /// Events whose stream is not the one that the type's template names; they are appended where `takesAnyStream` is set.
    public var streamMismatches: UInt64 = 0
    /// What adoption makes of the added lines that are from before versions existed; nil where none is.
    public var adoption: AdoptionReport?
    /// The first refused lines, at most `refusedMax`.
    public var refused: [RefusedLine] = []

    /// The first added lines that no case of `adopt` fits, at most `refusedMax`: they are stored as they came, and quarantined.
    public var unadopted: [RefusedLine] = []

    public static let refusedMax = 1_000

    public init() {}

    mutating func add(_ chunk: CheckedChunk) {
        added += chunk.plain + UInt64(chunk.lines.count)
        for line in chunk.lines {
            guard let adopted = line.adopted else { continue }
            adoption = adoption ?? AdoptionReport()
            adoption?.add(adopted.report)
            guard let failure = adopted.failure, unadopted.count < Self.refusedMax else { continue }
            unadopted.append(RefusedLine(line: line.line, error: failure))
        }
    }

    mutating func note(_ lines: [RefusedLine]) {
        quarantined += UInt64(lines.count)
        refused += lines.prefix(max(0, Self.refusedMax - refused.count))
    }

    /// Forgets what a check has counted, but for the refused lines, which are not read again.
    mutating func beginAgain() {
        (read, added, skipped, repeated, leftOut) = (0, 0, 0, 0, 0)
        (adoption, unadopted) = (nil, [])
    }
}
