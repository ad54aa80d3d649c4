/// Measurements of one commit by this process, for metrics.
public struct CommitFigures: Hashable, Sendable {
    /// The number of appends that were committed together, and of their events.
    public var appends = 0
    public var events = 0
    /// From the beginning of the commit until its events were on disk, including the wait for other processes.
    public var seconds: Double
    /// The part of `seconds` spent on writing and syncing the events: to the file ahead of the log, or by LMDB's commit.
    public var syncSeconds: Double
    /// How long the oldest append had waited before the commit began.
    public var longestWaitSeconds = 0.0

    package init(seconds: Double, syncSeconds: Double) { (self.seconds, self.syncSeconds) = (seconds, syncSeconds) }
}
