internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging
internal import Platform

/// What is kept from one commit to the next, by the thread whose turn it is, and how it makes one.
struct CommitSession: ~Copyable {
    private let access: LogAccess
    private let overlays: Overlays
    private let options: Options
    private let path: String
    private var writer: BlockWriter
    private var streams = StreamTable()
    private var random = Randomness()
    private var sweep: Sweep?
    private var ahead: AheadWriter
    /// When the last commit ended: after a pause, LMDB itself makes the next one durable.
    private var ended: ContinuousClock.Instant?
    /// How the commit that is being made becomes durable: by LMDB since then, or ahead of the log, which took so long.
    private var sync = Sync.took(.zero)
    /// The number of this process's last transaction.
    private var written: UInt = 0
    /// The number of the last one that has added blocks, with the log's end and its link after that.
    private var latest: (transaction: UInt, last: Checkpoint, link: Digest)?
    /// Whether appends that come meanwhile join the commit that is being made.
    private var isJoined = true
    /// Whether the store is known to have this program's format.
    private var hasFormat = false
    private var space: FreeSpace
    private static let roundsMax = 16
    private static let backToBackInterval = Duration.milliseconds(100)

    init(_ context: LogContext, _ overlays: Overlays) throws {
        (access, options, path, self.overlays) = (context.access, context.options, context.path, overlays)
        writer = BlockWriter(access.storeID, access.keys)
        ahead = try AheadWriter(path, access)
        space = FreeSpace(path, floorBytes: options.freeDiskFloorBytes)
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

    private enum Sync {
        case began(ContinuousClock.Instant)
        case took(Duration)
    }

    /// What a transaction has made that holds once it is committed.
    private struct Outcome {
        /// The sweep of the indexes that is under way.
        var sweep: Sweep?
        var admission: Admission?
    }

    /// Takes a batch from the queue under LMDB's lock, so that work which arrived during the wait for it is included, and makes one
    /// transaction of it. `batch` is that batch, also where this throws; one that is given is committed alone.
    /// - Parameter takeTurn: takes the writer's turn among processes, which ends with this call.
    /// - Returns: nil without the turn, or where nothing waits any more.
    mutating func run(
        _ queue: CommitQueue, _ batch: inout CommitQueue.Batch?, _ takeTurn: () throws -> WriteTurn?
    ) throws -> Done? {
        guard let turn = try takeTurn() else { return nil }
        isJoined = batch == nil
        do { return try attempt(queue, turn, &batch) } catch {
            try undo(turn, after: error)
            throw error
        }
    }

    private mutating func attempt(_ queue: CommitQueue, _ turn: WriteTurn, _ batch: inout CommitQueue.Batch?) throws -> Done? {
        var outcome = Outcome(sweep: sweep)
        var done = try access.environment.writeOwned(turn) { transaction -> Done? in
            // After the map has grown this runs again with the same batch, whose outcome may be another.
            outcome = Outcome(sweep: sweep)
            if ahead.isUnconfirmed { try ahead.endRound() }
            if batch == nil { batch = queue.take(options) }
            written = transaction.id
            guard let work = batch else { return nil }
            guard let moment = try Moment(transaction.reads, access, overlays) else {
                throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
            }
            if !hasFormat { try Manifest.raise(at: path) }
            hasFormat = true
            switch work {
            case .update(let update):
                var transaction = transaction
                try ahead.endRound()
                transaction.setSyncing(true)
                var changes = try LogUpdate.begin(transaction, access, moment)
                try update.body(&changes)
                try changes.finish()
                return Done(last: changes.last, link: try Blocks.endLink(changes.transaction.reads, access))
            case .appends(var appends):
                defer { batch = .appends(appends) }
                var transaction = transaction
                streams.begin(moment.epoch, after: transaction.id - 1)
                return try commit(&appends, queue, moment, &transaction, &outcome)
            }
        }
        sweep = outcome.sweep
        let now = ContinuousClock.now
        ended = now
        switch sync {
        case .began(let began): done?.sync = began.duration(to: now)
        case .took(let duration): done?.sync = duration
        }
        if let done { ahead.confirm(done.last.position) }
        latest = done.flatMap { done in done.hasAdded ? (written, done.last, done.link) : nil }
        if let admission = outcome.admission { note(admission) }
        return done
    }

    /// What was admitted has been committed.
    private mutating func note(_ admission: Admission) {
        var admission = admission
        // LMDB gives the number of a transaction that has changed nothing to the next one.
        streams.noteCommitted(after: admission.count > 0 ? written : written - 1)
        if admission.count == 0 { return }
        for (name, id) in admission.newTypes { access.names.learn(id, name) }
        // What an admission notes has no keys of further indexes: the overlay reads the blocks again then.
        guard access.tables.positionIndexes.isEmpty else { return }
        admission.moment.overlay.merge(first: admission.moment.last.next, through: Position(admission.next.rawValue - 1)) {
            admission.note(in: &$0, streams)
        }
    }

    private mutating func commit(
        _ appends: inout [CommitQueue.Append], _ queue: CommitQueue, _ moment: Moment, _ transaction: inout WriteTransaction,
        _ outcome: inout Outcome
    ) throws -> Done {
        let tables = access.tables
        let now = Timestamp.now
        // The overlay need not read blocks that this process has written itself, with no other writer in between.
        let known = latest?.transaction == transaction.id - 1 && latest?.last.epoch == moment.epoch ? latest?.link : nil
        let link = try known ?? Blocks.lastLink(transaction.reads, access, moment.epoch)
        var admission = try Admission(moment, access, transaction.reads, time: now)
        writer.begin(moment.epoch, first: moment.last.next, link: link, time: now)
        try access.keys?.subjects.begin()
        var outcomes: [Result<AppendOutcome, any Error>] = []
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
                for row in append.request.rows { try put(row, last: receipt.position, &transaction) }
                outcomes.append(.success(.appended(receipt)))
            }
        } while isJoined && rounds < Self.roundsMax && queue.takeMore(&appends, options)
        try writer.finish { try transaction.append(tables.blocks, bytes($0.rawValue).lent, $1) }
        for (name, id) in admission.newTypes {
            try tables.types.put(Array(name.utf8).lent, bytes(id).lent, &transaction)
        }
        outcome.admission = admission
        let last = Checkpoint(epoch: moment.epoch, position: Position(admission.next.rawValue - 1))
        // Nothing was admitted: there is nothing to commit.
        guard last.position > moment.last else {
            return Done(outcomes: outcomes, last: last, link: try Blocks.endLink(transaction.reads, access))
        }
        try carrySweep(&outcome.sweep, admission, &transaction)
        // Order: the keys before what is sealed under them.
        try access.keys?.subjects.flush()
        let hasRows = appends.contains { !$0.request.rows.isEmpty }
        try makeDurable(from: moment.last.next, through: last.position, hasRows: hasRows, &transaction)
        return Done(outcomes: outcomes, last: last, link: writer.lastLink, hasAdded: true)
    }

    /// Makes the blocks durable ahead of the log, where that is quicker and the transaction writes nothing else; otherwise LMDB does it.
    private mutating func makeDurable(
        from first: Position, through last: Position, hasRows: Bool, _ transaction: inout WriteTransaction
    ) throws {
        let began = ContinuousClock.now
        let isBackToBack = ahead.isHolding || ended.map { $0.duration(to: began) < Self.backToBackInterval } ?? false
        if isBackToBack, !hasRows, try ahead.write(from: first, through: last, &transaction) {
            transaction.setSyncing(false)
            sync = .took(began.duration(to: .now))
        } else {
            try ahead.endRound()
            transaction.setSyncing(true)
            sync = .began(began)
        }
    }

    /// Removes the entry that is durable ahead of a commit that failed, since its callers get an error.
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
    private func turn(_ queue: CommitQueue) throws -> WriteTurn {
        let began = ContinuousClock.now
        if let turn = try access.environment.takeTurn(within: nil, while: { !queue.isGivenUp }) { return turn }
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
    }

    private func put(_ row: SideRow, last: Position, _ transaction: inout WriteTransaction) throws {
        try Rows.check(row.key, row.catalogue)
        let table = access.tables[row.catalogue]
        guard row.catalogue == .imports else { return try table.put(row.key.lent, row.value.lent, &transaction) }
        // A mark belongs to the first append of its lines: a cut that keeps that one, and removes a repeated one, must keep the mark.
        if try table.get(row.key.lent, transaction.reads) != nil { return }
        // A cut has to know which import marks lie beyond it.
        try table.put(row.key.lent, (bytes(last.rawValue) + row.value).lent, &transaction)
    }

    private func carrySweep(_ swept: inout Sweep?, _ admission: Admission, _ transaction: inout WriteTransaction) throws {
        let moment = admission.moment
        let waiting = moment.last.rawValue - moment.numbers.indexed.rawValue
        if let sweep = swept, !sweep.fits(moment.numbers) { swept = nil }
        if swept == nil && waiting >= UInt64(options.sweepDueEvents) { swept = try Sweep(moment, transaction.reads, access) }
        guard var sweep = swept else { return }
        let events = admission.count
        let isForced = waiting >= UInt64(options.sweepForcedEvents)
        let isBig = events >= options.sweepSliceEntries / 8
        guard isForced || isBig else { return }
        let isDone = try sweep.write(max(options.sweepSliceEntries, events * 2), &transaction, access.tables) {
            try moment.head($0, $1, access)
        }
        swept = isDone ? nil : sweep
    }

    /// Writes the rest of a sweep that is under way.
    private mutating func finishSweep(_ queue: CommitQueue) throws {
        guard var rest = sweep else { return }
        sweep = nil
        var isDone = false
        while !isDone {
            var slice = rest
            let turn = try turn(queue)
            isDone = try access.environment.writeOwned(turn) { transaction in
                var transaction = transaction
                try ahead.endRound()
                transaction.setSyncing(true)
                guard let moment = try Moment(transaction.reads, access, overlays), rest.fits(moment.numbers) else { return true }
                // A grown map runs this again.
                slice = rest
                return try slice.write(65_536, &transaction, access.tables) { try moment.head($0, $1, access) }
            }
            rest = slice
        }
    }
}

/// A commit failed, and the entry ahead of it could not be removed: a recovery after a crash may still make the commit.
struct UndoneCommit: Error, CustomStringConvertible {
    let cause: StorageError

    var description: String { cause.description }
}
