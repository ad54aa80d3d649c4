package import SchemaEvolution

/// The result of adopting data from before versions existed: it is stored unchanged, and read by the cases of `adopt:`.
public struct AdoptionReport: Hashable, Sendable {
    /// Events of version 0.
    public var events: UInt64
    /// Members that are kept, under their own or another name.
    public var kept: UInt64 = 0
    /// Members that were missing and got a default.
    public var defaulted: UInt64 = 0
    /// How many times each member, by its pointer, is not kept.
    public var notKept: [String: UInt64] = [:]
    /// Events that fit no case, or whose members do not fit: they have no image, and are listed in the quarantine.
    public var quarantined: UInt64 = 0
    /// Events that are adopted and whose stream stays `$unknown`, since neither they nor a template name one.
    public var unnamed: UInt64 = 0
    /// The first lines of an import whose stream a template was to name and does not, at most `linesMax`; a plan lists none.
    public var unnamedLines: [UnnamedLine] = []

    public static let linesMax = 1_000

    public init(events: UInt64 = 0) { self.events = events }

    /// Reports one event that is adopted.
    package init(_ result: AdoptionResult) {
        (events, kept, defaulted) = (1, UInt64(result.counts.kept), UInt64(result.counts.defaulted))
        notKept = result.leftBehind.mapValues { UInt64($0) }
    }

    package mutating func add(_ other: AdoptionReport) {
        events += other.events
        kept += other.kept
        defaulted += other.defaulted
        notKept.merge(other.notKept, uniquingKeysWith: +)
        quarantined += other.quarantined
        unnamed += other.unnamed
        unnamedLines += other.unnamedLines.prefix(max(0, Self.linesMax - unnamedLines.count))
    }
}

/// A line that is adopted and whose stream stays `$unknown`, since the template does not name one.
public struct UnnamedLine: Hashable, Sendable {
    /// The number of the line, or of the element of a document, from 1.
    public var line: UInt64
    /// The type as which it is adopted.
    public var type: String
    /// A pointer to the member that the template needs.
    public var pointer: String
    /// What is wrong with the member: `should be …, found …`.
    public var reason: String

    package init(line: UInt64, type: String, pointer: String, reason: String) {
        (self.line, self.type, self.pointer, self.reason) = (line, type, pointer, reason)
    }
}
