internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// A thread that keeps a node at the end of its cluster log while the store is open: asks often where frames come, seldom where none do.
final class FrameFollower: Sendable {
    private static let shortest = 5
    private static let longest = 100
    private static let afterTrouble = 1_000
    /// Most programs that open a store for one append have closed it by then.
    private static let first = 50
    private static let askInterval = Duration.seconds(1)
    private static let reportInterval = Duration.seconds(1)
    private static let reportNowInterval = Duration.seconds(5)
    /// A node says so often that it is there.
    private static let sightInterval = Duration.seconds(10)

    private let membership: Membership
    private let source: any SequencerSource
    private let committer: Committer
    private let context: LogContext
    private let isEnding = Monitor(false)
    private let isRunning = Monitor(false)
    private let noted = Monitor<(error: EvstoreError, since: ContinuousClock.Instant)?>(nil)

    /// Nil where the store belongs to no cluster log, or this program has no way to it.
    init?(_ context: LogContext, _ committer: Committer) {
        guard let membership = context.membership, let source = context.options.sequencing else { return nil }
        (self.membership, self.source, self.committer, self.context) = (membership, source, committer, context)
    }

    /// Why the cluster log can't be followed, and since when.
    var trouble: (error: EvstoreError, since: ContinuousClock.Instant)? { noted.withLock { $0 } }

    func start() throws {
        isRunning.change { $0 = true }
        _ = try WorkerThread.start("evstore-frames") {
            self.run()
            self.isRunning.change { $0 = false }
        }
    }

    /// Tells it to stop.
    func stop() { isEnding.change { $0 = true } }

    /// Stops it; returns when its thread has ended.
    func end() {
        stop()
        isRunning.wait(until: { !$0 }, { _ in })
    }

    /// Says how far this node is, by a connection of its own. Nothing depends on it.
    func reportNow() {
        do {
            try source.sequencer(of: membership, at: context.path).report(now().report, by: .now + Self.reportNowInterval)
        } catch { context.logger.warning("telling the cluster log how far this node is: \(error)") }
    }

    private func run() {
        var sequencer: (any Sequencer)?
        var pause = Self.first
        var passed = Position(.max)
        var reported: (report: NodeReport, at: ContinuousClock.Instant)?
        while !isEnding.wait(milliseconds: pause, until: { $0 }) {
            do {
                let asked = try sequencer ?? source.sequencer(of: membership, at: context.path)
                sequencer = asked
                var now = try now()
                let isEnd = try asked.isEnd(now.end, by: .now + Self.askInterval)
                let before = now.end
                now = try self.now()
                if isEnd, now.end == before { try now.node?.requireNoMore(than: now.report.position) }
                if isEnd || now.end != before {
                    // Where this node has added or taken in frames meanwhile, its own commits keep it at the end.
                    pause = min(pause * 2, Self.longest)
                } else {
                    try committer.takeIn(within: Self.askInterval * 2)
                    now = try self.now()
                    pause = Self.shortest
                }
                noted.withLock { $0 = nil }
                let age = reported.map { $0.at.duration(to: .now) } ?? Self.sightInterval
                if age >= Self.sightInterval || age >= Self.reportInterval && reported?.report != now.report {
                    try asked.report(now.report, by: .now + Self.askInterval)
                    reported = (now.report, .now)
                }
            } catch {
                let error = storeError(error, context.path, doing: "following the cluster log")
                // A long way is gone in parts.
                let position = lastPosition
                defer { passed = position }
                if position > passed {
                    pause = Self.shortest
                    continue
                }
                let isNew = noted.withLock { noted in
                    defer { noted = (error, noted?.since ?? .now) }
                    return noted?.error != error
                }
                if isNew { context.logger.warning("following the cluster log: \(error.message)") }
                pause = Self.afterTrouble
            }
        }
        do {
            // How far it is stays true while nobody has the node open.
            guard let sequencer, trouble == nil, let reported, try now().report != reported.report else { return }
            try sequencer.report(now().report, by: .now + Self.askInterval)
        } catch { context.logger.debug("telling the cluster log of the node's end: \(error)") }
    }

    private var lastPosition: Position {
        do { return try now().report.position } catch { return .start }
    }

    private func now() throws -> (node: StateRows.Node?, end: FrameEnd, report: NodeReport) {
        try context.access.environment.read { try NodeReport.now(membership, $0, context.access) }
    }
}

extension NodeReport {
    /// What a node has to say of itself, with its row.
    static func now(
        _ membership: Membership, _ transaction: borrowing ReadTransaction, _ access: LogAccess
    ) throws -> (node: StateRows.Node?, end: FrameEnd, report: NodeReport) {
        let node = try StateRows.node(transaction, access.tables)
        let end = node?.end ?? .start
        let live = try StateRows.numbers(transaction, access.tables).stamp.live
        let nodes = try Rows.all(NodeRow.prefix, transaction, access.tables[.notes]).compactMap { NodeRow($0.key, $0.value) }
        // Another store may have taken this one's place.
        let isMember = nodes.contains { $0.name == membership.node && $0.incarnation == membership.incarnation }
        let position = try Blocks.last(transaction, access)
        return (node, end, NodeReport(live: live, position: position, frame: end.number, nodes: isMember ? nodes.map(\.name) : []))
    }
}
