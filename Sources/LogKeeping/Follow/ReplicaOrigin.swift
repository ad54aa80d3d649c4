internal import EventLog
internal import EventModel
internal import Hashing

/// The backup that a replica is made from or updated to.
package struct ReplicaOrigin {
    /// The directory of the backups; empty where they come through a pipe.
    let source: String
    /// The run in the directory; nil for a pipe.
    let run: BackupDirectory.Run?

    /// The mark of a replica that holds all of the backup.
    /// - Parameter madeAt: when a backup in a pipe was begun.
    /// - Throws: `BackupDamage` where the run has another end.
    func mark(_ end: LogEnd, madeAt: Timestamp?) throws -> ReplicaMark {
        guard let run else {
            // A pipe brings all blocks each time: nothing continues after its frames.
            let base = BackupBase(last: end.last, link: end.link, frame: 0, frameLink: .zero)
            return ReplicaMark(source: source, run: 0, time: madeAt ?? .now, base: base)
        }
        guard let time = Timestamp(run.time), let base = run.blocks.last?.base, end.content.hex == run.content,
            (end.last.position.rawValue, end.last.epoch.rawValue) == (run.position, run.epoch)
        else { throw BackupDamage("its end is not that of the run") }
        return ReplicaMark(source: source, run: run.number, time: time, base: base)
    }
}

extension ReplicaMark {
    /// Whether a replica has all of a run: it has taken in this run, or a newer one that was removed since.
    func includes(_ run: BackupDirectory.Run) -> Bool {
        guard let made = Timestamp(run.time) else { return false }
        return (run.number, made) == (self.run, time) || run.number < self.run && made < time
    }
}
