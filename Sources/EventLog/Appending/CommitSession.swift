internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging
internal import Platform

/// What is kept from one commit to the next, by the thread whose turn it is, and how it makes one.
struct CommitSession: ~Copyable {
    let access: LogAccess
    let overlays: Overlays
    let options: Options
    private let path: String
    private var writer: BlockWriter
    /// What the commit that is being made adds to the log.
    let blocks: BlockBatch
    private var streams = StreamTable()
    private var random = Randomness()
    var sweep: Sweep?
    var ahead: AheadWriter
    /// Of a node of a cluster log: gives commits their place in its order.
    let order: NodeOrder?
    private let isReplica: Bool
    /// Refuses frames of a node that register what no program could read.
    let judge: CatalogueJudge?
    /// Of a node: keeps what a cut takes off.
    let tailKeeping: TailKeeping?
    private var lastCommitted = Position.start
    /// This process's turn that was the session's last.
    private var turnNumber: UInt64 = 0
    /// What is noted of a commit in the page that processes share.
    private var note = ByteBuffer(capacity: 256)
    private let mark: FileMark
    /// When the last commit ended: after a pause, LMDB itself makes the next one durable.
    var ended: ContinuousClock.Instant?
    /// How the commit that is being made becomes durable: by LMDB since then, or ahead of the log, which took so long.
    var sync = Sync.took(.zero)
    /// The number of this process's last transaction.
    private var written: UInt = 0
    /// The log as this process has left it; nil where it is to be read.
    private var left: LeftLog?
    /// Whether appends that come meanwhile join the commit that is being made.
    private var isJoined = true
    /// Whether the store is known to have this program's format.
    private var hasFormat = false
    private var space: FreeSpace
    private static let roundsMax = 16

    /// - Parameter mark: of the log's file.
    init(_ context: LogContext, _ overlays: Overlays, _ order: NodeOrder?, _ mark: FileMark) throws {
        self.mark = mark
        (access, options, path, self.overlays) = (context.access, context.options, context.path, overlays)
        writer = BlockWriter(access)
        // A node's commits are durable in the cluster log.
        ahead = try AheadWriter(path, access, isSynced: order == nil)
        (self.order, isReplica, judge, tailKeeping) = (order, context.isReplica, context.judge, context.tailKeeping)
        space = FreeSpace(path, floorBytes: options.freeDiskFloorBytes)
        // A frame of a node holds all that a commit adds.
        blocks = BlockBatch(access, bytesMax: order == nil ? WriteAhead.blocksBytesMax : .max)
    }

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

    /// The log after a transaction of this process that has added blocks, and has changed nothing else that a commit begins with.
    private struct LeftLog {
        let transaction: UInt
        let numbers: StateRows.Numbers
        let last: Position
        let link: Digest
    }

    enum Sync {
        case began(ContinuousClock.Instant)
        case took(Duration)
    }

    /// What a transaction has made that holds once it is committed.
    private struct Outcome: ~Copyable {
        /// The sweep of the indexes that is under way.
        var sweep: Sweep?
        var admission: Admission?
        /// The numbers that it has left; nil where it has changed them.
        var numbers: StateRows.Numbers?
        /// What its first block links to; nil where that is to be read.
        var link: Digest?
    }

    /// Takes a batch from the queue under LMDB's lock, so that work which arrived during the wait for it is included, and makes one
    /// transaction of it. `batch` is that batch, also where this throws; one that is given is committed alone.
    /// - Parameter takeTurn: takes the writer's turn among processes, which ends with this call.
    /// - Returns: nil without the turn, or where nothing waits any more.
    mutating func run(
        _ queue: CommitQueue, _ batch: inout CommitQueue.Batch?, _ takeTurn: () throws -> WriteTurn?
    ) throws -> Done? {
        var isCutOff = false
        if batch == nil, let order, queue.needsCluster { isCutOff = !order.isReachable() }
        // What needs the cluster log stays in the queue, where it has its deadline; the rest goes on.
        if isCutOff, !queue.hasLocal { return nil }
        // Order: the turn before work is taken, which nobody would do without it.
        guard let turn = try takeTurn() else { return nil }
        defer { withExtendedLifetime(turn) {} }
        noteTurn(turn)
        if isCutOff {
            batch = queue.takeLocal()
            if batch == nil { return nil }
        }
        isJoined = batch == nil
        defer { _ = order?.settle() }
        while true {
            switch try settled(queue, turn, &batch) {
            case .nothing: return nil
            case .made(let done):
                note(done)
                if isReplica { try sweepTakenIn(turn) }
                return done
            case .behind:
                try takeIn(turn, by: batch?.deadline ?? .now)
                if case .update(let update)? = batch, update.body == nil { return try takenIn() }
            case .cut:
                // The cut stands: where it can't be made now, this node makes it when it can.
                do { try takeIn(turn, by: batch?.deadline ?? .now) } catch { throw madeElsewhere(error) }
                return try takenIn()
            case .unreachable:
                if let work = batch { queue.putBack(work) }
                batch = nil
                return nil
            }
        }
    }

