internal import ArgumentParser
internal import Evstore
internal import Migration

struct ReplayCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Builds the read models of a version beside the live ones, then makes it live at once.",
        discussion: """
            Services go on appending meanwhile. A replay that fails or is stopped leaves everything \
            as it was. Until `evstore finalize`, `evstore rollback` goes back and keeps new events.

            Example: evstore replay --to v5 --schemas Schemas/shop
            First a rehearsal: evstore replay --to v5 --schemas Schemas/shop --dry-run
            Mend the rows of the live version: evstore replay --to v5 --from-events
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version, or a label of it.", valueName: "vN")) var to: String

    @Flag(help: "Do all of the work in a scratch directory and throw it away.") var dryRun = false

    @Option(help: ArgumentHelp("Build this projection only; do not flip.", valueName: "projection")) var only: String?

    @Flag(help: "Build every read model from its events, also those that would be kept or made from rows.") var fromEvents = false

    @Option(help: ArgumentHelp("Print this stream as the version sees it; build nothing.", valueName: "stream")) var stream: String?

    @Option(help: ArgumentHelp("Worker threads, 256 at most; one a processor where it is not given.", valueName: "n")) var jobs: Int?

    @Option(help: "What becomes of an event that has no image: stop or quarantine.", transform: oneOf)
    var onError: FailureRule = .stop

    @Flag(help: "Consent to one-way steps, to appends that plan says are refused, and to loss that no step declares.") var yes = false

    func validate() throws {
        if let jobs, jobs < 1 { throw ValidationError("--jobs is a number of threads from 1 on, not \(jobs)") }
        if stream != nil && only != nil { throw ValidationError("--stream and --only exclude each other") }
        if fromEvents && (stream != nil || only != nil) {
            throw ValidationError("--from-events builds all read models: it goes with neither --only nor --stream")
        }
    }

    func run(in session: Session) async throws {
        if let stream { return try await show(StreamName(stream), session) }
        for warning in try session.schemas()?.warnings ?? [] { session.output.note(warning.diagnosticLine) }
        let options = MigrationOptions(dryRun: dryRun, only: only, fromEvents: fromEvents, jobs: jobs, onError: onError, yes: yes)
        let report = try await session.withStore { store in
            try await store.migrate(
                to: store.version(named: to), options: options, progress: session.progress)
        }
        try session.output.print(report.members) { report.lines(options) }
        if report.quarantined > 0 { throw Exit.quarantined }
    }

    private func show(_ stream: StreamName, _ session: Session) async throws {
        let report = try await session.withStore { store in
            var lines = Lines(session)
            let version = try store.version(named: to)
            let report = try await store.maintenance.checkConversion(of: stream, at: version)
            if let failure = report.failures.first { throw EvstoreError.noImage(failure) }
            try store.read(stream, at: version, from: nil, limit: nil) { event in
                lines.next { try $0.put(store.line(event)) }
            }
            try lines.end()
            return report
        }
        session.output.note(
            "stream \(stream) at \(report.version): \(counted(report.events, "event")), \(grouped(report.converted)) of them not born there, "
                + "in \(report.duration.inWords); nothing was flipped")
    }
}

extension MigrationReport: PrintableObject {
    var members: Members {
        [
            "from": from, "to": to, "position": position, "events": events, "upcast": upcast, "rebuilt": rebuilt, "fromRows": fromRows,
            "rows": rows, "carried": carried, "quarantined": quarantined, "seconds": duration, "eventsPerSecond": eventsPerSecond,
            "flipPauseMilliseconds": flipPause.map { $0.inSeconds * 1_000 }, "digests": digests,
        ]
    }

    /// The amount that was read, and the rate.
    private var work: String {
        let (time, refused) = (duration.inWords, "\(grouped(quarantined)) quarantined")
        if !fromRows.isEmpty, fromRows.count == rebuilt.count { return "\(counted(rows, "row")) of \(from) in \(time)   \(refused)" }
        let more = rows > 0 ? ", and \(counted(rows, "row")) of \(from)," : ""
        return "\(counted(events, "event")), \(grouped(upcast)) of them not born at \(to),\(more) in \(time)   "
            + "\(rate(perSecond: eventsPerSecond))   \(refused)"
    }

    @TextLines
    func lines(_ options: MigrationOptions) -> [String] {
        if let snapshot { "snapshot   \(snapshot)" }
        if rebuilt.isEmpty {
            "replay     nothing to rebuild: "
                + (carried.isEmpty ? "\(to) has no read models" : "\(carried.joined(separator: ", ")) kept")
            if quarantined > 0 { "quarantined \(counted(quarantined, "event")), which they lack: evstore quarantine list --at \(to)" }
        } else {
            "replay     " + work
            let folded = rebuilt.filter { !fromRows.contains($0) }
            let parts = [
                fromRows.isEmpty ? "" : "from rows of \(from): \(fromRows.joined(separator: ", "))",
                folded.isEmpty ? "" : (fromRows.isEmpty ? "" : "from events: ") + folded.joined(separator: ", "),
                carried.isEmpty ? "" : "kept \(carried.joined(separator: ", "))",
            ]
            "built      " + parts.filter { !$0.isEmpty }.joined(separator: "; ")
        }
        if options.dryRun {
            "nothing was changed"
        } else if options.only != nil {
            "no flip    one projection was built; \(from) is live"
        } else if let pause = flipPause {
            let meanwhile = arrived > 0 ? "\(counted(arrived, "event")) arrived meanwhile; " : ""
            "flip       \(to) is live at position \(grouped(position.rawValue)) (\(meanwhile)writers waited \(pause.inWords))"
            // A repeated replay of the live version opens no window; `status` says to which version a rollback leads.
            if to > from {
                "window     open: `evstore rollback` returns to \(from) and keeps new events; `evstore finalize \(to)` closes it"
            }
        } else {
            "\(to) is live already"
        }
    }
}
