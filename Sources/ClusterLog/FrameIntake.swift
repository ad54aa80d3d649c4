internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

struct FramePage: Sendable {
    var frames: [[UInt8]]
    /// Whether the cluster log had no further frames when it was asked.
    var isLast: Bool
}

/// The frames that a node lacks, page by page: if there are more, a thread fetches the next page while the caller takes one in.
final class FramePages {
    private let sequencer: PostgresSequencer
    private let patience: Duration
    /// Checks what frames register; nil where the caller does so in another way.
    let judge: CatalogueValidator?
    private var next: Fetch?

    /// - Parameter patience: how long a page may take if no deadline is given.
    init(_ sequencer: PostgresSequencer, patience: Duration = .seconds(5), judge: CatalogueValidator? = nil) {
        (self.sequencer, self.patience, self.judge) = (sequencer, patience, judge)
    }

    /// The frames after `end`, where the page before ended; see `PostgresSequencer.frames`.
    /// - Parameter isLast: whether the caller takes no further page, so that none is fetched ahead.
    func page(
        after end: ClusterLogEnd, at position: Position, by deadline: Instant? = nil, isLast: Bool = false
    ) throws -> FramePage {
        let deadline = deadline ?? .now + patience
        let fetched = next
        next = nil
        let page = try fetched.map { try $0.page() } ?? sequencer.frames(after: end, at: position, by: deadline)
        if !page.isLast, !isLast, let last = page.frames.last.flatMap({ ClusterFrame.Head($0) }) {
            next = try Fetch(sequencer, after: last.end, at: last.last, by: max(deadline, .now + patience))
        }
        return page
    }

    /// Returns when no thread uses the sequencer any more. A caller that stops before the last page must call it.
    func end() {
        next?.wait()
        next = nil
    }

    private final class Fetch: Sendable {
        private let outcome = Monitor<Result<FramePage, any Error>?>(nil)

        init(_ sequencer: PostgresSequencer, after end: ClusterLogEnd, at position: Position, by deadline: Instant) throws {
            let outcome = outcome
            _ = try WorkerThread.start("evstore-fetch") {
                let result = Result<FramePage, any Error> { try sequencer.frames(after: end, at: position, by: deadline) }
                outcome.change { $0 = result }
            }
        }

        func wait() { outcome.wait(until: { $0 != nil }, { _ in }) }

        func page() throws -> FramePage {
            try outcome.wait(until: { $0 != nil }) { result in
                guard let result else { throw EvstoreError.misuse("a page that was waited for is not there") }
                return try result.get()
            }
        }
    }
}

/// Takes a frame of a cluster log into a node's log, within a transaction.
enum FrameIntake {
    /// - Parameters:
    ///   - checksLinks: whether the links of the blocks are checked too, beside that of the frame; false where the whole log is verified
    ///     afterwards.
    ///   - journal: makes the row that a cut leaves in the journal, from the version that is live after it.
    ///   - judge: see `SharedRows.put`.
    /// - Returns: the node's row with this frame.
    /// - Throws: `EvstoreError`: clusterDamaged where the frame does not follow `node.end`, or does not fit the log.
    static func run(
        _ bytes: RawSpan, _ node: StateRows.Node, _ transaction: inout WriteTransaction, _ access: LogAccess,
        checksLinks: Bool = true, journal: ((SchemaVersion) -> [UInt8])? = nil, judge: CatalogueValidator? = nil
    ) throws -> StateRows.Node {
        let number = node.end.number.plus(1)
        func damaged(_ reason: String) -> EvstoreError { .clusterDamaged(log: node.membership.log, frame: number, reason: reason) }
        do {
            let frame = try ClusterFrame(checking: bytes, after: node.end)
            let cut = try frame.cut
            try cut?.make(&transaction, access)
            // Order: the rows come first, since they hold the epochs of the blocks.
            try SharedRows.put(frame.rows, of: node.membership.node, judge, &transaction, access.tables)
            var blocks = try BlockIntake(transaction.reads, access, isOfThisEpoch: false, checksLinks: checksLinks)
            let before = blocks.last
            if let gap = try blocks.add(frame.blocks, &transaction) {
                // The node has another block there: after a power cut its log may be ahead of the row about the node.
                let last = try Blocks.last(transaction.reads, access)
                if gap <= last { throw EvstoreError.clusterWentBack(log: node.membership.log, cluster: node.last, node: last) }
                throw damaged("its block at position \(gap) does not follow this node's log")
            }
            guard blocks.last == max(before, frame.last.position) else {
                throw damaged("it ends at position \(frame.last.position), its blocks at \(blocks.last)")
            }
            if let cut { try end(cut, frame.last, journal, &transaction, access) }
            let taken = StateRows.Node(membership: node.membership, end: frame.end, last: frame.last.position)
            try StateRows.put(taken, &transaction, access.tables)
            return taken
        } catch let damage as FrameDamage {
            guard let format = damage.format else { throw damaged(damage.reason) }
            throw EvstoreError.storeNewer(
                path: "frame \(number) of the cluster log \(node.membership.log)", format: format, known: ClusterFrame.format)
        } catch EvstoreError.corruptBlock(let position, let reason) {
            throw damaged("its block at position \(position): \(reason)")
        }
    }

