internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Platform

/// The state that is kept from one commit to the next, by the thread whose turn it is; and how a commit is made.
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
    private var ended: ContinuousClock.Instant?
    /// The log as this process has left it; nil where it must be read.
    var left: KnownLogEnd?
    /// Whether the words of the page were compared with the header of `log/ahead`.
    var hasSettled = false
    private var space: FreeSpace
    private static let roundsMax = 16
    private static let backToBackInterval = Duration.milliseconds(100)

    /// - Parameter mark: the mark of the log's file.
    init(_ context: LogContext, _ overlays: Overlays, _ mark: FileMark) throws {
        self.mark = mark
        (access, options, path, self.overlays) = (context.access, context.options, context.path, overlays)
        (order, membership, isReplica) = (context.order, context.membership, context.isReplica)
        // Not synced for a node: its commits are durable in the cluster log.
        ahead = AheadWriter(path, access, isSynced: membership == nil)
        space = FreeSpace(path, floorBytes: options.freeDiskFloorBytes)
        making = BlockAssembler(access)
    }

    /// The blocks that the current commit adds to the log.
    var blocks: BlockBatch { making.blocks }

    /// The result of a commit, for its callers.
    struct CommitResult {
        var outcomes: [Result<AppendOutcome, any Error>] = []
        var last: Checkpoint
        /// The link of the last block, which may be of an earlier epoch.
        var link: Digest
        /// Whether the last block belongs to this commit.
        var hasAdded = false
        /// How long writing and syncing took.
        var sync = Duration.zero
        /// Why the sweep behind the commit failed; the commit stands all the same, and the next one makes up for the sweep.
        var sweepFailure: (any Error)?
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

    /// The fate of the work of one commit.
    enum Committed {
        /// There was no turn, or nothing waits any more. For a node also: the waiting work needs the cluster log, which can't be asked, and
        /// stays.
        case nothing
        case made(CommitQueue.Batch, CommitResult)
        case failed(CommitQueue.Batch?, any Error)
    }

    /// Makes one commit of the work that waits once the writer's turn is taken, so that work which came during the wait is included.
    /// - Parameters:
    ///   - given: the only work to commit; nil for the waiting work, as always for a node.
    ///   - takeTurn: takes the writer's turn among processes, which ends with this call.
    mutating func commit(_ given: CommitQueue.Batch?, _ queue: CommitQueue, _ takeTurn: () throws -> WriteTurn?) -> Committed {
        if let order { return commit(in: order, queue, takeTurn) }
        var batch = given
        do {
            // Order: the turn is taken before the work, which would be lost without a turn.
            guard let turn = try takeTurn() else { return .nothing }
            defer { withExtendedLifetime(turn) {} }
            try begin(turn)
            batch = given ?? queue.take(options)
            guard case .made(var done) = try attempt(&batch, queue, turn, isJoined: given == nil), let batch else { return .nothing }
            note(done)
            if isReplica {
                do { try sweepTakenIn(turn) } catch { (left, done.sweepFailure) = (nil, error) }
            }
            return .made(batch, done)
        } catch {
            left = nil
            return .failed(batch, error)
        }
    }

    /// The result of one attempt to commit. For a store that is alone it is never behind, cut or unreachable.
    enum Attempt {
        /// No work waits any more.
        case nothing
        case made(CommitResult)
        /// Nothing of the attempt is kept, for the reason that `Placement` gives.
        case behind, cut, unreachable
    }

    /// - Parameter isJoined: whether appends that come while the commit is made are committed with it; `batch` then has them too.
    mutating func attempt(_ batch: inout CommitQueue.Batch?, _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool) throws -> Attempt {
        switch batch {
        case nil: return .nothing
        case .update(let update): return try self.update(update, turn)
        case .appends(var appends):
            defer { batch = .appends(appends) }
            return try append(&appends, queue, turn, isJoined: isJoined)
        }
    }

    // MARK: Appends

    /// Makes a commit of appends: checks them against the log as it is now, gives them positions, makes them durable, and then lets them be
    /// seen.
    private mutating func append(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Attempt {
        var admitted = try admit(&appends, queue, isJoined: isJoined)
        if admitted.count == 0 { return try refused(admitted, appends) }
        // Order: the keys are durable before anything sealed under them.
        try access.keys?.subjects.flush()
        let began = ContinuousClock.now
        let node: StateRows.Node?
        switch try place(appends, admitted) {
        case .placed(let placed): node = placed
        case .behind: return .behind
        case .cut: return .cut
        case .unreachable: return .unreachable
        }
        if try !writeAhead(&admitted, node, turn) { try writeToLMDB(&admitted, node, turn) }
        let now = ContinuousClock.now
        order?.confirm()
        learn(admitted, at: now)
        return .made(
            CommitResult(
                outcomes: admitted.outcomes, last: admitted.last, link: making.lastLink, hasAdded: true, sync: began.duration(to: now)))
    }

    /// The result where all appends were refused and nothing is added.
    private mutating func refused(_ admitted: borrowing Admission, _ appends: [CommitQueue.Append]) throws -> Attempt {
        streams.noteCommitted(through: admitted.last.position)
        if try isBehind(admitted.outcomes, appends) { return .behind }
        let link = try access.environment.read { try Blocks.endLink($0, access) }
        return .made(CommitResult(outcomes: admitted.outcomes, last: admitted.last, link: link))
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
        try access.keys?.subjects.begin()
        var rounds = 0
        repeat {
            do { try space.check(appends) } catch  where !admitted.outcomes.isEmpty {
                admitted.refuse(appends[admitted.outcomes.count...], error)
                break
            }
            rounds += 1
            for append in appends[admitted.outcomes.count...] { try admitted.admit(append.request, &making, &streams, transaction) }
        } while isJoined && rounds < Self.roundsMax && queue.takeMore(&appends, options)
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
        guard let moment = try LogSnapshot(transaction, access, overlays) else {
            throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
        }
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
        var written = try ahead.write(blocks, head)
        if case .full = written {
            admitted.hasSwept = try checkpoint(turn, isSweeping: true)
            admitted.transaction = try access.environment.lastTransaction
            head.pass = admitted.transaction
            written = try ahead.write(blocks, head)
        }
        guard case .written = written else { return false }
        words.acknowledge(admitted.last)
        return true
    }

    private mutating func writeToLMDB(_ admitted: inout Admission, _ node: StateRows.Node?, _ turn: WriteTurn) throws {
        let (blocks, tables) = (blocks, access.tables)
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

    /// Notes that what was admitted has been committed.
    private mutating func learn(_ admitted: borrowing Admission, at now: ContinuousClock.Instant) {
        let (moment, last) = (admitted.moment, admitted.last.position)
        (ended, lastCommitted) = (now, last)
        // What the next commit begins with is known if this one has moved nothing but the end.
        left = admitted.hasSwept
            ? nil : KnownLogEnd(transaction: admitted.transaction, numbers: moment.numbers, last: last, link: making.lastLink)
        streams.noteCommitted(through: last)
        for (name, id) in admitted.newTypes { access.names.learn(id, name) }
        moment.overlay.merge(first: moment.last.next, through: last) { admitted.note(in: &$0, streams) }
    }

    /// Keeps the log's end in memory that outlives the process: an anchor that takes no system call.
    private mutating func note(_ done: CommitResult) {
        guard Guard.turnNote.isOn, let page = access.environment.turnPage else { return }
        anchor(of: done).write(&note)
        page.note(note.bytes)
    }

    /// The log's end after a commit.
    func anchor(of done: CommitResult) -> Anchor {
        Anchor(epoch: done.last.epoch, storeID: access.storeID, last: done.last.position, link: done.link, mark: mark)
    }

    /// The error of a commit that has failed here but has its place in the cluster log.
    func madeElsewhere(_ error: any Error) -> any Error {
        let failure = commitError(error, after: lastCommitted, path, floorBytes: options.freeDiskFloorBytes)
        // The error of a broken disk stays as it is: this handle writes no more.
        if case EvstoreError.commitOutcomeUnknown = failure { return error }
        return EvstoreError.commitOutcomeUnknown(after: lastCommitted)
    }

    // MARK: LMDB

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

    /// Runs the transaction of an update.
    private mutating func update(_ update: CommitQueue.Update, _ turn: WriteTurn) throws -> Attempt {
        let began = ContinuousClock.now
        guard let body = update.body else {
            let (access, order) = (access, order)
            return try access.environment.read { transaction in
                let last = try Blocks.end(transaction, access)
                if try order?.isBehind(transaction, last: last.position, by: update.deadline) == true { return .behind }
                return .made(CommitResult(last: last, link: try Blocks.endLink(transaction, access)))
            }
        }
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
        guard let moment = try LogSnapshot(transaction.reads, access, overlays) else {
            throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
        }
        var changes = try LogUpdate(transaction, access, moment, membership)
        do { try body(&changes) } catch {
            guard isBehind(after: error, changes, update) else { throw error }
            changes.transaction.undo()
            return .behind
        }
        try changes.finish()
        let done = CommitResult(last: changes.last, link: try Blocks.endLink(changes.transaction.reads, access))
        switch try place(&changes, done, update) {
        case .placed: return .made(done)
        case .behind: changes.transaction.undo(); return .behind
        case .cut: changes.transaction.undo(); return .cut
        case .unreachable: changes.transaction.undo(); return .unreachable
        }
    }

    // MARK: Pauses and the end

    /// Whether this session has written ahead of LMDB, and LMDB has not taken it in yet.
    private(set) var isHolding = false

    /// Ends a round of commits, when appends pause: LMDB takes in what is ahead of it.
    mutating func endRound(_ queue: CommitQueue) throws {
        guard isHolding, let words = ahead.words else { return }
        let turn = try turn(queue)
        if words.isOpen {
            if try access.environment.read({ $0.ahead != nil }) { _ = try checkpoint(turn) }
            try ahead.close()
        }
        isHolding = false
    }

    /// Moves what is ahead into LMDB and ends the sweep, so that LMDB alone holds everything. After a failure of the disk nothing is
    /// claimed to be durable: the next process that opens the store alone recovers it.
    mutating func finish(_ queue: CommitQueue, afterFailure hasFailed: Bool) throws {
        if hasFailed { return }
        try endRound(queue)
        try finishSweep(queue)
    }
}
