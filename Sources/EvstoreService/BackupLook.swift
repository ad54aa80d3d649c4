package import Evstore
internal import Platform

/// What is seen of a directory of backups, which may lie on a disk that hangs: whatever shows backups, or waits for the next one, asks here.
/// One thread at a time looks at a directory. Who asks waits for it until it has looked for five seconds, and then gets what was found last.
package final class BackupLook: Sendable {
    package struct Sight: Sendable {
        /// The newest runs, newest first, also those whose own file can't be read; among them is the newest whose own file can.
        package let runs: [BackupRun]
        /// Since when the directory has not answered, where `runs` are those of an earlier look; nil where it answers.
        package let silentSince: Timestamp?

        /// The newest run whose own file can be read.
        package var newest: BackupRun? { runs.first { $0.damage == nil } }
    }

    private struct State {
        var runs: [BackupRun] = []
        /// When the present look began; nil while none goes on.
        var began: (time: Timestamp, instant: ContinuousClock.Instant)?
        /// How many looks have ended.
        var ended = 0
    }

    private static let runsMax = 50
    private static let all = Monitor<[String: BackupLook]>([:])

    package let directory: String
    private let patience: Duration
    private let find: @Sendable (String) -> [BackupRun]
    private let state = Monitor(State())

    /// - Parameters:
    ///   - patience: how long a look may go on before the directory counts as one that does not answer.
    ///   - find: returns the newest runs of the directory.
    package init(
        _ directory: String, patience: Duration = .seconds(5), find: @escaping @Sendable (String) -> [BackupRun] = BackupLook.newestRuns
    ) {
        (self.directory, self.patience, self.find) = (directory, patience, find)
    }

    /// The one of this process for a directory.
    package static func at(_ directory: String) -> BackupLook {
        all.withLock { all in
            let look = all[directory] ?? BackupLook(directory)
            all[directory] = look
            return look
        }
    }

    package static func newestRuns(in directory: String) -> [BackupRun] {
        let runs = StoreMaintenance.newestBackups(in: directory, limit: runsMax)
        if runs.contains(where: { $0.damage == nil }) { return runs }
        return runs + [StoreMaintenance.newestBackup(in: directory)].compactMap(\.self)
    }

    /// Blocks the calling thread while the directory is looked at, within the patience.
    package func sight() -> Sight {
        let (ended, milliseconds) = begin()
        _ = state.wait(milliseconds: milliseconds) { $0.ended > ended }
        return state.withLock { Sight(runs: $0.runs, silentSince: $0.ended > ended ? nil : $0.began?.time) }
    }

    /// Whether the directory does not answer. Begins to look, and does not wait.
    package var isSilent: Bool { begin().milliseconds == 0 }

    /// Begins a look where none goes on.
    /// - Returns: how many have ended, and how long the present one may still go on.
    private func begin() -> (ended: Int, milliseconds: Int) {
        let (isNew, began, ended) = state.withLock { state in
            let isNew = state.began == nil
            let began = state.began ?? (time: Timestamp.now, instant: ContinuousClock.now)
            state.began = began
            return (isNew, began.instant, state.ended)
        }
        if isNew { Task(executorPreference: StoreThreads.shared) { self.look() } }
        let rest = patience - began.duration(to: .now)
        return (ended, max(.zero, rest).inMilliseconds)
    }

    private func look() {
        let runs = find(directory)
        state.change { state in
            state.runs = runs
            state.began = nil
            state.ended += 1
        }
    }
}
