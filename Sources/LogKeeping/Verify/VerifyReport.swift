public import EventModel
public import Migration

/// The result of a verification.
public struct VerifyReport: Hashable, Sendable {
    /// Whether no finding is an error.
    public var ok: Bool
    public var findings: [Finding]
    /// How often each law was tried; empty unless laws were requested.
    public var laws: [LawCount]
    public var events: UInt64
    /// How often each op was tried, in the order of the files.
    public var exercised: [OpCount] = []
    /// Ops that no event went through; empty unless laws were requested.
    public var notExercised: [String] = []
    /// The seed of the made-up events; nil unless laws were requested.
    public var seed: UInt64?
    public var cases = LawCases()
    /// What the log's events lose on their way to the live version, and what newer events have that it does not show.
    public var loss: [PlannedLoss] = []
    /// The new head, if a key was given and no finding is an error.
    public var head: SignedHead?
    /// How the store compares with the given heads; nil where none were given.
    public var since: SinceReport?
}

/// How a store compares with an earlier signed head.
public struct SinceReport: Hashable, Sendable {
    public var position: Position
    public var epoch: Epoch
    public var time: Timestamp
    public var key: PublicKey
    /// Whether the caller has named the key as trusted.
    public var isTrusted: Bool
    /// Whether the log up to the position, and those versions, definitions and keys that may not change, are unchanged since signing.
    public var holds: Bool
    /// How many heads the series has; the last one was compared.
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