    private static func end(
        _ cut: ClusterCut, _ last: Checkpoint, _ journal: ((SchemaVersion) -> [UInt8])?, _ transaction: inout WriteTransaction,
        _ access: LogAccess
    ) throws {
        let stamp = try StateRows.numbers(transaction.reads, access.tables)
        guard stamp.epoch == cut.epoch, last == Checkpoint(epoch: cut.epoch, position: cut.position) else {
            throw FrameDamage("its cut is at position \(cut.position) of epoch \(cut.epoch), and it ends at \(last)")
        }
        if let journal { try Rows.append(journal(stamp.stamp.live), to: access.tables[.journal], &transaction) }
    }
}

extension LogContext {
    /// Lets the tail keeper keep the events that a frame's cut takes off this node. Returns the row for its journal; nil where there is
    /// nothing to keep.
    func keepTail(_ bytes: [UInt8], _ node: StateRows.Node) throws -> ((SchemaVersion) -> [UInt8])? {
        guard let tailKeeping else { return nil }
        do {
            let frame = try ClusterFrame(checking: bytes.lent, after: node.end)
            guard let cut = try frame.cut else { return nil }
            let last = try access.environment.read { transaction in
                try cut.check(transaction, access)
                return try Blocks.end(transaction, access)
            }
            guard frame.last == Checkpoint(epoch: cut.epoch, position: cut.position), frame.blocks.byteCount == 0 else { return nil }
            return try tailKeeping.keep(cut, through: last)
        } catch is FrameDamage {
            // Such a frame is refused when it is taken in, and so takes no events off.
            return nil
        }
    }
}

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
    private let opened = Instant.now

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
        } catch {
            context.logger.warning("telling the cluster log how far this node is", metadata: ["error": .stringConvertible(error.advised)])
        }
    }

    /// Reports how far this node is. A handle that was just opened, such as a command's, does not take over from another directory.
    private func report(_ report: NodeReport, to sequencer: PostgresSequencer, by deadline: Instant) throws {
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
        var lastCome = Instant.now
        var reported: (report: NodeReport, at: Instant)?
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
                if noted.note(error) {
                    context.logger.warning("following the cluster log", metadata: ["error": .stringConvertible(error.advised)])
                }
                pause = Self.afterTrouble
            }
        }
        do {
            // A last report, which stays true while no process has the node open.
            guard let connected, noted.trouble == nil, let reported, try now().report != reported.report else { return }
            try report(now().report, to: connected, by: .now + Self.askInterval)
        } catch {
            context.logger.debug("telling the cluster log of the node's end", metadata: ["error": .stringConvertible(error.advised)])
        }
    }

    private var lastPosition: Position {
        do { return try now().report.position } catch { return .start }
    }

    private func now() throws -> (node: StateRows.Node?, end: ClusterLogEnd, report: NodeReport) {
        try context.access.environment.read { try NodeReport.now(membership, $0, context.access) }
    }
}
