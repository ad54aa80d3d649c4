internal import EventModel
internal import Migration

/// Where an import reads from.
public enum ImportSource: Sendable, Hashable {
    case file(String)
    /// An open descriptor, such as 0; not closed.
    case descriptor(Int32)
}

public struct ImportOptions: Sendable, Hashable {
    /// The input is one JSON document, and this pointer names the list of events in it; lines where nil.
    public var each: String?
    /// What is done with a line that is refused.
    public var onError: FailureRule
    /// Checks everything and appends nothing.
    public var dryRun: Bool
    /// What a line with an id that is in the store does where its content differs.
    public var sameID: SameID
    /// Appends also what an earlier import of the same input appended.
    public var again: Bool
    /// Takes events also into streams that their types' templates do not name; they are counted.
    public var takesAnyStream: Bool

    public init(
        each: String? = nil, onError: FailureRule = .stop, dryRun: Bool = false, sameID: SameID = .mustMatch, again: Bool = false,
        takesAnyStream: Bool = false
    ) {
        (self.each, self.onError, self.dryRun, self.sameID, self.again) = (each, onError, dryRun, sameID, again)
        self.takesAnyStream = takesAnyStream
    }
}

/// What an import works on, and how.
struct ImportRequest {
    let source: ImportSource
    let rules: AppendRules
    let options: ImportOptions
    let cancellation: Cancellation?
    let progress: Progress?
}

/// A line that was refused and why.
public struct RefusedLine: Hashable, Sendable {
    /// From 1; the number of the element where the input is a document.
    public var line: UInt64
    public var error: EvstoreError
}

public struct ImportReport: Hashable, Sendable {
    /// Lines that hold an event, refused ones included.
    public var read: UInt64 = 0
    /// Lines that were appended; those that would be, in a dry run.
    public var added: UInt64 = 0
    /// Lines that had been appended before.
    public var skipped: UInt64 = 0
    public var quarantined: UInt64 = 0
    /// The last position of the log.
    public var position: Position = .start
    /// Events whose stream is not the one that the type's template names: taken where `takesAnyStream` says so.
    public var streamMismatches: UInt64 = 0
    /// What adoption makes of the added lines that are from before versions existed; nil where none is.
    public var adoption: AdoptionReport?
    /// The first refused lines, at most `refusedMax`.
    public var refused: [RefusedLine] = []

    /// The first added lines that adoption does not take, at most `refusedMax`: they are kept as they came, and quarantined.
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
}