    /// Forgets what was read of the file ahead of the log, unless nobody can have written it since this session's last turn. A node's is
    /// marked as failed without a turn.
    private mutating func noteTurn(_ turn: WriteTurn) {
        if order != nil || !turn.isContinued || turn.number != turnNumber + 1 { ahead.forgetHeaders() }
        turnNumber = turn.number
    }

    /// What became of one transaction.
    private enum Attempt {
        /// No work waits any more.
        case nothing
        case made(Done)
        /// Nothing of it is kept: as `Placing` says.
        case behind, cut, unreachable

        init(_ placing: Placing, _ done: Done, _ transaction: inout WriteTransaction) {
            switch placing {
            case .placed: self = .made(done)
            case .behind: self = .behind
            case .cut: self = .cut
            case .unreachable: self = .unreachable
            }
            if case .made = self { return }
            transaction.undo()
        }
    }

    /// Makes one transaction; where it fails, nothing of it is left ahead of the log.
    private mutating func settled(_ queue: CommitQueue, _ turn: WriteTurn, _ batch: inout CommitQueue.Batch?) throws -> Attempt {
        do { return try attempt(queue, turn, &batch) } catch {
            let isAdded = order?.settle() == true
            try undo(turn, after: error)
            throw isAdded ? madeElsewhere(error) : error
        }
    }

    private mutating func attempt(_ queue: CommitQueue, _ turn: WriteTurn, _ batch: inout CommitQueue.Batch?) throws -> Attempt {
        var outcome = Outcome(sweep: sweep)
        let attempt = try access.environment.writeOwned(turn) { transaction -> Attempt in
            var transaction = transaction
            // After the map has grown this runs again with the same batch, whose outcome may be another.
            outcome = Outcome(sweep: sweep)
            if ahead.isUnconfirmed { try ahead.endRound() }
            if batch == nil { batch = queue.take(options) }
            written = transaction.id
            guard let work = batch else { return .nothing }
            if case .appends = work, let done = try takeInAdded(&transaction) { return .made(done) }
            // Nothing is read again where no other writer came in between.
            let left = left.flatMap { $0.transaction == transaction.id - 1 ? $0 : nil }
            if left == nil { try requireAlone(transaction.reads) }
            let kept = left.flatMap { Moment($0.numbers, last: $0.last, overlays) }
            guard let moment = try kept ?? Moment(transaction.reads, access, overlays) else {
                throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
            }
            if !hasFormat { try Manifest.raise(at: path) }
            hasFormat = true
            switch work {
            case .update(let update): return try self.update(update, moment, transaction)
            case .appends(var appends):
                defer { batch = .appends(appends) }
                streams.begin(moment.epoch, after: transaction.id - 1)
                outcome.link = left?.link
                return try commit(&appends, queue, moment, &transaction, &outcome)
            }
        }
        guard case .made(let done) = attempt else { return attempt }
        return .made(noted(done, &outcome))
    }

