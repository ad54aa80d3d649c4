package import Evstore
internal import Platform

/// What is seen of a directory of backups, which may lie on a disk that hangs: whatever shows backups, or waits for the next one, asks here.
/// One thread at a time looks at a directory. Who asks waits for it while the directory answers; where it has not for five seconds, who asks
/// gets what was found last.
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
        /// When the present look began, or the directory answered it last; nil while none goes on.
        var heard: (time: Timestamp, instant: Instant)?
        var ended = 0
    }

    /// Returns the newest runs of a directory, and calls its second argument whenever the directory has answered.
    package typealias Find = @Sendable (String, () -> Void) -> [BackupRun]

    private static let runsMax = 50
    private static let all = Monitor<[String: BackupLook]>([:])

    package let directory: String
    private let patience: Duration
    private let find: Find
    private let state = Monitor(State())

    /// - Parameters:
    ///   - patience: how long a look may go on without an answer before the directory counts as one that does not answer.
    package init(_ directory: String, patience: Duration = .seconds(5), find: @escaping Find = BackupLook.newestRuns) {
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

    package static func newestRuns(in directory: String, answered: () -> Void) -> [BackupRun] {
        let runs = StoreMaintenance.newestBackups(in: directory, limit: runsMax, answered: answered)
        if runs.contains(where: { $0.damage == nil }) { return runs }
        return runs + [StoreMaintenance.newestBackup(in: directory, answered: answered)].compactMap(\.self)
    }

    /// Blocks the calling thread while the directory is looked at and answers.
    package func sight() -> Sight {
        let ended = begin()
        while let rest = state.withLock({ rest($0) }), rest > 0 {
            if state.wait(milliseconds: rest, until: { $0.ended > ended }) { break }
        }
        return state.withLock { Sight(runs: $0.runs, silentSince: $0.ended > ended ? nil : $0.heard?.time) }
    }

    /// Whether the directory does not answer. Begins to look, and does not wait.
    package var isSilent: Bool {
        _ = begin()
        return state.withLock { rest($0) } == 0
    }

    /// For how many milliseconds the directory may still be silent; nil while nobody looks at it.
    private func rest(_ state: State) -> Int? {
        state.heard.map { max(.zero, patience - $0.instant.duration(to: .now)).inMilliseconds }
    }

    /// Begins a look where none goes on. Returns how many have ended.
    private func begin() -> Int {
        let (isNew, ended) = state.withLock { state in
            defer { state.heard = state.heard ?? (time: .now, instant: .now) }
            return (state.heard == nil, state.ended)
        }
        guard isNew else { return ended }
        // A thread of its own: those who wait for it may hold every thread of the store's. Without one, who asks does the work.
        do { _ = try WorkerThread.start("evstore-look") { self.look() } } catch { look() }
        return ended
    }

    private func look() {
        hear()
        let runs = find(directory, hear)
        state.change { state in
            state.runs = runs
            state.heard = nil
            state.ended += 1
        }
    }

    /// Notes that the directory has been silent for no time: its look begins, or it has answered.
    private func hear() { state.withLock { $0.heard = (time: .now, instant: .now) } }
}
