internal import Bytes
internal import EventLog
internal import EventModel
internal import Logging
internal import Projections

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
                "this node may be behind its cluster log: \(end(of: log)): \(trouble.message)",
                metadata: ["log": "\(membership.log)", "node": "\(membership.node)"])
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
            log.noteTrouble(error)
            return log
        }
        await writing.catchUp(within: limit)
        try await close(writing)
        let log = try open(true)
        log.adoptNodeHealth(of: writing)
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
}

extension EventStore {
    /// The complaints about the store as a node of a cluster log.
    func nodeComplaints() throws(EvstoreError) -> [Complaint] {
        guard let membership = log.membership else { return [] }
        var found: [Complaint] = []
        let nodes = try log.reading { try $0.nodes() }
        // No nodes are known to a node that has left.
        let isMember = nodes.isEmpty || nodes.contains { $0.incarnation == membership.incarnation }
        if !isMember { found.append(.takenOut(node: membership.node, log: membership.log)) }
        if log.hasTwin { found.append(.twin(node: membership.node)) }
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
