internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import Platform

/// The place of a consumer in memory and on the disk, written by the holder of its name.
///
/// Each save writes the newest row, so that of two concurrent saves neither moves the place back.
final class ConsumerCheckpoint: Sendable {
    private struct State {
        var row: ConsumerRow
        var isSaved = true
        var hasHandled = false
        var savedAt = Instant.now
        /// The event that was failing when the events at the place were read, and how many attempts it had had.
        var resumed: (event: Checkpoint, attempts: Int)?
    }

    private let log: EventLog
    private let state: Monitor<State>

    init(_ row: ConsumerRow, _ log: EventLog) {
        (self.log, state) = (log, Monitor(State(row: row)))
        resume()
    }

    /// Lets the noted attempts of an event count, which is read anew.
    func resume() {
        state.withLock { state in
            state.resumed = state.row.failing.map { (event: $0, attempts: Int(clamping: state.row.attempts)) }
        }
    }

    var row: ConsumerRow { state.withLock(\.row) }

    /// How many attempts of an event failed in an earlier process; returned once.
    func takeAttempts(at event: Checkpoint) -> Int {
        state.withLock { state in
            guard let resumed = state.resumed, resumed.event.position == event.position,
                event.epoch <= resumed.event.epoch
            else { return 0 }
            state.resumed = nil
            return resumed.attempts
        }
    }

    /// Notes events behind the place as done, in addition to the known ones.
    func note(ahead events: [Checkpoint]) {
        state.withLock { state in
            let known = state.row.ahead
            state.row.add(ahead: events)
            if state.row.ahead != known { state.isSaved = false }
        }
    }

    /// Counts more events as handled, and everything up to a place. A place before the current one changes nothing.
    func advance(to place: Checkpoint, handled: Int = 0) {
        state.withLock { state in
            let isFurther = place != state.row.place && place.position >= state.row.place.position
            if isFurther { state.row.move(to: place) }
            state.row.handled = state.row.handled.plus(UInt64(handled))
            if isFurther || handled > 0 { state.isSaved = false }
            if handled > 0 { state.hasHandled = true }
        }
    }

    func fail(at event: Checkpoint, attempts: Int, _ reason: String) {
        state.withLock { state in
            (state.row.failing, state.row.attempts, state.row.error) = (event, UInt64(attempts), reason)
            state.isSaved = false
        }
    }

    /// The shortest time between two saves behind pages of handled events: a save costs concurrent appends some syncs.
    static let pageInterval = Duration.milliseconds(100)

    /// Whether events were handled whose place is not saved yet.
    var isAhead: Bool { state.withLock { !$0.isSaved && $0.hasHandled } }

    /// Saves what is not saved yet, if the last save is at least `interval` ago.
    func save(after interval: Duration = .zero) async throws {
        let isDue = state.withLock { !$0.isSaved && $0.savedAt.duration(to: .now) >= interval }
        if isDue { try await write { _ in } }
    }

    /// Saves the place together with another change in one transaction, also where the task was cancelled.
    func write(_ change: @escaping @Sendable (inout LogUpdate) throws -> Void) async throws {
        let hadHandled = state.withLock { state in
            defer { (state.isSaved, state.hasHandled, state.savedAt) = (true, false, .now) }
            return state.hasHandled
        }
        do {
            try await Task { [log, state] in
                try await log.update { update in
                    var row = state.withLock(\.row)
                    // Another process may have noted parked events as given up.
                    if let saved = try update.get(.notes, row.key) { row.add(ahead: try ConsumerRow(name: row.name, saved).ahead) }
                    try update.put(.notes, row.key, row.value)
                    try change(&update)
                }
            }.value
        } catch {
            state.withLock { ($0.isSaved, $0.hasHandled) = (false, $0.hasHandled || hadHandled) }
            throw error
        }
    }
}

/// Tracks which events of a page are done.
final class PageProgress: Sendable {
    private struct State {
        /// The number of parts of the event at a position that are not done yet; and all events in order.
        var open: [Position: Int]
        let events: [Checkpoint]
        /// The index of the first of `events` that is not done.
        var first = 0
    }

    private let end: Checkpoint
    /// How often personal data was forgotten before the page was read.
    let forgets: UInt64
    private let state: Monitor<State>

    /// - Parameter end: the place behind the page.
    init(_ events: [RecordedEvent], end: Checkpoint, forgets: UInt64) {
        (self.end, self.forgets) = (end, forgets)
        let open = events.reduce(into: [:]) { $0[$1.position, default: 0] += 1 }
        state = Monitor(State(open: open, events: Set(events.map(\.checkpoint)).sorted { $0.position < $1.position }))
    }

    /// Marks events as done.
    /// - Returns: the checkpoint before the first event that is not done; the end of the page where all are done.
    func finish(_ events: some Collection<RecordedEvent>) -> Checkpoint {
        let open = state.withLock { state -> Position? in
            for event in events {
                let left = (state.open[event.position] ?? 1) - 1
                state.open[event.position] = left == 0 ? nil : left
            }
            while state.first < state.events.count, state.open[state.events[state.first].position] == nil { state.first += 1 }
            return state.first < state.events.count ? state.events[state.first].position : nil
        }
        return open.map { Checkpoint(epoch: end.epoch, position: $0.previous) } ?? end
    }

    /// The events that are done although an earlier one is not.
    var doneAhead: [Checkpoint] {
        state.withLock { state in state.events[state.first...].filter { state.open[$0.position] == nil } }
    }
}
