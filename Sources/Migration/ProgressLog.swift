internal import EventModel
internal import Logging
internal import Platform

/// Writes the progress of long work to the service's log: the beginning of each step, and every few seconds how much of it is done.
final class ProgressLog: Sendable {
    private struct State {
        var step = ""
        var said = ContinuousClock.now
    }

    private let logger: Logger
    private let every: Duration
    private let state = Monitor(State())

    init(_ logger: Logger, every: Duration = .seconds(5)) { (self.logger, self.every) = (logger, every) }

    func take(_ event: ProgressEvent) {
        guard logger.logLevel <= .debug else { return }
        let now = ContinuousClock.now
        let isNew: Bool? = state.withLock { state in
            let isNew = state.step != event.step
            guard isNew || state.said.duration(to: now) >= every else { return nil }
            (state.step, state.said) = (event.step, now)
            return isNew
        }
        guard let isNew else { return }
        var metadata: Logger.Metadata = ["step": "\(event.step)", "done": "\(event.done)"]
        if event.total > 0 { metadata["total"] = "\(event.total)" }
        if event.quarantined > 0 { metadata["quarantined"] = "\(event.quarantined)" }
        if !event.note.isEmpty { metadata["note"] = "\(event.note)" }
        logger.debug(isNew ? "a step begins" : "still at it", metadata: metadata)
    }
}
