internal import FoundationEssentials
internal import Glibc

/// The points between the durable steps of a migration, in order.
///
/// A test hook: where the environment variable `EVSTORE_KILL_AT` holds the name of one, the process kills itself there with SIGKILL, so
/// that a crash test can stop a migration at each of them. Otherwise the points do nothing.
package enum MigrationPhase: String, CaseIterable, Sendable {
    case registerBefore = "register.before"
    case registerInside = "register.inside"
    case registerAfter = "register.after"
    case snapshotInside = "snapshot.inside"
    case snapshotAfter = "snapshot.after"
    case sweepAfter = "sweep.after"
    case buildAfter = "build.after"
    case catchUpAfter = "catch-up.after"
    case verifyAfter = "verify.after"
    case readyAfter = "ready.after"
    case flipInside = "flip.inside"
    case flipAfter = "flip.after"
    case rollbackFollowed = "rollback.followed"
    case rollbackVerified = "rollback.verified"
    case rollbackInside = "rollback.inside"
    case rollbackAfter = "rollback.after"
    case archiveWritten = "archive.written"
    case archiveSynced = "archive.synced"
    case cutRebuilt = "cut.rebuilt"
    case cutInside = "cut.inside"
    case cutAfter = "cut.after"
    case finalizeInside = "finalize.inside"
    case finalizeAfter = "finalize.after"
    case pruneAfter = "prune.after"
    case retryInside = "retry.inside"
    case retryAfter = "retry.after"

    private static let fatal = ProcessInfo.processInfo.environment["EVSTORE_KILL_AT"].flatMap { MigrationPhase(rawValue: $0) }

    package static func reached(_ phase: MigrationPhase) {
        if phase == fatal { kill(getpid(), SIGKILL) }
    }
}
