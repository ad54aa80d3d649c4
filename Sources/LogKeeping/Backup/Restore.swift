internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import LMDB
internal import Migration
internal import Platform
internal import Projections

/// The store that a restore makes, and how.
package struct RestoredStore {
    let path: String
    /// How far its log goes; nil for the backup's end.
    let target: RestoreTarget?
    let options: Options
    /// The backup that a replica is made from; nil for a store of its own.
    let origin: ReplicaOrigin?

    package init(at path: String, to target: RestoreTarget?, options: Options, as origin: ReplicaOrigin? = nil) {
        (self.path, self.target, self.options, self.origin) = (path, target, options, origin)
    }
}

package enum Restore {
    /// - Parameters:
    ///   - path: a backup's directory, or a file of frames.
    ///   - number: the number of one of the directory's runs; the newest run where nil.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from path: String, run number: UInt64? = nil, into store: RestoredStore, _ job: Job
    ) throws(EvstoreError) -> RestoreReport {
        let (files, ledger) = try files(of: path, run: number)
        return try run(from: files.reading(job), named: path, forgetting: ledger, into: store, job)
    }

    /// - Parameters:
    ///   - source: returns the next bytes of a backup, fewer than asked for only at its end.
    ///   - name: what an error calls the backup.
    ///   - ledger: what was forgotten since the backup was made.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull, interrupted.
    package static func run(
        from source: @escaping (Int) throws -> [UInt8], named name: String, forgetting ledger: [ForgottenLedger.Entry] = [],
        into store: RestoredStore, _ job: Job
    ) throws(EvstoreError) -> RestoreReport {
        let began = Instant.now
        do {
            try job.check()
            let summary = try EventLog.restore(
                from: source, named: name, into: store.path, to: store.target, options: store.options, forgetting: ledger
            ) { bytes in
                try job.advance("restore", done: bytes, total: 0)
            } finish: { update in
                // The new store builds its read models from the log.
                update.state.generations = [:]
                // Rows that only a newer program can read are restored for it.
                do { _ = try RegisteredRows.registered(update, in: name) } catch EvstoreError.schemaNewer {
                } catch EvstoreError.storeDamaged(_, let reason) { throw BackupDamage(reason) }
                guard try update.state.numbers.fit(update.rows(.schemas).count) else {
                    throw BackupDamage("its numbers are \(update.state.numbers), and it has no such versions")
                }
                let live = update.state.live
                try Journal.append(
                    .init(.restore, to: live, position: update.last.position, duration: began.duration(to: .now)), to: &update)
            }
            return RestoreReport(
                position: summary.last.position, epoch: summary.last.epoch, backupPosition: summary.backup.position,
                leftOut: summary.leftOut,
                content: summary.content.hex, bytes: summary.bytes, duration: began.duration(to: .now))
        } catch { throw EvstoreError(converting: error, at: store.path, doing: "restoring \(name)") }
    }

    /// Locks a directory against backups, which remove files; nil where it has no lock file.
    static func lock(_ path: String) throws -> File? {
        guard try Directory.status(path + "/lock") != nil else { return nil }
        let lock = try File(path + "/lock", .read)
        guard try lock.lock(byte: 0, shared: true) else { throw EvstoreError.locked(path: path, holder: "a backup") }
        return lock
    }

    private static func files(of path: String, run number: UInt64?) throws(EvstoreError) -> (FileSequence, [ForgottenLedger.Entry]) {
        do {
            guard let status = try Directory.status(path) else { throw EvstoreError.usage("there is no backup at \(path.shellWord)") }
            if !status.isDirectory {
                if number != nil { throw EvstoreError.usage("\(path) is one backup and has no runs") }
                return (FileSequence([path]), [])
            }
            let lock = try lock(path)
            let directory = BackupDirectory(path)
            let run = try directory.chosen(number)
            // What was forgotten must not come back.
            try directory.checkLedger(directory.newestReadable())
            return (FileSequence(run.files(in: path), holding: lock), try directory.ledger())
        } catch { throw EvstoreError(converting: error, at: path, doing: "reading the backup \(path)") }
    }
}

