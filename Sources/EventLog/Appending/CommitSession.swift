internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Platform

/// How a commit is made (`commit`), and the state that is kept from one commit to the next by the thread whose turn it is.
package struct CommitSession: ~Copyable {
    let access: LogAccess
    let overlays: Overlays
    let options: Options
    let path: String
    /// Makes the blocks that a commit adds to the log.
    private var making: BlockAssembler
    private var streams = StreamTable()
    var sweep: Sweep?
    var ahead: AheadWriter
    /// For a node: gives commits their place in its cluster log.
    let order: (any CommitOrder)?
    private let membership: ClusterMembership?
    private let isReplica: Bool
    private var lastCommitted = Position.start
    /// The number of this process's last turn whose beginning the session completed.
    var knownTurn: UInt64?
    /// The note about a commit for the page that processes share.
    private var note = ByteBuffer(capacity: 256)
    private let mark: FileMark
    /// When the last commit ended: after a pause, LMDB itself makes the next commit durable.
    private var ended: Instant?
    /// The log as this process has left it; nil where it must be read.
    var left: KnownLogEnd?
    /// Whether the words of the page were compared with the header of `log/ahead`.
    var hasSettled = false
    /// Whether this session has written ahead of LMDB, and LMDB has not taken it in yet.
    var isHolding = false
    private var space: FreeSpace
    private static let roundsMax = 16
    private static let backToBackInterval = Duration.milliseconds(100)
    /// How long a refused update may ask whether this state was the newest, while it has LMDB's lock.
    private static let askInterval = Duration.seconds(1)

    init(_ context: LogContext, _ overlays: Overlays, _ mark: FileMark) throws {
        self.mark = mark
        (access, options, path, self.overlays) = (context.access, context.options, context.path, overlays)
        (order, membership, isReplica) = (context.order, context.membership, context.isReplica)
        // Not synced for a node: its commits are durable in the cluster log.
        ahead = AheadWriter(path, access, isSynced: membership == nil)
        space = FreeSpace(path, floorBytes: options.freeDiskFloorBytes)
        making = BlockAssembler(access)
    }

    struct CommitResult {
        var outcomes: [Result<AppendOutcome, any Error>] = []
        /// The log's end; the last block, with its link, may be of an earlier epoch.
        var end: Anchor
        /// Whether the last block belongs to this commit.
        var hasAdded = false
        /// How long writing and syncing took.
        var sync = Duration.zero
        /// Why the sweep behind the commit failed; the commit stands all the same, and the next one makes up for the sweep.
        var sweepFailure: (any Error)?

        var last: Checkpoint { Checkpoint(epoch: end.epoch, position: end.last) }
    }

    /// The end of the log after a commit of this process. It is only kept if the commit has changed nothing but blocks of what the next
    /// commit begins with.
    struct KnownLogEnd {
        /// The newest transaction of LMDB.
        var transaction: UInt64
        let numbers: StateRows.Numbers
        let last: Position
        let link: Digest
    }

    enum Committed {
        /// There was no turn, or nothing waits any more. For a node also: the waiting work needs the cluster log, which can't be asked, and
        /// stays.
        case nothing
        case made(CommitQueue.Batch, CommitResult)
        case failed(CommitQueue.Batch?, any Error)
    }

    /// What became of one attempt to commit a batch. A store that is alone makes each.
    private enum Attempt {
        case made(CommitResult)
        /// Nothing of it is kept.
        case unplaced(Unplaced)
    }

    /// Makes one commit of the work that waits once the writer's turn is taken, so that work which came during the wait is included.
    /// - Parameters:
    ///   - given: the only work to commit; nil for the waiting work, as always for a node.
    ///   - takeTurn: takes the writer's turn among processes, which ends with this call.
    mutating func commit(_ given: CommitQueue.Batch?, _ queue: CommitQueue, _ takeTurn: () throws -> WriteTurn?) -> Committed {
        let order = order
        var batch = given
        defer { order?.settle() }
        do {
            // Work that needs the cluster log stays in the queue, where its deadline applies; other work goes on.
            let isCutOff = order.map { queue.needsCluster && !$0.isReachable() } ?? false
            if isCutOff, !queue.hasLocal { return .nothing }
            // Order: the turn is taken before the work, which would be lost without a turn.
            guard let turn = try takeTurn() else { return .nothing }
            defer { withExtendedLifetime(turn) {} }
            try begin(turn)
            batch = given ?? (isCutOff ? queue.takeLocal() : queue.take(options))
            return try commit(&batch, queue, turn, isJoined: given == nil && !isCutOff)
        } catch {
            left = nil
            return .failed(batch, order?.settle() == true ? madeElsewhere(error) : error)
        }
    }

    /// Commits a batch under the turn. If other nodes were first in a cluster log, it takes in their commits and makes its own anew.
    /// - Parameter isJoined: whether appends that come while the commit is made are committed with it; `batch` then has them too.
    private mutating func commit(
        _ batch: inout CommitQueue.Batch?, _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Committed {
        let order = order
        while true {
            let attempt: Attempt
            switch batch {
            case nil: return .nothing
            case .update(let update): attempt = try self.update(update, turn)
            case .appends(var appends):
                defer { batch = .appends(appends) }
                attempt = try append(&appends, queue, turn, isJoined: isJoined)
            }
            guard let work = batch else { return .nothing }
            switch attempt {
            case .made(var done):
                note(done.end)
                if isReplica {
                    do { try sweepTakenIn(turn) } catch { (left, done.sweepFailure) = (nil, error) }
                }
                return .made(work, done)
            case .unplaced(.unreachable):
                queue.putBack(work)
                return .nothing
            case .unplaced(let reason):
                // A cut has its place: if this node can't make it now, it does so later.
                try order?.takeIn(&self, turn, by: work.deadline)
                if case .update(let update) = work, reason == .cut || update.body == nil { return .made(work, try unchanged()) }
            }
        }
    }

    // MARK: Appends

    /// Makes a commit of appends: checks them against the log as it is now, gives them positions, makes them durable, and then lets them be
    /// seen.
    private mutating func append(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Attempt {
        var admitted = try admit(&appends, queue, isJoined: isJoined)
        if admitted.count == 0 {
            streams.noteCommitted(through: admitted.last.position)
            return try isBehind(admitted.outcomes, appends) ? .unplaced(.behind) : .made(unchanged(admitted.outcomes))
        }
        // Order: the keys are durable before anything sealed under them.
        try access.keys?.subjects.flush()
        let began = Instant.now
        switch try place(appends, admitted) {
        case .unplaced(let reason): return .unplaced(reason)
        case .placed(let node): if try !writeAhead(&admitted, node, turn) { try writeToLMDB(&admitted, node, turn) }
        }
        let now = Instant.now
        order?.confirm()
        learn(admitted, at: now)
        return .made(
            CommitResult(
                outcomes: admitted.outcomes, end: end(admitted.last, making.lastLink), hasAdded: true, sync: began.duration(to: now)))
    }

    /// Checks appends and puts what they add into blocks. Appends that come meanwhile join the commit, but only for some rounds, since the
    /// first ones wait for them.
    private mutating func admit(_ appends: inout [CommitQueue.Append], _ queue: CommitQueue, isJoined: Bool) throws -> Admission {
        let transaction = try access.environment.beginRead()
        let (moment, link) = try moment(transaction)
        let now = Timestamp.now
        streams.begin(moment.epoch, after: moment.last)
        var admitted = try Admission(moment, access, transaction, time: now)
        making.begin(moment.epoch, first: moment.last.next, link: link, time: now)
        try access.keys?.subjects.begin(noted: StateRows.slots(transaction, access.tables))
        var (rounds, isOpen) = (0, isJoined)
        repeat {
            do { try space.check(appends) } catch  where !admitted.outcomes.isEmpty {
                admitted.refuse(appends[admitted.outcomes.count...], error)
                break
            }
            rounds += 1
            while admitted.outcomes.count < appends.count {
                if try admitted.admit(nextOf: appends, &making, &streams, transaction) { continue }
                let rest = appends[admitted.outcomes.count...]
                queue.putBack(.appends(Array(rest)))
                appends.removeSubrange(rest.indices)
                isOpen = false
            }
        } while isOpen && rounds < Self.roundsMax && queue.takeMore(&appends, options)
        try making.finish()
        return admitted
    }

    /// The log as it is now, and the link for its next block. Nothing is read again if no other writer came in between.
    private mutating func moment(_ transaction: borrowing ReadTransaction) throws -> (LogSnapshot, Digest) {
        if let left, left.transaction == UInt64(transaction.id), try left.last == Blocks.last(transaction, access),
            let moment = LogSnapshot(left.numbers, last: left.last, overlays)
        {
            return (moment, left.link)
        }
        try requireAlone(transaction)
        let moment = try moment(of: transaction)
        return (moment, try Blocks.lastLink(transaction, access, moment.epoch))
    }

    /// Makes the commit durable with one sync. False where LMDB has to make it durable: after a pause, for a large commit, and where rows
    /// or indexes are written.
    private mutating func writeAhead(_ admitted: inout Admission, _ node: StateRows.Node?, _ turn: WriteTurn) throws -> Bool {
        let isBackToBack = isHolding || ended.map { $0.duration(to: .now) < Self.backToBackInterval } ?? false
        let isPlain = admitted.rows.isEmpty && admitted.newTypes.isEmpty && order?.hasRows != true
        let isSwept = admitted.moment.unswept >= UInt64(options.sweepForcedEvents)
        guard isBackToBack, isPlain, !isSwept, let words = ahead.words else { return false }
        var head = WriteAhead.Entry.Head(
            epoch: admitted.last.epoch, positions: admitted.first ... admitted.last.position, storeTag: access.storeID.tag,
            pass: admitted.transaction, note: node.map { AheadBlocks.note($0.end, last: $0.last) } ?? [])
        // Set even if writing fails: the file's header may say by now that entries follow.
        isHolding = true
        var written = try ahead.write(making.blocks, head)
        if case .full = written {
            admitted.hasSwept = try checkpoint(turn, isSweeping: true)
            admitted.transaction = try access.environment.lastTransaction
            head.pass = admitted.transaction
            written = try ahead.write(making.blocks, head)
        }
        guard case .written = written else { return false }
        words.acknowledge(admitted.last)
        return true
    }

    private mutating func writeToLMDB(_ admitted: inout Admission, _ node: StateRows.Node?, _ turn: WriteTurn) throws {
        let (blocks, tables) = (making.blocks, access.tables)
        var swept = sweep
        var hasSwept = false
        let (moment, count, types, rows) = (admitted.moment, admitted.count, admitted.newTypes, admitted.rows)
        try write(turn) { session, transaction in
            var transaction = transaction
            admitted.transaction = UInt64(transaction.id)
            // A body that runs again, after the map has grown, begins with the same sweep.
            swept = session.sweep
            try blocks.put(&transaction)
            for (name, id) in types { try tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction) }
            for row in rows { try tables[row.catalogue].put(row.key.lent, row.value.lent, &transaction) }
            if let node {
                try StateRows.put(node, &transaction, tables)
                try session.order?.putRows(&transaction)
            }
            hasSwept = try session.carrySweep(&swept, moment, events: count, &transaction)
        }
        sweep = swept
        if hasSwept { admitted.hasSwept = true }
    }

    /// Runs one durable transaction of LMDB, which begins with what was only in `log/ahead`. `body` may run again from the start if the map
    /// has to grow.
    package mutating func write<R>(_ turn: WriteTurn, _ body: (inout CommitSession, consuming WriteTransaction) throws -> R) throws -> R {
        let access = access
        var written: (transaction: UInt64, state: WriteState)?
        // Order: cleared first, since LMDB may show what it commits before that is durable.
        ahead.words?.durableTransaction = 0
        let result = try access.environment.writeOwned(turn) { transaction in
            var transaction = transaction
            written = (UInt64(transaction.id), transaction.state)
            try access.ahead?.apply(&transaction)
            // Order: the slots are durable before they are noted, and are noted with the events that name them. Where a recovery after a
            // crash has moved such events into LMDB, the next commit notes them.
            try StateRows.note(slots: access.keys?.subjects.durableCount, &transaction, access.tables)
            return try body(&self, transaction)
        }
        // Nothing fails from here on.
        left = nil
        guard let words = ahead.words, let (written, state) = written, state.isCommitted else { return result }
        words.acknowledgeLMDB()
        ahead.begin()
        // The number of a transaction that has changed nothing is used again. If it can't be asked for, the next turn makes another commit.
        do throws(StorageError) { if try access.environment.lastTransaction == written { words.durableTransaction = written } } catch {}
        return result
    }

    /// Moves what is only in `log/ahead` into LMDB.
    /// - Parameter isSweeping: whether a part of the indexes is written too, where that is due.
    /// - Returns: whether it has changed the numbers that a commit begins with.
    mutating func checkpoint(_ turn: WriteTurn, isSweeping: Bool = false) throws -> Bool {
        let (access, overlays) = (access, overlays)
        var swept = sweep
        var hasSwept = false
        try write(turn) { session, transaction in
            var transaction = transaction
            swept = session.sweep
            guard let moment = try LogSnapshot(transaction.reads, access, overlays) else { return }
            // Order: written even if it changes nothing, so that there is a commit: the newest one may not be durable.
            try StateRows.put(indexed: moment.numbers.indexed, &transaction, access.tables)
            if !isSweeping { return }
            let waiting = Int(clamping: moment.unswept)
            hasSwept = try session.carrySweep(&swept, moment, events: min(waiting, session.options.sweepSliceEntries / 8), &transaction)
        }
        sweep = swept
        return hasSwept
    }

    private mutating func learn(_ admitted: borrowing Admission, at now: Instant) {
        let (moment, last) = (admitted.moment, admitted.last.position)
        (ended, lastCommitted) = (now, last)
        // What the next commit begins with is known if this one has moved nothing but the end.
        left =
            admitted.hasSwept
            ? nil : KnownLogEnd(transaction: admitted.transaction, numbers: moment.numbers, last: last, link: making.lastLink)
        streams.noteCommitted(through: last)
        for (name, id) in admitted.newTypes { access.names.learn(id, name) }
        moment.overlay.merge(first: moment.last.next, through: last) { admitted.note(in: &$0, streams) }
    }

    /// Keeps the log's end in memory that outlives the process: an anchor that takes no system call. Not for a node, whose commits are
    /// durable in the cluster log.
    private mutating func note(_ end: Anchor) {
        guard order == nil, Guard.turnNote.isOn, let page = access.environment.turnPage else { return }
        end.write(&note)
        page.note(note.bytes)
    }

    /// The log's end after a commit.
    private func end(_ last: Checkpoint, _ link: Digest) -> Anchor {
        Anchor(epoch: last.epoch, storeID: access.storeID, last: last.position, link: link, mark: mark)
    }

    /// The result where the work itself has added nothing to the log.
    private func unchanged(_ outcomes: [Result<AppendOutcome, any Error>] = []) throws -> CommitResult {
        try access.environment.read { transaction in
            CommitResult(outcomes: outcomes, end: end(try Blocks.end(transaction, access), try Blocks.endLink(transaction, access)))
        }
    }

    // MARK: Updates

    private mutating func update(_ update: CommitQueue.Update, _ turn: WriteTurn) throws -> Attempt {
        let began = Instant.now
        guard let body = update.body else { return try isBehind(update) ? .unplaced(.behind) : .made(unchanged()) }
        left = nil
        let attempt = try write(turn) { session, transaction in try session.update(update, body, transaction) }
        guard case .made(var done) = attempt else { return attempt }
        order?.confirm()
        done.sync = began.duration(to: .now)
        (ended, lastCommitted) = (.now, done.last.position)
        return .made(done)
    }

    private mutating func update(
        _ update: CommitQueue.Update, _ body: CommitQueue.Update.Body, _ transaction: consuming WriteTransaction
    ) throws -> Attempt {
        try requireAlone(transaction.reads)
        _ = try moment(of: transaction.reads)
        var changes = try LogUpdate(transaction, access, membership)
        do { try body(&changes) } catch {
            guard isBehind(after: error, changes, update) else { throw error }
            changes.transaction.undo()
            return .unplaced(.behind)
        }
        try changes.finish()
        let done = CommitResult(end: end(changes.last, try Blocks.endLink(changes.transaction.reads, access)))
        switch try place(&changes, done, update) {
        case .placed: return .made(done)
        case .unplaced(let reason):
            changes.transaction.undo()
            return .unplaced(reason)
        }
    }

    private func moment(of transaction: borrowing ReadTransaction) throws -> LogSnapshot {
        if let moment = try LogSnapshot(transaction, access, overlays) { return moment }
        throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
    }

    // MARK: The place in a cluster log

    /// Refuses to commit as a store that is alone if the store has become a node since it was opened.
    private func requireAlone(_ transaction: borrowing ReadTransaction) throws {
        guard order == nil, let node = try StateRows.node(transaction, access.tables) else { return }
        throw EvstoreError.clusterMismatch(
            log: node.membership.log, reason: "it has become the node \(node.membership.node) since it was opened", how: "open it again")
    }

    /// Gives the additions of these appends their place in the cluster log.
    private func place(_ appends: [CommitQueue.Append], _ admitted: borrowing Admission) throws -> Placement {
        guard let order else { return .placed(nil) }
        let deadline = CommitQueue.Batch.appends(appends).deadline
        let rows = admitted.rows.filter { $0.catalogue.isShared($0.key) }
        let change = OrderedChange(
            shared: rows.map { .row($0.catalogue, key: $0.key, value: $0.value) }, first: admitted.first, last: admitted.last)
        return try access.environment.read { try order.place(change, making.blocks, $0, by: deadline) }
    }

    /// Gives the changes of an update their place in the cluster log, if any of them is shared by all nodes.
    private func place(_ changes: inout LogUpdate, _ done: CommitResult, _ update: CommitQueue.Update) throws -> Placement {
        if changes.becomesAlone { try changes.becomeAlone() }
        guard let order, !changes.becomesAlone, !changes.shared.isEmpty else { return .placed(nil) }
        let first = (changes.endBeforeCut ?? done.last.position).next
        let change = OrderedChange(shared: changes.shared, first: first, last: done.last, isLeaving: changes.isLeaving)
        try making.blocks.read(from: first, changes.transaction.reads)
        let placing = try order.place(change, making.blocks, changes.transaction.reads, by: update.deadline)
        guard case .placed(let node) = placing else { return placing }
        if changes.endBeforeCut != nil { return .unplaced(.cut) }
        try order.putRows(&changes.transaction)
        if let node { try StateRows.put(node, &changes.transaction, access.tables) }
        if changes.isLeaving { try changes.becomeAlone() }
        return placing
    }

    /// Whether all these appends may have been refused because this node's state is older than the cluster log's.
    private func isBehind(_ outcomes: [Result<AppendOutcome, any Error>], _ appends: [CommitQueue.Append]) throws -> Bool {
        guard let order else { return false }
        // Another node may have changed the stream.
        let isRefused = outcomes.contains { if case .failure(EvstoreError.expectationFailed) = $0 { true } else { false } }
        guard isRefused else { return false }
        return try access.environment.read { transaction in
            let last = try Blocks.last(transaction, access)
            return try order.isBehind(transaction, last: last, by: CommitQueue.Batch.appends(appends).deadline)
        }
    }

    /// Whether an update that takes in what the cluster log has finds anything there.
    private func isBehind(_ update: CommitQueue.Update) throws -> Bool {
        guard let order else { return false }
        return try access.environment.read { try order.isBehind($0, last: Blocks.last($0, access), by: update.deadline) }
    }

    /// Whether an update may have been refused because this node's state is older than that of another node.
    private func isBehind(after error: any Error, _ changes: borrowing LogUpdate, _ update: CommitQueue.Update) -> Bool {
        guard let order, error is EvstoreError else { return false }
        let deadline = min(update.deadline, .now + Self.askInterval)
        // The reason for the refusal says more than the error of asking the cluster log.
        do { return try order.isBehind(changes.transaction.reads, last: nil, by: deadline) } catch { return false }
    }

    /// The error of a commit that has failed here but has its place in the cluster log.
    private func madeElsewhere(_ error: any Error) -> any Error {
        let failure = commitError(error, after: lastCommitted, path, floorBytes: options.freeDiskFloorBytes)
        // The error of a broken disk stays as it is: this handle writes no more.
        if case EvstoreError.commitOutcomeUnknown = failure { return error }
        return EvstoreError.commitOutcomeUnknown(after: lastCommitted)
    }
}
