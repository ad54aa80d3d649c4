/// What a commit of this process has done, for metrics.
public struct CommitFigures: Hashable, Sendable {
    /// Appends that were made together, and the events of all of them.
    public var appends = 0
    public var events = 0
    /// From the beginning of the commit until its events were on the disk, the turn among processes included.
    public var seconds: Double
    /// The part of `seconds` in which the events were written and synced: to the file ahead of the log, or by LMDB's commit.
    public var syncSeconds: Double
    /// How long the append that waited longest had waited before that.
    public var longestWaitSeconds = 0.0

    package init(seconds: Double, syncSeconds: Double) { (self.seconds, self.syncSeconds) = (seconds, syncSeconds) }
}
