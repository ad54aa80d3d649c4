internal import EventModel
internal import Platform
internal import Synchronization

/// Progress on standard error: a bar with rate and time left on a terminal, a line every five seconds
/// elsewhere, a JSON object a line for programs.
final class ProgressBar: Sendable {
    private enum Form { case bar, lines, objects, nothing }

    private struct Shown {
        var step = ""
        var began = ContinuousClock.now
        var last: ContinuousClock.Instant?
        var latest: ProgressEvent?
        var isDrawn = false
    }

    private let output: Output
    private let form: Form
    private let shown = Mutex(Shown())

    init(_ style: ProgressStyle, output: Output) {
        self.output = output
        form =
            switch style {
            case .jsonl: .objects
            case .none: .nothing
            case .auto: output.notesOnTerminal ? .bar : .lines
            }
    }

    /// Draws an event; called on the thread that does the work, and drops events that come too soon after another.
    func take(_ event: ProgressEvent) {
        // Events without numbers also appear in the results.
        let isWords = event.done == 0 && event.total == 0
        if form == .nothing || isWords && form != .objects { return }
        shown.withLock { shown in
            let now = ContinuousClock.now
            if shown.step != event.step {
                end(&shown)
                shown = Shown(step: event.step, began: now)
                // A step that is shorter than the interval prints no line.
                if form == .lines { shown.last = now }
            }
            shown.latest = event
            let isDone = event.total > 0 && event.done >= event.total
            if let last = shown.last, now - last < interval, !(isDone && form != .lines) { return }
            draw(event, &shown, at: now)
        }
    }

    /// Ends the line of the bar, so that its last state stays.
    func finish() { shown.withLock { end(&$0) } }

    private var interval: Duration {
        switch form {
        case .bar: .milliseconds(100)
        case .objects: .milliseconds(200)
        case .lines, .nothing: .seconds(5)
        }
    }

    private func draw(_ event: ProgressEvent, _ shown: inout Shown, at now: ContinuousClock.Instant) {
        shown.last = now
        shown.isDrawn = true
        let seconds = (now - shown.began).inSeconds
        switch form {
        case .bar:
            let width = (Descriptor.standardError.columns ?? 100) - 1
            output.raw("\r" + Self.line(event, seconds: seconds, bar: true, width: width) + "\u{1b}[K")
        case .lines: output.note(Self.line(event, seconds: seconds, bar: false))
        case .objects:
            output.note([
                "step": event.step, "done": event.done, "total": event.total == 0 ? nil : event.total,
                "quarantined": event.quarantined, "seconds": seconds, "note": event.note,
            ])
        case .nothing: break
        }
    }

    private func end(_ shown: inout Shown) {
        if form == .bar, shown.isDrawn {
            if let latest = shown.latest { draw(latest, &shown, at: .now) }
            output.raw("\n")
        }
        shown.isDrawn = false
    }

    /// `replay     [##############------]  71 %  855,200 / 1,204,511   1.1 M/s   0.3 s left   0 quarantined`
    ///
    /// Parts that do not fit are left out as a whole, the last one first.
    static func line(_ event: ProgressEvent, seconds: Double, bar: Bool, width: Int = .max) -> String {
        var parts: [String] = []
        let perSecond = seconds > 0 ? Double(event.done) / seconds : 0
        if event.total > 0 {
            let share = min(1, Double(event.done) / Double(event.total))
            // Only a finished step shows 100 %.
            let percent = event.done < event.total ? min(99, nearest(share * 100)) : 100
            let filled = Int(share * 20)
            let drawn = bar ? "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled) + "]" : ""
            parts.append(drawn + String(percent).aligned(to: bar ? 4 : 3) + " %  \(grouped(event.done)) / \(grouped(event.total))")
        } else if event.done > 0 {
            parts.append(grouped(event.done))
        }
        if perSecond >= 1 {
            parts.append(rate(perSecond: perSecond))
            if event.total > event.done { parts.append(duration(seconds: Double(event.total - event.done) / perSecond) + " left") }
        }
        if event.total > 0 { parts.append("\(grouped(event.quarantined)) quarantined") }
        if !event.note.isEmpty { parts.append(event.note) }
        var line = event.step.shown.padded(to: 10)
        for (index, part) in parts.enumerated() {
            let more = (index == 0 ? " " : "   ") + part.shown
            if line.count + more.count > width { break }
            line += more
        }
        return String(line.prefix(width))
    }
}
