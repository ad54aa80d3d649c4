public import EventModel
public import Migration

/// What a verification found.
public struct VerifyReport: Hashable, Sendable {
    /// No finding is an error.
    public var ok: Bool
    public var findings: [Finding]
    /// How often each law was tried, where they were asked for.
    public var laws: [LawCount]
    public var events: UInt64
    /// How often each op was tried, in the order of the files.
    public var exercised: [OpCount] = []
    /// Ops that no event went through, where the laws were asked for.
    public var notExercised: [String] = []
    /// What made the events that were not in the log; nil where the laws were not asked for.
    public var seed: UInt64?
    public var cases = LawCases()
    /// What the log's events lose on their way to the live version, and what newer ones have that it does not show.
    public var loss: [PlannedLoss] = []
    /// The new head, where a key was given and no finding is an error.
    public var head: SignedHead?
    /// How the store compares with the heads that were given; nil where none were.
    public var since: SinceReport?
}

/// How a store compares with a head that was signed before.
public struct SinceReport: Hashable, Sendable {
    public var position: Position
    public var epoch: Epoch
    public var time: Timestamp
    public var key: PublicKey
    /// Whether the key is one that the caller has named.
    public var isTrusted: Bool
    /// Whether the log up to the position, and the versions, definitions and keys as far as they may not change, are as they were signed.
    public var holds: Bool
    /// How many heads there were in the series; the last is the one that was compared.
    public var heads: Int = 1
}

extension VerifyReport {
    /// Adds the results of trying the laws.
    mutating func add(_ proved: LawReport) {
        (laws, exercised, notExercised, cases) = (proved.laws, proved.exercised, proved.notExercised, proved.cases)
        (seed, loss) = (proved.seed, proved.loss)
        findings += proved.findings
    }
}