    /// Makes an update's transaction.
    private mutating func update(
        _ update: CommitQueue.Update, _ moment: Moment, _ transaction: consuming WriteTransaction
    ) throws -> Attempt {
        guard let body = update.body else {
            let isBehind = try order?.isBehind(transaction.reads, access, last: moment.last, by: update.deadline) ?? false
            let last = Checkpoint(epoch: moment.epoch, position: moment.last)
            return try Attempt(
                isBehind ? .behind : .placed, Done(last: last, link: Blocks.endLink(transaction.reads, access)), &transaction)
        }
        try beginSyncing(&transaction)
        var changes = try LogUpdate.begin(transaction, access, moment, order?.membership)
        do { try body(&changes) } catch {
            guard isBehind(after: error, changes, update) else { throw error }
            changes.transaction.undo()
            return .behind
        }
        try changes.finish()
        let done = Done(last: changes.last, link: try Blocks.endLink(changes.transaction.reads, access))
        return Attempt(try place(&changes, done, update), done, &changes.transaction)
    }

    /// Notes what a transaction has made that was committed.
    private mutating func noted(_ made: Done, _ outcome: inout Outcome) -> Done {
        var done = made
        order?.confirm()
        sweep = outcome.sweep
        let now = ContinuousClock.now
        ended = now
        switch sync {
        case .began(let began): done.sync = began.duration(to: now)
        case .took(let duration): done.sync = duration
        }
        ahead.confirm(done.last.position)
        lastCommitted = done.last.position
        left = outcome.numbers.map { LeftLog(transaction: written, numbers: $0, last: done.last.position, link: done.link) }
        if let admission = outcome.admission.take() { note(admission) }
        return done
    }

    /// Keeps in memory that outlives the process where the log ends now: an anchor that no call of the kernel writes. Not of a node, whose disk
    /// may lose what it had.
    private mutating func note(_ done: Done) {
        guard order == nil, Guard.turnNote.isOn, let page = access.environment.turnPage else { return }
        anchor(of: done).write(&note)
        page.note(note.bytes)
    }

    /// Where the log ends after a commit.
    func anchor(of done: Done) -> Anchor {
        Anchor(epoch: done.last.epoch, storeID: access.storeID, last: done.last.position, link: done.link, mark: mark)
    }

    /// What was admitted has been committed.
    private mutating func note(_ admission: consuming Admission) {
        // LMDB gives the number of a transaction that has changed nothing to the next one.
        streams.noteCommitted(after: admission.count > 0 ? written : written - 1)
        if admission.count == 0 { return }
        for (name, id) in admission.newTypes { access.names.learn(id, name) }
        // What an admission notes has no keys of further indexes: the overlay reads the blocks again then.
        guard access.tables.positionIndexes.isEmpty else { return }
        let (overlay, first, last) = (admission.moment.overlay, admission.moment.last.next, admission.next.previous)
        overlay.merge(first: first, through: last) { admission.note(in: &$0, streams) }
    }

