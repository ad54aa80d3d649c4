package import EventModel
internal import LMDB
internal import Platform

/// Converts an error of lower rooms into an `EvstoreError`.
/// - Parameter floorBytes: with fewer free bytes a disk counts as full.
package func storeError(_ error: any Error, _ path: String, doing: String, floorBytes: Int = Options().freeDiskFloorBytes) -> EvstoreError {
    switch error {
    case let error as EvstoreError: return error
    case let error as StorageError:
        if let waited = error.waited { return .deadlinePassed(waited: waited, holder: error.message) }
        if error.isHeld { return .locked(path: path, holder: error.message) }
        if error.isMisuse { return .misuse(error.message) }
        if error.isDiskFull(below: floorBytes) { return fullDisk(error, path) }
        if error.isReadOnly { return .readOnly(path: StoreFiles.barred(in: path) ?? path) }
        if error.isOtherLMDB { return .otherLMDB(path: path, reason: error.message) }
        if error.isDamage { return .storeDamaged(path: path, reason: error.message) }
        return .ioFailure(doing: doing, reason: error.description)
    default: return .ioFailure(doing: doing, reason: String(describing: error))
    }
}

extension EventLog {
    /// Converts an error of work on this log. Where other files lie at its path than those that are open, what looks like damage is none:
    /// some of what was read is of the one store, and some of the other.
    package func failure(_ error: any Error, doing: String) -> EvstoreError {
        let failure = storeError(error, path, doing: doing)
        switch failure {
        case .storeDamaged, .corruptBlock, .notAStore, .storeNotFound, .ioFailure: return isReplaced ? .replaced(path: path) : failure
        default: return failure
        }
    }

    private var isReplaced: Bool {
        do throws(StorageError) { try access.environment.checkInPlace() } catch { return error.isDamage }
        return false
    }
}

/// The error of a full disk: about the store where the failed call was about something in it, else about what it was about.
private func fullDisk(_ error: StorageError, _ path: String) -> EvstoreError {
    let place = Directory.existing(error.path ?? path)
    let isInside = error.path.map { ($0 + "/").hasPrefix(Directory.trimmed(path) + "/") || StoreLocation.isMade($0, for: path) } ?? true
    return .diskFull(
        path: isInside ? path : place, freeBytes: error.commit?.freeBytes ?? freeBytes(place), neededBytes: error.neededBytes,
        freeInodes: error.lacksInodes ? 0 : nil, isOverQuota: error.isOverQuota)
}

/// The error for the callers of a failed commit.
///
/// A commit counts as not made only if nothing on the disk can lead to it. If something may, or if the disk is broken rather than full, the
/// outcome is unknown: `EvstoreError.commitOutcomeUnknown`.
/// - Parameter last: the last event that is known to be durable.
func commitError(_ error: any Error, after last: Position, _ path: String, floorBytes: Int) -> any Error {
    guard let system = error as? StorageError else { return error }
    if system.isOutcomeOpen || system.isFailedDisk && !system.isDiskFull(below: floorBytes) {
        return EvstoreError.commitOutcomeUnknown(after: last)
    }
    return storeError(system, path, doing: "appending", floorBytes: floorBytes)
}

/// The free bytes, for messages and for refusing appends; 0 where the file system does not report them.
func freeBytes(_ path: String) -> UInt64 {
    do throws(StorageError) { return try Directory.freeBytes(path) } catch { return 0 }
}