package struct RestoreSummary: Hashable, Sendable {
    /// The end of the new log, in an epoch of its own, so that a reader with a later checkpoint gets an error.
    package var last: Checkpoint
    package var backup: Checkpoint
    /// The append that contains the requested position and ends after it; nil where that position ends an append.
    package var leftOut: ClosedRange<UInt64>?
    package var content: Digest
    package var bytes: UInt64
}

extension EventLog {
    /// Makes a store from a backup: completely at its path, or not at all. Every frame, block, link and index is checked first. A position
    /// within an append is rounded down to the end of the append before; one within the first append is an error.
    /// - Parameters:
    ///   - source: returns the next bytes of the backup, fewer than asked for only at its end.
    ///   - ledger: what was forgotten since the backup; the new store forgets it too.
    ///   - origin: makes a replica, which stays in the backup's epoch and gets its mark; nil makes a store of its own.
    ///   - finish: writes further rows, in the transaction that sets the end of the log.
    /// - Throws: `EvstoreError`: storeExists, backupDamaged, notInBackup, diskFull.
    package static func restore(
        from source: @escaping (Int) throws -> [UInt8], named name: String, into store: String, to point: RestoreTarget? = nil,
        options: Options, forgetting ledger: [ForgottenLedger.Entry] = [], as origin: ReplicaOrigin? = nil,
        progress: (UInt64) throws -> Void = { _ in }, finish: @escaping (inout LogUpdate) throws -> Void = { _ in }
    ) throws -> RestoreSummary {
        try make(at: store, options) { made in
            do {
                let target = RestoredStore(at: made, to: point, options: options, as: origin)
                var restoring = try Restoring(FrameReader(source), named: name, into: target, ledger)
                defer { restoring.log.close() }
                return try restoring.run(progress, finish)
            } catch let damage as BackupDamage {
                throw EvstoreError.backupDamaged(path: name, reason: damage.reason)
            } catch EvstoreError.keysRefused(_, let reason) {
                // The keys are the backup's, and lie in a directory that is gone when somebody reads this.
                throw EvstoreError.keysRefused(path: name, reason: reason)
            }
        }
    }
}

private struct Restoring {
    let log: LogBuilder
    /// The second frame, read early to learn whether the store is sealed.
    private var ahead: (kind: BackupFrame.Kind, body: [UInt8])?
    private let ledger: [ForgottenLedger.Entry]
    private let point: RestoreTarget?
    private let options: Options
    private let store: String
    private let origin: ReplicaOrigin?
    private let madeAt: Timestamp
    private var frames: FrameReader
    private var hasher = ContentHasher()
    /// The end of the blocks that were read, and of those that were stored.
    private var read = Position.start
    private var stored = Position.start
    /// The end of the append that contains the requested position, once it was read.
    private var appendEnd: Position?
    private var firstTime: Timestamp?
    private var lastLink: Digest?

    init(_ frames: FrameReader, named name: String, into target: RestoredStore, _ ledger: [ForgottenLedger.Entry]) throws {
        (point, options, store, origin) = (target.target, target.options, target.path, target.origin)
        (self.frames, self.ledger) = (frames, ledger)
        let (kind, body) = try self.frames.next()
        guard kind == .beginning, body.count == BackupFrame.beginningBytes, let storeID = StoreID(Array(body[..<16])) else {
            throw BackupDamage("it does not begin with a beginning")
        }
        madeAt = Timestamp(microseconds: body.lent.load(Int64.self, at: 16))
        let second = try self.frames.next()
        if origin != nil, second.kind == .keys { throw EvstoreError.sealedReplica(name) }
        ahead = second.kind == .keys ? nil : second
        log = try LogBuilder(at: store, storeID, options, Self.keys(second, options, named: name))
    }

    private var access: LogAccess { log.access }

    private static func keys(
        _ second: (kind: BackupFrame.Kind, body: [UInt8]), _ options: Options, named name: String
    ) throws -> KeySource? {
        switch (second.kind, options.secret) {
        case (.keys, nil): throw EvstoreError.keysRefused(path: name, reason: "its events are sealed, and no key was given")
        case (.keys, .some(let secret)): return .copied(second.body, secret)
        case (_, nil): return nil
        case (_, .some):
            throw EvstoreError.keysRefused(
                path: name, reason: "its events are not sealed; restore it without a key, then `recipher` the store")
        }
    }