    private mutating func commit(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, _ moment: Moment, _ transaction: inout WriteTransaction,
        _ outcome: inout Outcome
    ) throws -> Attempt {
        let tables = access.tables
        let now = Timestamp.now
        let link = try outcome.link ?? Blocks.lastLink(transaction.reads, access, moment.epoch)
        var admission = try Admission(moment, access, blocks, transaction.reads, time: now)
        writer.begin(moment.epoch, first: moment.last.next, link: link, time: now)
        blocks.removeAll()
        let blocks = blocks
        try access.keys?.subjects.begin()
        var outcomes: [Result<AppendOutcome, any Error>] = []
        var shared = ByteBuffer(capacity: 16)
        // Appends that come while the first are admitted join the commit, for some rounds only, since the first wait for them.
        var rounds = 0
        repeat {
            do { try space.check(appends) } catch  where !outcomes.isEmpty {
                outcomes += appends[outcomes.count...].map { _ in .failure(error) }
                break
            }
            rounds += 1
            for append in appends[outcomes.count...] {
                let refused: AppendOutcome?
                do { refused = try admission.check(append.request, &streams, transaction.reads) } catch let error as EvstoreError {
                    outcomes.append(.failure(error))
                    continue
                }
                if let refused {
                    outcomes.append(.success(refused))
                    continue
                }
                let receipt = try admission.takeIn(append.request, &writer, &streams, &random, &transaction)
                for row in append.request.rows { try put(row, last: receipt.position, &transaction, &shared) }
                outcomes.append(.success(.appended(receipt)))
            }
        } while isJoined && rounds < Self.roundsMax && queue.takeMore(&appends, options)
        try writer.finish { try blocks.add($1, at: $0, &transaction) }
        for (name, id) in admission.newTypes {
            try tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction)
        }
        let last = Checkpoint(epoch: moment.epoch, position: admission.next.previous)
        // Nothing was admitted: there is nothing to commit.
        guard last.position > moment.last else {
            outcome.admission = consume admission
            let placing: Placing = try isBehind(outcomes, appends, transaction.reads) ? .behind : .placed
            let link = try Blocks.endLink(transaction.reads, access)
            return Attempt(placing, Done(outcomes: outcomes, last: last, link: link), &transaction)
        }
        if try !carrySweep(&outcome.sweep, admission, &transaction) { outcome.numbers = moment.numbers }
        outcome.admission = consume admission
        // Order: the keys before what is sealed under them.
        try access.keys?.subjects.flush()
        let done = Done(outcomes: outcomes, last: last, link: writer.lastLink, hasAdded: true)
        let placing = try place(appends, done, from: moment.last.next, shared.bytes, &transaction)
        guard case .placed = placing else { return Attempt(placing, done, &transaction) }
        if appends.contains(where: { !$0.request.rows.isEmpty }) {
            try beginSyncing(&transaction)
        } else {
            try makeDurable(from: moment.last.next, through: last.position, &transaction)
        }
        return .made(done)
    }

    /// The error of a commit that has failed here and is made in the cluster log.
    private func madeElsewhere(_ error: any Error) -> any Error {
        let failure = commitError(error, after: lastCommitted, path, floorBytes: options.freeDiskFloorBytes)
        // That of a broken disk stays what it is: this handle writes no more.
        if case EvstoreError.commitOutcomeUnknown = failure { return error }
        return EvstoreError.commitOutcomeUnknown(after: lastCommitted)
    }

    /// Removes the entry that is written ahead of a commit that failed, since its callers get an error.
    private mutating func undo(_ turn: WriteTurn, after error: any Error) throws {
        guard ahead.isUnconfirmed else { return }
        do { try writeAlone(turn) { session in try session.ahead.endRound() } } catch let failure {
            throw UndoneCommit(cause: error as? StorageError ?? failure as? StorageError ?? StorageError(misuse: "\(error)"))
        }
    }

    /// Whether `endRound` has something to do once appends pause.
    var isHolding: Bool { ahead.isHolding }

    /// Ends the round that this process has begun, and releases the pages that it kept from being reused.
    mutating func endRound(_ queue: CommitQueue) throws {
        guard try ahead.ownsRound() else { return ahead.letGo() }
        try writeAlone(try turn(queue)) { session in try session.ahead.endRound() }
    }

    private mutating func writeAlone(_ turn: WriteTurn, _ body: (inout CommitSession) throws -> Void) throws {
        try access.environment.writeOwned(turn) { _ in try body(&self) }
    }

    /// The writer's turn for work that no caller waits for. Waits for the holder, until closing may not wait any longer.
    mutating func turn(_ queue: CommitQueue) throws -> WriteTurn {
        let began = ContinuousClock.now
        if let turn = try access.environment.takeTurn(within: nil, while: { !queue.isGivenUp }) {
            noteTurn(turn)
            return turn
        }
        let holder = access.environment.writer ?? Environment.nobody
        throw EvstoreError.deadlinePassed(seconds: began.duration(to: .now) / .seconds(1), holder: holder)
    }

    /// Ends the round and the sweep, so that LMDB alone holds everything. After a failure of the disk nothing is claimed to be durable: the
    /// round stays open, and the next process that opens the store goes back to where the round began.
    mutating func finish(_ queue: CommitQueue, afterFailure hasFailed: Bool) throws {
        defer { ahead.letGo() }
        if hasFailed { return }
        if ahead.isHolding { try endRound(queue) }
        try finishSweep(queue)
        order?.report(access)
    }
}

/// A commit failed, and the entry ahead of it could not be removed: a recovery after a crash may still make the commit.
struct UndoneCommit: Error, CustomStringConvertible {
    let cause: StorageError

    var description: String { cause.description }
}
