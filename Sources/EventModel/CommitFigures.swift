/// What a commit of this process has done, for metrics.
public struct CommitFigures: Hashable, Sendable {
    /// Appends that were made together, and the events of all of them.
    public var appends = 0
    public var events = 0
    /// From the beginning of the commit until its events were on the disk, the turn among processes included.
    public var seconds: Double
    /// How long the append that waited longest had waited before that.
    public var longestWaitSeconds = 0.0

    package init(seconds: Double) { self.seconds = seconds }
}
