internal import EventModel
internal import LMDB
internal import Logging
internal import Platform

/// Checks an open log every few seconds, even while it is not used: frees the slots of dead readers, notices files that were replaced, and
/// refills the ballast.
final class HealthMonitor: Sendable {
    private static let milliseconds = 5_000
    private let environment: Environment
    private let ballast: Ballast?
    private let logger: Logger
    private let isEnding = Monitor(false)
    private let isLooking = Monitor(false)

    /// - Parameter ballast: nil where this process only reads the store.
    init(_ environment: Environment, _ ballast: Ballast?, _ logger: Logger) {
        (self.environment, self.ballast, self.logger) = (environment, ballast, logger)
    }

    func start() throws { _ = try WorkerThread.start("evstore-watch") { self.run() } }

    /// Stops the checks; returns when their thread has ended.
    func end() {
        isEnding.change { $0 = true }
        isLooking.wait(until: { !$0 }, { _ in })
    }

    private func run() {
        var said = ""
        while !isEnding.wait(milliseconds: Self.milliseconds, until: { $0 }) {
            isLooking.change { $0 = true }
            defer { isLooking.change { $0 = false } }
            if isEnding.withLock({ $0 }) { return }
            do {
                try Environment.clearAllStaleReaders()
                try environment.checkInPlace()
                try ballast?.fill()
                said = ""
            } catch {
                // Each error is logged once, and not every few seconds.
                if error.advised != said { logger.error("looking after \(environment.directory): \(error.advised)") }
                said = error.advised
            }
        }
    }
}
