internal import Bytes
package import EventModel
internal import PostgreSQL

extension ClusterDatabase {
    /// The most frames of one step, during which appends wait.
    private static let framesAtOnce: UInt64 = 5_000

    /// Removes frames, in steps, up to one that every node and a backup have.
    /// - Returns: the number of the last removed frame.
    package func pruneFrames(
        of id: [UInt8], from pruned: UInt64, through last: UInt64, _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
    ) throws -> UInt64 {
        var done = pruned
        while done < last {
            let next = min(done.plus(Self.framesAtOnce), last)
            try change(FrameTable.prune, [.text(log), .bytes(id), .int(Int64(clamping: done)), .int(Int64(clamping: next))])
            // Read again, since an answer may have been lost.
            let now = try readyRow().pruned
            guard now > done else { throw EvstoreError.locked(path: "the cluster log \(log)", holder: "another who prunes it") }
            done = now
            try progress(done.minus(pruned), last.minus(pruned))
        }
        return done
    }

    /// Refuses to continue after frames that were pruned.
    package func requireUnpruned(from end: UInt64, _ row: ClusterRow) throws(EvstoreError) {
        if end >= row.pruned { return }
        throw .clusterMismatch(
            log: log, reason: "its frames up to \(row.pruned) were pruned, and what is there ends with frame \(end)",
            how: "begin with a replica of a newer backup of one of its nodes: \(.followBackups(store: "DIR")), then join")
    }
}
