internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging

/// What the writing thread keeps from one commit to the next, and how it makes one.
struct CommitSession: ~Copyable {
    private let access: LogAccess
    private let overlays: Overlays
    private let options: Options
    private let path: String
    private let hint: HolderHint
    private var writer: BlockWriter
    private var memory = StreamMemory()
    private var random = Randomness()
    private var sweep: Sweep?

    init(_ access: LogAccess, _ overlays: Overlays, _ options: Options, path: String, lockFile: File) {
        (self.access, self.overlays, self.options, self.path) = (access, overlays, options, path)
        hint = HolderHint(lockFile, slot: HolderHint.writer)
        writer = BlockWriter(access.storeID)
    }

    /// What a commit has done, for those who wait for it.
    struct Done {
        var outcomes: [Result<AppendOutcome, any Error>] = []
        var last: Checkpoint
        /// Of the last block, which may be of an earlier epoch.
        var link: Digest
    }

    /// Takes from the queue under LMDB's lock, so that what arrived while waiting for it goes along,
    /// and makes one transaction of it. `batch` is what was taken, also where this throws.
    mutating func run(_ queue: CommitQueue, _ batch: inout CommitQueue.Batch?) throws -> Done? {
        var swept = sweep
        var admitted: Admission?
        let done = try access.environment.writeOwned { transaction -> Done? in
            // A grown map runs this again with what was taken before.
            if batch == nil {
                try hint.write("writing")
                batch = queue.take(options)
            }
            guard let batch else { return nil }
            guard let moment = try Moment(transaction.reads, access, overlays) else {
                throw EvstoreError.storeDamaged(path: path, reason: "the log is older than what this process has read of it")
            }
            memory.follow(moment.epoch)
            switch batch {
            case .update(let update):
                var changes = try LogUpdate.begin(transaction, access, moment)
                try update.body(&changes)
                try changes.finish()
                return Done(last: changes.last, link: try Blocks.endLink(changes.transaction.reads, access))
            case .appends(let appends):
                var transaction = transaction
                try checkFreeSpace(appends)
                return try commit(appends, moment, &transaction, &swept, &admitted)
            }
        }
        sweep = swept
        if let admitted, admitted.next > admitted.moment.last.next {
            for (name, id) in admitted.newTypes { access.names.learn(id, name) }
            admitted.moment.overlay.merge(
                admitted.entries, first: admitted.moment.last.next, through: Position(admitted.next.rawValue - 1))
        }
        return done
    }

    private mutating func commit(
        _ appends: [CommitQueue.Append], _ moment: Moment, _ transaction: inout WriteTransaction, _ swept: inout Sweep?,
        _ admitted: inout Admission?
    ) throws -> Done {
        let tables = access.tables
        let now = Timestamp.now
        let link = try Blocks.lastLink(transaction.reads, access, moment.epoch)
        var admission = try Admission(moment, access, transaction.reads, time: now)
        writer.begin(moment.epoch, first: moment.last.next, link: link, time: now)
        var outcomes: [Result<AppendOutcome, any Error>] = []
        for append in appends {
            do {
                let outcome = try admission.admit(append.request, &writer, &memory, &random, &transaction)
                outcomes.append(.success(outcome))
                guard case .appended(let receipt) = outcome else { continue }
                for row in append.request.rows { try put(row, last: receipt.position, &transaction) }
            } catch let error as EvstoreError {
                outcomes.append(.failure(error))
            }
        }
        try writer.finish { try transaction.append(tables.blocks, bytes($0.rawValue).lent, $1) }
        for (name, id) in admission.newTypes { try transaction.put(tables.types, Array(name.utf8).lent, bytes(id).lent) }
        try carrySweep(&swept, admission, &transaction)
        admitted = admission
        let last = Checkpoint(epoch: moment.epoch, position: Position(admission.next.rawValue - 1))
        let endLink = last.position > moment.last ? writer.lastLink : try Blocks.endLink(transaction.reads, access)
        return Done(outcomes: outcomes, last: last, link: endLink)
    }

    private func put(_ row: SideRow, last: Position, _ transaction: inout WriteTransaction) throws {
        try Rows.check(row.key, row.catalogue)
        // A cut has to know which import marks lie beyond it.
        let value = row.catalogue == .imports ? bytes(last.rawValue) + row.value : row.value
        try transaction.put(access.tables[row.catalogue], row.key.lent, value.lent)
    }

    private func carrySweep(_ swept: inout Sweep?, _ admission: Admission, _ transaction: inout WriteTransaction) throws {
        let moment = admission.moment
        let waiting = moment.last.rawValue - moment.numbers.indexed.rawValue
        if let sweep = swept, !sweep.fits(moment.numbers) { swept = nil }
        if swept == nil && waiting >= UInt64(options.sweepDueEvents) { swept = try Sweep(moment, transaction.reads, access) }
        guard var sweep = swept else { return }
        let events = Int(admission.entries.events)
        let isForced = waiting >= UInt64(options.sweepForcedEvents)
        let isBig = events >= options.sweepSliceEntries / 8
        guard isForced || isBig else { return }
        let isDone = try sweep.write(max(options.sweepSliceEntries, events * 2), &transaction, access.tables) {
            try admission.head($0, $1)
        }
        swept = isDone ? nil : sweep
    }

    /// Writes what a sweep that is under way has left.
    mutating func finishSweep() throws {
        guard var rest = sweep else { return }
        sweep = nil
        var isDone = false
        while !isDone {
            isDone = try access.environment.writeOwned { transaction in
                var transaction = transaction
                guard let moment = try Moment(transaction.reads, access, overlays), rest.fits(moment.numbers) else { return true }
                var slice = rest
                let isDone = try slice.write(65_536, &transaction, access.tables) { try moment.head($0, $1, access) }
                rest = slice
                return isDone
            }
        }
    }

    private func checkFreeSpace(_ appends: [CommitQueue.Append]) throws {
        let free = freeBytes(path)
        let needed = appends.reduce(options.freeDiskFloorBytes) { $0 + 2 * $1.request.payloadBytes }
        if free < UInt64(needed) { throw EvstoreError.diskFull(path: path, freeBytes: free) }
    }
}
