/// Measurements of one commit by this process, for metrics.
public struct CommitFigures: Hashable, Sendable {
    /// The number of appends that were committed together, and of their events.
    public var appends = 0
    public var events = 0
    /// From the beginning of the commit until its events were on disk, including the wait for other processes.
    public var duration: Duration
    /// The part of `duration` spent on writing and syncing the events: to the file ahead of the log, or by LMDB's commit.
    public var sync: Duration
    /// How long the oldest append had waited before the commit began.
    public var longestWait = Duration.zero

    package init(duration: Duration, sync: Duration) { (self.duration, self.sync) = (duration, sync) }
}
