internal import Bytes
package import EventModel
internal import LMDB
package import Logging
package import Platform

/// The state that all parts of an open log share.
package struct LogContext: Sendable {
    package let path: String
    package let access: LogAccess
    let options: Options
    package let logger: Logger
    /// The store's membership in a cluster log; nil where it belongs to none.
    var membership: ClusterMembership?
    /// The order of commits; nil unless this is a node that was opened for writing.
    var order: (any CommitOrder)?
    /// For a node: the result of the last query of its cluster log.
    package let nodeHealth = NodeHealth()
    var isReplica = false
    /// For a node: refuses frames that register something that no program could read.
    package internal(set) var judge: CatalogueValidator?
    /// For a node: keeps the events that a cut takes off.
    package internal(set) var tailKeeping: WeakTailKeeper?
}

/// The append-only log of a store, its source of truth: events as bytes, in order, durable when an append has returned.
package final class EventLog: Sendable {
    package let path: String
    package let options: Options
    package let isReadOnly: Bool
    package let access: LogAccess
    let overlays = Overlays()
    let logger: Logger
    private let signal: CommitSignal
    /// Nil where the log was opened for reading only.
    private let committer: Committer?
    /// The membership in a cluster log when the log was opened; nil where the store belonged to none.
    package let membership: ClusterMembership?
    /// Whether the log was opened as a replica; the store may have been promoted since.
    package let isReplica: Bool
    /// The order of commits; nil unless this is a node that was opened for writing.
    package let order: (any CommitOrder)?
    package let nodeHealth: NodeHealth
    private let presence: HeldLock
    private let healthMonitor: HealthMonitor
    let ballast: Ballast
    private let isClosed = Monitor(false)

    package var storeID: StoreID { access.storeID }

    /// Owns the open environment and the lock.
    init(_ context: LogContext, readOnly: Bool, _ presence: HeldLock) throws {
        let (access, options) = (context.access, context.options)
        (path, self.access, self.options, logger) = (context.path, access, options, context.logger)
        (isReadOnly, self.presence) = (readOnly, presence)
        let signal = try CommitSignal(watching: [path + "/log/data.mdb", path + WriteAhead.fileName], options) {
            try access.environment.read { transaction in
                try Blocks.end(transaction, access)
            }
        }
        self.signal = signal
        committer = readOnly ? nil : try Committer(context, overlays, signal)
        (membership, order, nodeHealth, isReplica) = (context.membership, context.order, context.nodeHealth, context.isReplica)
        ballast = Ballast(path, options)
        healthMonitor = HealthMonitor(access.environment, readOnly ? nil : ballast, logger)
        context.tailKeeping?.begin(self)
    }

    func start() throws {
        try committer?.start()
        try healthMonitor.start()
    }

    /// Closes the log unless `close` was called. No call of this log may run at that moment, and an object does not wait for its own
    /// methods after their last use of it: so each method keeps the log alive to its end (`withExtendedLifetime(self)`).
    deinit {
        if !isOfThisProcess || isClosed.withLock({ $0 }) { return }
        healthMonitor.end()
        order?.end(waiting: false)
        // Nothing waits here: the writing thread ends by itself and then closes the files.
        let (environment, presence) = (access.environment, presence)
        signal.close()
        // Order: the lock is released last, since a process that finds it free may recover the log.
        let end: @Sendable () -> Void = { withExtendedLifetime(presence) { environment.close() } }
        if let committer { committer.close(end) } else { end() }
    }

    /// Appends events and returns when they are durable.
    /// - Throws: `EvstoreError`: expectationFailed, idReused, deadlinePassed, diskFull, commitOutcomeUnknown,
    ///   appendTooLarge, eventTooLarge, readOnly, replica.
    package nonisolated(nonsending) func append(_ request: AppendRequest) async throws -> AppendOutcome {
        defer { withExtendedLifetime(self) {} }
        guard let committer else { throw EvstoreError.readOnly(path: path) }
        // Order: a mark that was removed never comes back, so the result of this check still holds when the append is committed.
        try requireOwn()
        try request.checkLimits(options)
        do {
            try access.environment.checkProcess()
            return try await committer.append(request)
        } catch { throw failure(error, doing: "appending") }
    }

    /// Runs `body` in one durable transaction on the writing thread; an error of `body` undoes everything. `body` may run again from the
    /// start if the map has to grow.
    package func update<R: Sendable>(_ body: @escaping @Sendable (inout LogUpdate) throws -> R) async throws -> R {
        defer { withExtendedLifetime(self) {} }
        guard let committer else { throw EvstoreError.readOnly(path: path) }
        let made = Monitor<R?>(nil)
        do {
            try access.environment.checkProcess()
            try await committer.update { changes in
                let result = try body(&changes)
                made.withLock { $0 = result }
            }
        } catch { throw failure(error, doing: "writing to the store") }
        guard let result = made.withLock({ $0 }) else { throw EvstoreError.misuse("an update ended without its result") }
        return result
    }

    /// Takes in all commits of the cluster log that this node lacks; no-op for a store that belongs to none.
    /// - Parameters:
    ///   - interval: how long to retry if the cluster log does not answer; nil for as long as an append waits.
    ///   - end: when to stop asking for more if there is much to take in; nil for never.
    /// - Throws: `EvstoreError`: logUnavailable, clusterWentBack, clusterDamaged, clusterMismatch.
    package func takeInFrames(within interval: Duration? = nil, until end: Instant? = nil) async throws {
        defer { withExtendedLifetime(self) {} }
        guard let committer, membership != nil else { return }
        while true {
            let before = try read { $0.last }
            do { return try await committer.update(within: interval, nil) } catch {
                let failure = storeError(error, path, doing: "following the cluster log")
                // If there is much to take in, it comes in several parts.
                guard case .logUnavailable = failure, try read({ $0.last }) != before, end.map({ .now < $0 }) ?? true else { throw failure }
            }
        }
    }

    /// Makes durable on this node's disk what can be read of the log: its commits are durable in the cluster log, and here some time later.
    /// Call it before durably storing anything that was derived from the log, so that this is never ahead of the log. In a store that is
    /// alone every commit is durable before it can be read.
    package func makeDurable() throws {
        try converting("syncing the log") {
            // Read from the store, not taken from the opening: the store may have become a node since.
            let isNode = try access.environment.read { try StateRows.node($0, access.tables) != nil }
            if isNode { try access.makeDurable(at: path) }
        }
    }

    /// Reports this node's position to the cluster log if it can be reached. No-op for a store that belongs to none.
    package func reportNode() { order?.reportNow() }

    /// The error that keeps the cluster log from being asked, and for how long; nil while there is none, and where the store belongs to
    /// none.
    package var clusterTrouble: (error: EvstoreError, duration: Duration)? {
        nodeHealth.trouble.map { ($0.error, $0.since.duration(to: .now)) }
    }

    /// Runs `body`, keeps the log alive to its end (see `deinit`), and converts its error.
    func converting<R>(_ doing: @autoclosure () -> String, _ body: () throws -> R) throws -> R {
        defer { withExtendedLifetime(self) {} }
        do { return try body() } catch { throw failure(error, doing: doing()) }
    }

    /// The name that the type of a lent event has at its birth version.
    package func name(ofType id: TypeID) -> String { access.names[id] ?? "" }

    /// Waits until there is an event after `position`, or a cut is made; returns the last position,
    /// which is not after it where the deadline passed or a cut came first.
    package func wait(after position: Position, deadline: Instant?) async throws -> Position {
        defer { withExtendedLifetime(self) {} }
        do {
            let last = try read { $0.last.position }
            return last > position ? last : try await signal.wait(after: position, deadline: deadline)
        } catch let error as StorageError { throw failure(error, doing: "waiting for events") }
    }

    /// Makes this process the only one that has the store open, or fails after half a second: a program that was just started by a process
    /// which has closed the store holds that process's locks until then.
    /// - Throws: `EvstoreError.locked`, naming a holder.
    package func acquireExclusively(what: String) throws {
        try converting("locking the store") {
            try access.environment.checkProcess()
            for _ in 0 ..< 50 {
                if try presence.takeIfFree(shared: false, what: what) { return }
                _ = Monitor(false).wait(milliseconds: 10) { $0 }
            }
            try presence.take(shared: false, what: what)
        }
    }

    /// Takes the turn to write files beside the log; blocks the calling thread.
    /// - Throws: `EvstoreError.interrupted` where the task is cancelled.
    func takeTurn() throws -> WriteTurn {
        defer { withExtendedLifetime(self) {} }
        let turn = try access.environment.takeTurn(within: options.appendDeadline) { !Task.isCancelled }
        guard let turn else { throw EvstoreError.interrupted(again: "run it again") }
        return turn
    }

    /// Lets other processes open the store again. A log that was closed meanwhile has let go of the store already.
    package func shareAgain() {
        isClosed.withLock { isClosed in
            if isClosed || !isOfThisProcess { return }
            do { try presence.take(shared: true, what: "") } catch { logger.warning("unlocking \(path): \(error)") }
        }
    }

    /// Gives a store that is neither a node nor a replica any more the layout of one that is alone: after it has left or was promoted, or
    /// at its next opening if the process was killed in between.
    package func settleLayout() throws {
        guard access.isOrderedElsewhere else { return }
        try converting("writing the manifest of \(path)") {
            let turn = try takeTurn()
            defer { withExtendedLifetime(turn) {} }
            try access.environment.read { transaction in
                if try StateRows.node(transaction, access.tables) != nil { return }
                if try StateRows.replica(transaction, access.tables) == nil { try Manifest.set(isOrderedElsewhere: false, at: path) }
            }
        }
    }

    /// False in the child of a fork: threads, locks and files belong to its parent, and every call except `close` is an error.
    package var isOfThisProcess: Bool { access.environment.isOfThisProcess }

    /// Finishes the running work, writes the anchor and closes the files. A second call does nothing, and neither does a call in the child
    /// of a fork.
    /// - Throws: `EvstoreError.deadlinePassed` where another process was writing for as long as an append waits: the files are closed
    ///   nevertheless, and the next process that opens the store moves what is ahead into LMDB.
    package func close() async throws {
        guard isOfThisProcess else { return }
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        healthMonitor.end()
        order?.end(waiting: true)
        signal.close()
        await withCheckedContinuation { continuation in
            if let committer { committer.close { continuation.resume() } } else { continuation.resume() }
        }
        // Order: a process that opens the store meanwhile waits for this lock until the presence lock is released.
        var opening: HeldLock?
        var failure: (any Error)? = committer?.closingFailure
        do {
            if let committer, try mustNote(committer) {
                opening = try StoreLock.opening.acquireIfFree(at: path, what: "closes it")
                try writeClosingAnchor(isLast: opening != nil && presence.takeIfFree(shared: false, what: "closes it"))
            }
        } catch  where Ballast.isFullDisk(error) {
            // Without an anchor, the first opening after the next boot has to check all pages; nothing else is lost.
            logger.warning("the anchor of \(path): \(error)")
        } catch { failure = failure ?? error }
        access.environment.close()
        do { try presence.release() } catch { failure = failure ?? error }
        withExtendedLifetime(opening) {}
        if let failure { throw self.failure(failure, doing: "closing the store") }
    }

    /// Whether closing has to write the anchor: not after a failure of the disk, nor where the anchor is right already.
    private func mustNote(_ committer: Committer) throws -> Bool {
        // If another file is at the path now, this handle can't vouch for it.
        if committer.hasFailed || committer.closingFailure != nil || !isInPlace { return false }
        guard let mark = try Anchor.read(at: path)?.mark else { return true }
        return !mark.matchesNothing && (committer.hasWritten || !mark.isClosed)
    }

    private func writeClosingAnchor(isLast: Bool) throws {
        let reader = try reader()
        let anchor = try LogFile.writeAnchor(
            at: path, storeID, reader.last, Blocks.endLink(reader.transaction, access), isClosed: isLast)
        // The file has it durably now. A note that stayed in the page would contradict a log that is copied back beside it.
        access.environment.turnPage?.forget(anchor.end.lent)
    }
}