    private mutating func next() throws -> (kind: BackupFrame.Kind, body: [UInt8]) {
        defer { ahead = nil }
        return try ahead ?? frames.next()
    }

    mutating func run(_ progress: (UInt64) throws -> Void, _ finish: (inout LogUpdate) throws -> Void) throws -> RestoreSummary {
        try frames.prove(by: access.keys?.codes)
        while true {
            let (kind, body) = try next()
            switch kind {
            case .keys: try replaceKeys(body)
            case .subjects:
                guard let keys = access.keys else { throw BackupDamage("it has keys of subjects, and its events are not sealed") }
                try keys.subjects.put(body)
            case .beginning: throw BackupDamage("it has two beginnings")
            case .blocks: try storeBlocks(body)
            case .rows:
                let log = log
                try log.write { transaction in
                    try BackupRows.forEach(body, log.access.tables) { table, key, value in try table.put(key, value, &transaction) }
                }
            case .end: return try end(body, progress, finish)
            }
            try progress(frames.bytes)
        }
    }

    /// Writes a key file that was changed during the backup.
    private func replaceKeys(_ body: [UInt8]) throws {
        guard let keys = access.keys else { throw BackupDamage("it has keys, and its events are not sealed") }
        try StoreKeys.write(body, at: store)
        _ = try keys.current()
    }

    /// Checks the blocks of a frame and stores the wanted ones.
    private mutating func storeBlocks(_ body: [UInt8]) throws {
        let frame = body.lent
        var wanted: [(first: Position, start: Int, count: Int)] = []
        var offset = 0
        while offset < frame.byteCount {
            let rest = frame.slice(offset, frame.byteCount - offset)
            let size = rest.byteCount < BlockLayout.headerBytes ? 0 : Int(rest.load(UInt32.self, at: BlockLayout.Header.bytes))
            do {
                let block = try Blocks.checked(rest.slice(0, min(size, rest.byteCount)), at: read.next, access)
                let access = access
                // The frames of the subjects' keys follow later, and the content's digest does not need them.
                try access.openWithoutPersons(block) { try hasher.add($0, access.names) }
                noteAppendEnd(block)
                (read, lastLink, firstTime) = (block.last, block.link, firstTime ?? block.time)
                if isWanted(block) {
                    wanted.append((block.first, offset, size))
                    stored = block.last
                }
            } catch let error as EvstoreError { throw BackupDamage(error.message) }
            offset += size
        }
        let log = log
        try log.write { transaction in
            for (first, start, count) in wanted {
                try transaction.append(log.access.tables.blocks, bytes(first.rawValue).lent, frame.slice(start, count))
            }
        }
    }

    private mutating func noteAppendEnd(_ block: BlockView) {
        guard case .position(let position) = point, appendEnd == nil, block.last > position else { return }
        for index in block.index(after: position) ..< block.count where !block.record(index).continuesAppend {
            return appendEnd = block.record(index).position.previous
        }
    }

    private func isWanted(_ block: BlockView) -> Bool {
        switch point {
        case nil: true
        // One more block, since the append may continue in it.
        case .position(let position): block.first <= position.next
        // Clocks go back: a block behind one that is too late is not wanted, whatever its time.
        case .time(let time): block.time <= time && block.first == stored.next
        }
    }

    private mutating func end(
        _ body: [UInt8], _ progress: (UInt64) throws -> Void, _ finish: (inout LogUpdate) throws -> Void
    ) throws -> RestoreSummary {
        guard let said = LogEnd(body), try frames.isAtEnd() else { throw BackupDamage("something follows its end") }
        let backup = said.last
        guard backup.position == read, lastLink.map({ $0 == said.link }) ?? true, said.content == hasher.finalize() else {
            throw BackupDamage("its events do not match its end")
        }
        try checkNumbers()
        let last = try origin.map { try keep($0.mark(said, madeAt: madeAt), backup) } ?? cut(backup, finish)
        if let finding = try log.complete({ try progress(frames.bytes) }) {
            throw BackupDamage("\(finding.id) \(finding.message)")
        }
        // The digest of all events was compared above, and the builder has checked that each can be opened.
        let content = last.position == backup.position ? said.content : try content(progress)
        return RestoreSummary(
            last: last, backup: backup, leftOut: leftOut(after: last.position, backup), content: content, bytes: frames.bytes)
    }

