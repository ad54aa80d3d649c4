internal import Bytes
internal import EventModel
internal import Hashing
package import LMDB
internal import Logging
internal import Platform

/// What is kept from one commit to the next, by the thread whose turn it is, and how it makes one.
package struct CommitSession: ~Copyable {
    let access: LogAccess
    let overlays: Overlays
    let options: Options
    let path: String
    /// Makes what a commit adds to the log.
    private var making: BlockMaking
    private var streams = StreamTable()
    var sweep: Sweep?
    var ahead: AheadWriter
    /// Of a node: gives commits their place in its cluster log.
    let order: (any CommitOrder)?
    private let membership: Membership?
    private let isReplica: Bool
    private var lastCommitted = Position.start
    /// This process's turn that was the session's last, and whose beginning did not fail.
    var knownTurn: UInt64?
    /// What is noted of a commit in the page that processes share.
    private var note = ByteBuffer(capacity: 256)
    private let mark: FileMark
    /// When the last commit ended: after a pause, LMDB itself makes the next one durable.
    private var ended: ContinuousClock.Instant?
    /// The log as this process has left it; nil where it is to be read.
    var left: LeftLog?
    /// Whether the words of the page were compared with the header of `log/ahead`.
    var hasSettled = false
    private var space: FreeSpace
    private static let roundsMax = 16
    private static let backToBackInterval = Duration.milliseconds(100)

    /// - Parameter mark: of the log's file.
    init(_ context: LogContext, _ overlays: Overlays, _ mark: FileMark) throws {
        self.mark = mark
        (access, options, path, self.overlays) = (context.access, context.options, context.path, overlays)
        (order, membership, isReplica) = (context.order, context.membership, context.isReplica)
        // A node's commits are durable in the cluster log.
        ahead = AheadWriter(path, access, isSynced: membership == nil)
        space = FreeSpace(path, floorBytes: options.freeDiskFloorBytes)
        making = BlockMaking(access)
    }

    /// What the commit that is being made adds to the log.
    var blocks: BlockBatch { making.blocks }

    /// What a commit has done, for those who wait for it.
    struct Done {
        var outcomes: [Result<AppendOutcome, any Error>] = []
        var last: Checkpoint
        /// Of the last block, which may be of an earlier epoch.
        var link: Digest
        /// Whether the last block is of this commit.
        var hasAdded = false
        /// How long writing and syncing took.
        var sync = Duration.zero
    }

    /// The log after a commit of this process, where nothing that a commit begins with was changed beside its blocks.
    struct LeftLog {
        /// The newest of LMDB.
        var transaction: UInt64
        let numbers: StateRows.Numbers
        let last: Position
        let link: Digest
    }

    /// What became of the work of one commit.
    enum Committed {
        /// No turn, or nothing waits any more; of a node also: what waits needs the cluster log, which can't be asked, and waits on.
        case nothing
        case made(CommitQueue.Batch, Done)
        case failed(CommitQueue.Batch?, any Error)
    }

    /// Makes one commit of what waits under the writer's turn, so that work which came during the wait for it is included.
    /// - Parameters:
    ///   - given: what is committed alone; nil for what waits, as always of a node.
    ///   - takeTurn: takes the writer's turn among processes, which ends with this call.
    mutating func commit(
        _ given: CommitQueue.Batch?, _ queue: CommitQueue, _ takeTurn: () throws -> WriteTurn?
    ) -> Committed {
        if let order { return commit(in: order, queue, takeTurn) }
        var batch = given
        do {
            // Order: the turn before work is taken, which nobody would do without it.
            guard let turn = try takeTurn() else { return .nothing }
            defer { withExtendedLifetime(turn) {} }
            try begin(turn)
            batch = given ?? queue.take(options)
            guard case .made(let done) = try attempt(&batch, queue, turn, isJoined: given == nil), let batch else { return .nothing }
            note(done)
            if isReplica { try sweepTakenIn(turn) }
            return .made(batch, done)
        } catch {
            left = nil
            return .failed(batch, error)
        }
    }

    /// What became of one attempt to commit; that of a store that is alone is never behind, cut or unreachable.
    enum Attempt {
        /// No work waits any more.
        case nothing
        case made(Done)
        /// Nothing of it is kept: as `Placing` says.
        case behind, cut, unreachable
    }

    /// - Parameter isJoined: whether appends that come while it is made are committed with it; then `batch` has them too.
    mutating func attempt(
        _ batch: inout CommitQueue.Batch?, _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Attempt {
        switch batch {
        case nil: return .nothing
        case .update(let update): return try self.update(update, turn)
        case .appends(var appends):
            defer { batch = .appends(appends) }
            return try append(&appends, queue, turn, isJoined: isJoined)
        }
    }

    // MARK: Appends

    /// Makes a commit of appends: they are judged against the log as it is now, get their positions, are made durable, and then are seen.
    private mutating func append(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, _ turn: WriteTurn, isJoined: Bool
    ) throws -> Attempt {
        var admitted = try admit(&appends, queue, isJoined: isJoined)
        if admitted.admission.count == 0 { return try refused(admitted, appends) }
        // Order: the keys before what is sealed under them.
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
            Done(outcomes: admitted.outcomes, last: admitted.last, link: making.lastLink, hasAdded: true, sync: began.duration(to: now)))
    }

    /// The outcome where nothing is added.
    private mutating func refused(_ admitted: borrowing Admitted, _ appends: [CommitQueue.Append]) throws -> Attempt {
        streams.noteCommitted(through: admitted.last.position)
        if try isBehind(admitted.outcomes, appends) { return .behind }
        let link = try access.environment.read { try Blocks.endLink($0, access) }
        return .made(Done(outcomes: admitted.outcomes, last: admitted.last, link: link))
    }

    /// What appends add to the log.
    struct Admitted: ~Copyable {
        var admission: Admission
        var outcomes: [Result<AppendOutcome, any Error>]
        var last: Checkpoint
        var rows: SideRows
        /// The numbers that the commit leaves; nil where it changes them.
        var numbers: StateRows.Numbers?
        /// The newest of LMDB, before and then after the commit.
        var transaction: UInt64
    }

    /// Judges appends and puts what they add into blocks. Those that come while the first are admitted join the commit, for some rounds only,
    /// since the first wait for them.
    private mutating func admit(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, isJoined: Bool
    ) throws -> Admitted {
        let transaction = try access.environment.beginRead()
        let (moment, link) = try moment(transaction)
        let now = Timestamp.now
        streams.begin(moment.epoch, after: moment.last)
        var admission = try Admission(moment, access, transaction, time: now)
        making.begin(moment.epoch, first: moment.last.next, link: link, time: now)
        try access.keys?.subjects.begin()
        var outcomes: [Result<AppendOutcome, any Error>] = []
        var rows = SideRows(access)
        var rounds = 0
        repeat {
            do { try space.check(appends) } catch  where !outcomes.isEmpty {
                outcomes += appends[outcomes.count...].map { _ in .failure(error) }
                break
            }
            rounds += 1
            for append in appends[outcomes.count...] {
                let refused: AppendOutcome?
                do { refused = try admission.check(append.request, &streams, transaction) } catch let error as EvstoreError {
                    outcomes.append(.failure(error))
                    continue
                }
                if let refused {
                    outcomes.append(.success(refused))
                    continue
                }
                let receipt = try admission.takeIn(append.request, &making, &streams, transaction)
                for row in append.request.rows { try rows.add(row, last: receipt.position, transaction) }
                outcomes.append(.success(.appended(receipt)))
            }
        } while isJoined && rounds < Self.roundsMax && queue.takeMore(&appends, options)
        try making.finish()
        let last = Checkpoint(epoch: moment.epoch, position: admission.next.previous)
        return Admitted(
            admission: admission, outcomes: outcomes, last: last, rows: rows, numbers: moment.numbers,
            transaction: UInt64(transaction.id))
    }

    /// The log as it is now, and what its next block links to. Nothing is read again where no other writer came in between.
    private mutating func moment(_ transaction: borrowing ReadTransaction) throws -> (Moment, Digest) {
        if let left, left.transaction == UInt64(transaction.id), try left.last == Blocks.last(transaction, access),
            let moment = Moment(left.numbers, last: left.last, overlays)
        {
            return (moment, left.link)
        }
        try requireAlone(transaction)
        guard let moment = try Moment(transaction, access, overlays) else {
            throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
        }
        return (moment, try Blocks.lastLink(transaction, access, moment.epoch))
    }

    /// Makes the commit durable with one sync; false where LMDB has to do that: after a pause, for what is large, and where rows or indexes are
    /// written.
    private mutating func writeAhead(_ admitted: inout Admitted, _ node: StateRows.Node?, _ turn: WriteTurn) throws -> Bool {
        let isBackToBack = isHolding || ended.map { $0.duration(to: .now) < Self.backToBackInterval } ?? false
        let isPlain = admitted.rows.isEmpty && admitted.admission.newTypes.isEmpty && order?.hasRows != true
        let moment = admitted.admission.moment
        let isSwept = moment.last.events(after: moment.numbers.indexed) >= UInt64(options.sweepForcedEvents)
        guard isBackToBack, isPlain, !isSwept, let words = ahead.words else { return false }
        var contents = AheadWriter.Contents(
            epoch: admitted.last.epoch, positions: admitted.admission.first ... admitted.last.position,
            note: node.map { AheadBlocks.note($0.end, last: $0.last) } ?? [], transaction: admitted.transaction)
        // Also where it fails: its header may say by now that entries follow.
        isHolding = true
        var written = try ahead.write(blocks, contents)
        if case .full = written {
            if try checkpoint(turn, isSweeping: true) { admitted.numbers = nil }
            admitted.transaction = try access.environment.lastTransaction
            contents.transaction = admitted.transaction
            written = try ahead.write(blocks, contents)
        }
        guard case .written = written else { return false }
        words.acknowledge(admitted.last)
        return true
    }

    private mutating func writeToLMDB(_ admitted: inout Admitted, _ node: StateRows.Node?, _ turn: WriteTurn) throws {
        let (blocks, tables) = (blocks, access.tables)
        var swept = sweep
        var hasSwept = false
        let (moment, count, types, rows) = (
            admitted.admission.moment, admitted.admission.count, admitted.admission.newTypes, admitted.rows
        )
        var written: UInt64 = 0
        try write(turn) { session, transaction in
            var transaction = transaction
            written = UInt64(transaction.id)
            // A grown map runs this again.
            swept = session.sweep
            try blocks.put(&transaction)
            for (name, id) in types { try tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction) }
            try rows.put(&transaction)
            if let node {
                try StateRows.put(node, &transaction, tables)
                try session.order?.putRows(&transaction)
            }
            hasSwept = try session.carrySweep(&swept, moment, events: count, &transaction)
        }
        (sweep, admitted.transaction) = (swept, written)
        if hasSwept { admitted.numbers = nil }
    }

    /// What was admitted has been committed.
    private mutating func learn(_ admitted: borrowing Admitted, at now: ContinuousClock.Instant) {
        (ended, lastCommitted) = (now, admitted.last.position)
        left = admitted.numbers.map {
            LeftLog(transaction: admitted.transaction, numbers: $0, last: admitted.last.position, link: making.lastLink)
        }
        streams.noteCommitted(through: admitted.last.position)
        for (name, id) in admitted.admission.newTypes { access.names.learn(id, name) }
        // What an admission notes has no keys of further indexes: the overlay reads the blocks again then.
        guard access.tables.positionIndexes.isEmpty else { return }
        let moment = admitted.admission.moment
        moment.overlay.merge(first: moment.last.next, through: admitted.last.position) { admitted.admission.note(in: &$0, streams) }
    }

    /// Keeps in memory that outlives the process where the log ends now: an anchor that no call of the kernel writes.
    private mutating func note(_ done: Done) {
        guard Guard.turnNote.isOn, let page = access.environment.turnPage else { return }
        anchor(of: done).write(&note)
        page.note(note.bytes)
    }

    /// Where the log ends after a commit.
    func anchor(of done: Done) -> Anchor {
        Anchor(epoch: done.last.epoch, storeID: access.storeID, last: done.last.position, link: done.link, mark: mark)
    }

    /// The error of a commit that has failed here and is made in the cluster log.
    func madeElsewhere(_ error: any Error) -> any Error {
        let failure = commitError(error, after: lastCommitted, path, floorBytes: options.freeDiskFloorBytes)
        // That of a broken disk stays what it is: this handle writes no more.
        if case EvstoreError.commitOutcomeUnknown = failure { return error }
        return EvstoreError.commitOutcomeUnknown(after: lastCommitted)
    }

    // MARK: LMDB

    /// Makes one durable transaction of LMDB, which begins with what was in `log/ahead` alone. `body` may run twice, from the start, where the
    /// map has to grow.
    package mutating func write<R>(_ turn: WriteTurn, _ body: (inout CommitSession, consuming WriteTransaction) throws -> R) throws -> R {
        let access = access
        var written: (transaction: UInt64, state: WriteState)?
        // Order: LMDB may show what it commits before that is durable.
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
        // The number of a transaction that has changed nothing is used again. Where it can't be asked for, the next turn makes another commit.
        do throws(StorageError) { if try access.environment.lastTransaction == written { words.durableTransaction = written } } catch {}
        return result
    }

    /// Moves what is in `log/ahead` alone into LMDB.
    /// - Parameter isSweeping: with a part of the indexes, where that is due.
    /// - Returns: whether it has changed the numbers that a commit begins with.
    mutating func checkpoint(_ turn: WriteTurn, isSweeping: Bool = false) throws -> Bool {
        let (access, overlays) = (access, overlays)
        var swept = sweep
        var hasSwept = false
        try write(turn) { session, transaction in
            var transaction = transaction
            swept = session.sweep
            guard let moment = try Moment(transaction.reads, access, overlays) else { return }
            // Order: also where nothing is changed, since the newest commit may not be durable.
            try StateRows.put(indexed: moment.numbers.indexed, &transaction, access.tables)
            if !isSweeping { return }
            let waiting = Int(clamping: moment.last.events(after: moment.numbers.indexed))
            hasSwept = try session.carrySweep(&swept, moment, events: min(waiting, session.options.sweepSliceEntries / 8), &transaction)
        }
        sweep = swept
        return hasSwept
    }

    /// Makes an update's transaction.
    private mutating func update(_ update: CommitQueue.Update, _ turn: WriteTurn) throws -> Attempt {
        let began = ContinuousClock.now
        guard let body = update.body else {
            let (access, order) = (access, order)
            return try access.environment.read { transaction in
                let last = try Blocks.end(transaction, access)
                if try order?.isBehind(transaction, last: last.position, by: update.deadline) == true { return .behind }
                return .made(Done(last: last, link: try Blocks.endLink(transaction, access)))
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
        guard let moment = try Moment(transaction.reads, access, overlays) else {
            throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
        }
        var changes = try LogUpdate.begin(transaction, access, moment, membership)
        do { try body(&changes) } catch {
            guard isBehind(after: error, changes, update) else { throw error }
            changes.transaction.undo()
            return .behind
        }
        try changes.finish()
        let done = Done(last: changes.last, link: try Blocks.endLink(changes.transaction.reads, access))
        switch try place(&changes, done, update) {
        case .placed: return .made(done)
        case .behind: changes.transaction.undo(); return .behind
        case .cut: changes.transaction.undo(); return .cut
        case .unreachable: changes.transaction.undo(); return .unreachable
        }
    }

    // MARK: Pauses and the end

    /// Whether this session has written ahead since LMDB had all of it.
    private(set) var isHolding = false

    /// Appends pause: LMDB takes what is ahead of it.
    mutating func rest(_ queue: CommitQueue) throws {
        guard isHolding, let words = ahead.words else { return }
        let turn = try turn(queue)
        if words.isOpen {
            if try access.environment.read({ $0.ahead != nil }) { _ = try checkpoint(turn) }
            try ahead.close()
        }
        isHolding = false
    }

    /// Moves what is ahead into LMDB and ends the sweep, so that LMDB alone holds everything. After a failure of the disk nothing is claimed to be
    /// durable: the next process that opens the store alone recovers it.
    mutating func finish(_ queue: CommitQueue, afterFailure hasFailed: Bool) throws {
        if hasFailed { return }
        try rest(queue)
        try finishSweep(queue)
    }
}
