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

    public init(events: UInt64 = 0) { self.events = events }

    package mutating func add(_ other: AdoptionReport) {
        events += other.events
        kept += other.kept
        defaulted += other.defaulted
        notKept.merge(other.notKept, uniquingKeysWith: +)
        quarantined += other.quarantined
    }
}