    /// The digest of the restored events, where some of the backup's were left out.
    private func content(_ progress: (UInt64) throws -> Void) throws -> Digest {
        var hasher = ContentHasher()
        try access.scan(options) { block in
            try hasher.add(block, access.names)
            try progress(frames.bytes)
        }
        return hasher.finalize()
    }

    private func checkNumbers() throws {
        try access.environment.read { transaction in
            let state = try StateRows.state(transaction, access.tables)
            guard state.storeID == access.storeID else { throw BackupDamage("its rows are of another store") }
            let versions = try access.tables[.schemas].count(transaction)
            guard state.format == StateRows.format, state.epoch < Epoch(.max), state.numbers.head <= .largest,
                versions == 0 ? state.numbers.isInOrder : state.numbers.fit(versions)
            else { throw BackupDamage("its numbers are invalid") }
        }
    }

    /// Ends the log where the backup ends, in the backup's epoch, as a replica.
    private func keep(_ mark: ReplicaMark, _ backup: Checkpoint) throws -> Checkpoint {
        try Manifest.set(isOrderedElsewhere: true, at: store)
        return try log.update { update in
            try update.put(mark)
            guard update.last == backup else { throw BackupDamage("the epoch of its numbers is not that of its end") }
            return update.last
        }
    }

    /// Ends the log at the requested point and begins the next epoch.
    private func cut(_ backup: Checkpoint, _ finish: (inout LogUpdate) throws -> Void) throws -> Checkpoint {
        let end = try wantedEnd(backup)
        return try log.update { update in
            let position = try lastWhole(end, update.transaction.reads)
            if position == .start, let append = leftOut(after: position, backup) {
                throw EvstoreError.notInBackup(
                    wanted: "what was appended up to position \(end)",
                    has: "a first append of positions \(append.lowerBound) to \(append.upperBound): all of it or nothing")
            }
            // The original, and each store restored from it, go on with other events: each needs an epoch that no other one has.
            try update.cut(to: position, later: .fromClock)
            try forgetAgain(&update)
            try finish(&update)
            return update.last
        }
    }

    /// The append after `last`, if it contains the requested position.
    private func leftOut(after last: Position, _ backup: Checkpoint) -> ClosedRange<UInt64>? {
        guard case .position(let wanted) = point, wanted > last else { return nil }
        return last.next.through(appendEnd ?? backup.position)
    }

    /// Overwrites the keys of what was forgotten before the backup or since.
    private func forgetAgain(_ update: inout LogUpdate) throws {
        guard let keys = access.keys else { return }
        let ring = keys.subjects.ring
        guard ledger.allSatisfy({ $0.isProven(by: ring) }) else {
            throw BackupDamage("its ledger of what was forgotten is not as it was written")
        }
        try keys.subjects.forgetAgain(ForgottenLedger.entries(update.transaction.reads, access.tables, ring) + ledger)
        try update.note(ledger.map { ForgottenSubject(code: $0.forgotten.code, through: $0.forgotten.through, isNew: false) })
    }

    private func wantedEnd(_ backup: Checkpoint) throws -> Position {
        let range = "positions 1 to \(backup.position)"
        switch point {
        case nil: return backup.position
        case .position(let position):
            guard position > .start, position <= backup.position else {
                throw EvstoreError.notInBackup(wanted: "position \(position)", has: range)
            }
            return position
        case .time(let time):
            guard let firstTime, firstTime <= time else {
                throw EvstoreError.notInBackup(wanted: "\(time)", has: firstTime.map { "what was committed from \($0) on" } ?? "no events")
            }
            return stored
        }
    }

    /// The end of the last append that is complete at a position.
    private func lastWhole(_ position: Position, _ transaction: borrowing ReadTransaction) throws -> Position {
        var position = position
        while position > .start, let next = try Blocks.record(at: position.next, transaction, access), next.continuesAppend {
            position = position.previous
        }
        return position
    }
}
