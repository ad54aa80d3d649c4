internal import EventLog
package import EventModel
internal import Hashing
package import Migration
internal import Projections
internal import Sealing

/// Makes another store with a store's events, under new keys or unsealed.
package enum Recipher {
    /// - Parameter secret: opens the new store; nil makes one whose events are not sealed.
    /// - Throws: `EvstoreError`: storeExists, epochChanged (run it again), verificationFailed, diskFull, interrupted.
    package static func run(
        _ context: MigrationContext, into store: String, secret: StoreSecret?, suite: CipherSuite
    ) throws(EvstoreError) -> RecipherReport {
        let began = ContinuousClock.now
        // A `forget` during the copy would not reach the new store.
        let lock = try MigrationLock.takeForReading(context)
        defer { lock.release() }
        let summary = try converting {
            try context.log.recipher(
                into: store, secret: secret, suite: suite.sealing,
                progress: { done, total in
                    try context.job.check()
                    context.job.report("recipher", done: done.rawValue, total: total.rawValue)
                },
                finish: { update in
                    // The new store builds its read models from the log.
                    update.state.generations = [:]
                    try relink(context.log, &update)
                    let duration = began.duration(to: .now)
                    try Journal.append(
                        .init(.recipher, to: update.state.live, position: update.last.position, duration: duration), to: &update)
                })
        }
        return RecipherReport(
            position: summary.last.position, content: summary.content.hex, bytes: summary.bytes,
            duration: began.duration(to: .now))
    }

    /// Gives each snapshot the new log's link at its position. A snapshot whose link the old log no longer has stays as it was.
    private static func relink(_ log: EventLog, _ update: inout LogUpdate) throws {
        for row in try update.rows(.snapshots) {
            var snapshot = try SnapshotReport(name: String(decoding: row.key, as: UTF8.self), row: row.value)
            let link = try log.read { reader in try reader.link(at: snapshot.position) }
            guard link?.hex == snapshot.link, let made = try update.link(at: snapshot.position) else { continue }
            snapshot.link = made.hex
            try update.put(.snapshots, row.key, snapshot.row)
        }
    }
}
