internal import EventLog
internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// A thread that keeps a node at the end of its cluster log while the store is open. It asks often while frames come, less often while none
/// do, and about twice a second after none have come for a while.
final class FrameFollower: Sendable {
    private static let shortest = 5
    private static let longest = 100
    /// The longest pause after no frames have come for a while.
    private static let longestIdle = 500
    private static let idleAfter = Duration.seconds(5)
    private static let afterTrouble = 1_000
    /// By then most programs that open a store for a single append have closed it.
    private static let first = 50
    private static let askInterval = Duration.seconds(1)
    private static let reportInterval = Duration.seconds(1)
    private static let reportNowInterval = Duration.seconds(5)
    /// How often a node reports that it is there.
    private static let sightInterval = Duration.seconds(10)

    private let membership: ClusterMembership
    private let context: LogContext
    private let sequencer: @Sendable () throws -> PostgresSequencer
    private let fence: ServerFence
    private let takeIn: @Sendable (_ interval: Duration) throws -> Void
    private let isEnding = Monitor(false)
    private let isRunning = Monitor(false)
    private let opened = ContinuousClock.now

    /// - Parameters:
    ///   - sequencer: makes a sequencer for this thread.
    ///   - takeIn: takes in the missing frames, within an interval.
    init(
        _ membership: ClusterMembership, _ context: LogContext, _ fence: ServerFence,
        _ sequencer: @escaping @Sendable () throws -> PostgresSequencer,
        _ takeIn: @escaping @Sendable (_ interval: Duration) throws -> Void
    ) {
        (self.membership, self.context, self.fence, self.sequencer, self.takeIn) = (membership, context, fence, sequencer, takeIn)
    }

    private var noted: NodeHealth { context.nodeHealth }

    func start() throws {
        isRunning.change { $0 = true }
        _ = try WorkerThread.start("evstore-frames") {
            self.run()
            self.isRunning.change { $0 = false }
        }
    }

    /// Tells the thread to stop.
    /// - Parameter waiting: whether to return only when it has ended.
    func end(waiting: Bool) {
        isEnding.change { $0 = true }
        if waiting { isRunning.wait(until: { !$0 }, { _ in }) }
    }

    /// Reports how far this node is, over a connection of its own. Nothing depends on it.
    func reportNow() {
        do {
            try report(now().report, to: sequencer(), by: .now + Self.reportNowInterval)
        } catch { context.logger.warning("telling the cluster log how far this node is: \(error.advised)") }
    }

    /// Reports how far this node is. A handle that was just opened, such as a command's, does not take over from another directory.
    private func report(_ report: NodeReport, to sequencer: PostgresSequencer, by deadline: ContinuousClock.Instant) throws {
        let mayTakeOver = opened.duration(to: .now) > Self.sightInterval
        // Order: durable on this disk first, since frames that every node has are pruned.
        try context.access.makeDurable(at: context.path)
        let isNoted = try sequencer.report(report, mayTakeOver: mayTakeOver, by: deadline)
        if noted.note(hasTwin: !isNoted), !isNoted {
            context.logger.warning(
                "another directory speaks as the node \(membership.node): one of the two is a copy; close one, and join it anew")
        }
    }

    private func run() {
        var connected: PostgresSequencer?
        var pause = Self.first
        var passed = Position(.max)
        var lastCome = ContinuousClock.now
        var reported: (report: NodeReport, at: ContinuousClock.Instant)?
        while !isEnding.wait(milliseconds: pause, until: { $0 }) {
            do {
                if connected == nil, let warning = try ConnectionFile.warning(ConnectionFile.find(at: context.path)) {
                    context.logger.notice("the cluster log \(membership.log): \(warning)")
                }
                let asked = try connected ?? sequencer()
                connected = asked
                var now = try now()
                let isEnd = try asked.isEnd(now.end, by: .now + Self.askInterval)
                let before = now.end
                now = try self.now()
                if isEnd, now.end == before { try now.node?.requireNoMore(than: now.report.position) }
                if now.end != before || isEnd && fence.unsaved == nil {
                    // If this node has added or taken in frames meanwhile, its own commits keep it at the end.
                    let isIdle = lastCome.duration(to: .now) > Self.idleAfter
                    pause = min(pause * 2, isIdle ? Self.longestIdle : Self.longest)
                } else {
                    try takeIn(Self.askInterval * 2)
                    now = try self.now()
                    pause = Self.shortest
                }
                if now.end != before { lastCome = .now }
                noted.note(nil)
                let age = reported.map { $0.at.duration(to: .now) } ?? Self.sightInterval
                if age >= Self.sightInterval || age >= Self.reportInterval && reported?.report != now.report {
                    try report(now.report, to: asked, by: .now + Self.askInterval)
                    reported = (now.report, .now)
                }
            } catch {
                let error = storeError(error, context.path, doing: "following the cluster log")
                // If there is much to take in, it comes in several parts.
                let position = lastPosition
                defer { passed = position }
                if position > passed {
                    pause = Self.shortest
                    continue
                }
                if noted.note(error) { context.logger.warning("following the cluster log: \(error.advised)") }
                pause = Self.afterTrouble
            }
        }
        do {
            // A last report, which stays true while no process has the node open.
            guard let connected, noted.trouble == nil, let reported, try now().report != reported.report else { return }
            try report(now().report, to: connected, by: .now + Self.askInterval)
        } catch { context.logger.debug("telling the cluster log of the node's end: \(error.advised)") }
    }

    private var lastPosition: Position {
        do { return try now().report.position } catch { return .start }
    }

    private func now() throws -> (node: StateRows.Node?, end: ClusterLogEnd, report: NodeReport) {
        try context.access.environment.read { try NodeReport.now(membership, $0, context.access) }
    }
}
