internal import Bytes
internal import EventLog
internal import EventModel
internal import Logging
internal import Platform
internal import Projections

extension EventStore {
    /// Appends events, brings the named read models of the working version up to them, and returns when both are done.
    ///
    /// An event that a read model can't fold goes into that read model's quarantine. Where following fails, the append stays: if it is
    /// repeated with the same ids, this call returns the first receipt and follows again.
    /// - Throws: `EvstoreError`: as `append(_:conditions:unless:sameID:)` and `follow(_:at:to:)` do.
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], unless queries: [AppendCondition] = [], sameID: SameID = .mustMatch,
        inline projections: Set<String>
    ) async throws(EvstoreError) -> AppendReceipt {
        let receipt = try await append(events, conditions: conditions, unless: queries, sameID: sameID)
        try await follow(projections, to: receipt.position)
        return receipt
    }

    /// Brings read models of a version (the working one where nil) up to a position, or to the log's current end, so that a later query has
    /// nothing to fold. Where `projections` is nil, it follows every read model that this program can fold.
    ///
    /// Waits while each read model folds the events that it has not consumed yet, on the store's own threads, and while others fold into
    /// the same read model, at most `Options.readModelDeadline`. Builds read models that were never built.
    /// - Throws: `EvstoreError`: readOnly, unknownProjection; where a read model has to be built, belowFloor, notLive for a version above
    ///   the top, and programNeeded; deadlinePassed, migrationInProgress, diskFull, interrupted.
    public func follow(
        _ projections: Set<String>? = nil, at version: SchemaVersion? = nil, to position: Position? = nil
    ) async throws(EvstoreError) {
        if isReadOnly { throw .readOnly(path: path) }
        let version = try effective(version)
        if let projections {
            for name in projections.sorted() { _ = try await readModel(name, at: version, to: position, forRows: false) }
            return
        }
        for definition in try evolution(at: version).definitions(at: version) where definition.isAvailable {
            _ = try await readModel(of: definition, evolution(at: version), to: position, mayLag: false)
        }
    }
}

/// Keeps the read models of a handle's working version at the log's end, until the handle is closed.
final class BackgroundFollower: Sendable {
    private let task = Monitor<Task<Void, Never>?>(nil)

    func start(_ store: EventStore) {
        let work = Task.detached(priority: .utility) { await Self.run(store) }
        task.withLock { $0 = work }
    }

    func stop() async {
        let work = task.withLock { $0.take() }
        work?.cancel()
        await work?.value
    }

    private static func run(_ store: EventStore) async {
        var said: String?
        while !Task.isCancelled {
            do throws(EvstoreError) {
                let end = try store.last()
                try await store.follow(to: end.position)
                said = nil
                try await store.wait(after: end.position)
            } catch {
                // When the task is cancelled, the error of the wait does not matter.
                if Task.isCancelled { return }
                // A lasting error is logged once.
                if error.message != said {
                    store.logger.warning("can't follow read models", metadata: ["error": .stringConvertible(error.advised)])
                }
                said = error.message
                do { try await Task.sleep(for: store.options.pollInterval.bounded) } catch { return }
            }
        }
    }
}

extension EventStore {
    /// Opens a log. Where it is a node's, it first takes in what other nodes have appended; if it can't, a warning says how old the node
    /// is.
    static func caughtUp(
        _ readOnly: Bool, _ limit: Duration?, _ logger: Logger, _ open: (_ readOnly: Bool) throws(EvstoreError) -> EventLog
    ) async throws(EvstoreError) -> EventLog {
        var log = try open(readOnly)
        guard let limit, let membership = log.membership else { return log }
        if readOnly {
            // Order: the log is closed before it is opened for writing, since a process must map an LMDB file for writing first.
            try await close(log)
            log = try await reopened(within: limit, open)
        } else {
            await log.catchUp(within: limit)
        }
        if let trouble = log.clusterTrouble?.error {
            logger.warning(
                "this node may be behind its cluster log: \(end(of: log))",
                metadata: [
                    "log": "\(membership.log)", "node": "\(membership.node)", "error": .stringConvertible(trouble.advised),
                ])
        }
        return log
    }

    /// Takes frames in for a limited time, and then opens the log for reading.
    private static func reopened(
        within limit: Duration, _ open: (_ readOnly: Bool) throws(EvstoreError) -> EventLog
    ) async throws(EvstoreError) -> EventLog {
        let writing: EventLog
        do throws(EvstoreError) { writing = try open(false) } catch {
            let log = try open(true)
            log.nodeHealth.note(error)
            return log
        }
        await writing.catchUp(within: limit)
        try await close(writing)
        let log = try open(true)
        log.nodeHealth.take(writing.nodeHealth)
        return log
    }

    private static func close(_ log: EventLog) async throws(EvstoreError) {
        try await awaiting(at: log.path) { try await log.close() }
    }

    /// The age of the newest event in a log, as a clause.
    private static func end(of log: EventLog) -> String {
        do {
            return try log.read { reader in
                let last = reader.last.position
                guard let time = try reader.record(at: last, { $0.time }) else { return "it has no event yet" }
                let seconds = Double(Timestamp.now.microseconds.minus(time.microseconds)) / 1_000_000
                return "its last event is at position \(grouped(last.rawValue)), appended \(duration(seconds: max(seconds, 0))) ago"
            }
        } catch { return "its end can't be read" }
    }

    func nodeComplaints() throws(EvstoreError) -> [Complaint] {
        guard let membership = log.membership else { return [] }
        var found: [Complaint] = []
        let nodes = try log.reading { try $0.nodes() }
        // No nodes are known to a node that has left.
        let isMember = nodes.isEmpty || nodes.contains { $0.incarnation == membership.incarnation }
        if !isMember { found.append(.takenOut(node: membership.node, log: membership.log)) }
        if log.nodeHealth.hasTwin { found.append(.twin(node: membership.node)) }
        if let trouble = log.clusterTrouble {
            let reason = trouble.error.message
            if case .clusterWentBack = trouble.error {
                found.append(.forked(reason: reason))
            } else {
                found.append(.clusterUnreachable(reason: reason, for: trouble.duration))
            }
        }
        return found
    }
}
