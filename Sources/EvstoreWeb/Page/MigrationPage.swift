internal import Bytes
internal import EventModel
package import Evstore
internal import EvstoreService
internal import Platform
internal import Synchronization

extension Page {
    private static let journalRows = 100

    /// Shows the work that is running, the possible versions with their plans, and the journal.
    func migration(_ request: PageRequest) async throws -> Markup {
        let versions = try store.versions
        // The files that the program was given may have versions that the store learns of at a replay.
        let newest = store.newest(versions)
        let source: Markup? = newest > versions.head ? " of the version files" : nil
        let reachable = Self.shown(from: versions.floor, through: max(newest, versions.top)).filter { $0 != versions.live }
        let links = reachable.map { version in
            Markup.item("?plan=\(version)#plan", "\(version > versions.live ? "forward" : "back") to \(version)")
        }
        var plan: Markup?
        if let text = request.query["plan"] { plan = try await self.plan(to: store.version(named: text)) }
        let journal = try store.maintenance.journal(newest: Self.journalRows).map { row -> [Markup] in
            [
                .time(row.time), "\(row.kind.rawValue)", "\([row.from, row.to].compactMap { $0?.description }.joined(separator: " → "))",
                row.position.map { "\($0.rawValue)" } ?? "", row.duration.map { "\($0.inWords)" } ?? "", .name(row.outcome),
                .name(row.by),
            ]
        }
        return """
            <h1>Migration</h1>
            \(try work())
            <p>Live is \(versions.live); the window reaches from \(versions.floor) to \(versions.top), the newest version known is \(newest)\(source).</p>
            <ul class="versions-list">\(links)</ul>
            \(plan)
            \(Markup.table("What happened, newest first", ["Time", "What", "Versions", "Position", "Took", "Outcome", "By"], journal, empty: "Nothing yet."))
            """
    }

    /// The work that this page has begun, or else that of another program.
    func work() throws -> Markup? {
        if let changes, changes.work.isRunning { return changes.work.shown }
        guard let other = try store.migrationUnderWay() else { return changes?.work.shown }
        let far = other.progress.map { progress -> Markup in
            """
            \(progress.step) <progress max="\(String(progress.total))" value="\(String(progress.done))"></progress>
            \(progress.done) of \(progress.total)
            """
        }
        return "<p class=\"work\" role=\"status\"><strong>Under way</strong> in \(Markup.name(other.holder)) \(far)</p>"
    }

    /// The interval in seconds at which a page that shows running work reloads; nil where no work is running.
    func refreshSeconds() throws -> Int? { try changes?.work.isRunning == true || store.migrationUnderWay() != nil ? 2 : nil }

    /// Shows what a replay or a rollback would do, with a button for it where changes are allowed.
    private func plan(to version: SchemaVersion) async throws -> Markup {
        let plan = try await store.plan(to: version)
        let refused = plan.refused.map { "<li>\(Markup.failure($0.error))</li>" as Markup }
        let readers = plan.rollback.readsRefused.map { refused -> Markup in
            """
            <li>Once \(version) is live, a program without \(refused.step) can't read \(Markup.name(refused.types.joined(separator: ", "))): \
            \(counted(refused.events, "event")) now.</li>
            """
        }
        let types = plan.types.map { type -> [Markup] in
            [
                .name(type.type), "\(type.born)", "\(type.count)", .name(type.becomes.joined(separator: ", ")), "\(type.changes)",
                "\(type.failures)",
            ]
        }
        let loss = plan.loss.map { loss -> [Markup] in
            [
                "\(loss.version)", .name(loss.type), .name(loss.what), loss.declared ? "declared" : "not declared",
                loss.first.map { "\(loss.count), first \(Markup.link("/events/\($0.rawValue)", "\($0)"))" } ?? "\(loss.count)",
            ]
        }
        let caption = plan.isRollback ? "What \(version) does not show" : "Loss"
        let nothing = plan.isRollback ? "It shows all of the events that were looked at." : "Nothing is lost."
        return """
            <section id="plan"><h2>\(plan.isRollback ? "Back" : "Forward") to \(version)</h2>
            \(Markup.facts(facts(of: plan)))
            \(refused.isEmpty ? nil : "<section class=\"bad\"><h3>It would stop</h3><ul>\(refused)</ul></section>" as Markup)
            \(plan.isRollback && !readers.isEmpty ? "<section class=\"bad\"><h3>Who can't read then</h3><ul>\(readers)</ul></section>" as Markup : nil)
            \(Markup.table("Types", ["Type", "Born", "Events", "Becomes", "Ops", "No image"], types, empty: "No events yet."))
            \(Markup.table(caption, ["Version", "Type", "What", "Declared", "Events of the sample"], loss, empty: nothing))
            \(button(for: plan) ?? "<p><code>evstore \(plan.isRollback ? "rollback" : "replay") --to \(version)</code></p>" as Markup)</section>
            """
    }

    private func facts(of plan: PlanReport) -> [(name: String, value: Markup)] {
        let carry = Markup.name(plan.carry.joined(separator: ", "))
        var facts: [(name: String, value: Markup)] =
            plan.isRollback
            ? [
                ("Events since the flip, which stay", "\(plan.tail)"), ("Born above \(plan.to)", "\(plan.bornAbove)"), ("There", carry),
                ("Not there", .name(plan.gone.joined(separator: ", "))), ("To take in", "\(counted(plan.events, "event"))"),
            ]
            : [("Carries over", carry), ("Reads", "\(counted(plan.events, "event"))")]
        facts += [
            (
                "Builds from events",
                .name(
                    plan.rebuild.filter { name in !plan.ways.contains { $0.projection == name && $0.rows != nil } }.joined(separator: ", "))
            ),
            ("Builds from rows", .name(plan.ways.filter { $0.rows != nil }.map(\.projection).joined(separator: ", "))),
            ("Takes about", "\(plan.duration.inWords), \(size(bytes: plan.bytes))"),
            ("Looked at", "\(counted(plan.sample, "event"))"), ("Steps are", "\(plan.opClass)"),
            ("One way", .name(plan.oneWay.joined(separator: "; "))), ("Needs code", .name(plan.needs.joined(separator: "; "))),
        ]
        return facts.filter { $0.value.text != Markup.name("").text }
    }

    /// The button that starts the plan; nil where nothing may be changed, or the plan would be refused.
    private func button(for plan: PlanReport) -> Markup? {
        let version = plan.to
        if plan.isRollback {
            guard plan.refused.isEmpty else { return nil }
            return changes?.form(
                "migration/rollback", ["to": version.description], "Roll back to \(version)",
                "Events that were appended since stay, and are seen at \(version).")
        }
        // The button gives a person's consent, which overrides no other refusal.
        guard plan.refused.allSatisfy({ if case .consentNeeded = $0.error { true } else { false } }) else { return nil }
        let asks = !plan.oneWay.isEmpty || plan.loss.contains(where: \.asks) || !plan.appendsRefused.isEmpty
        return changes?.form(
            "migration/replay", ["to": version.description, "yes": asks ? "yes" : "no"],
            asks ? "Replay to \(version), and accept what is lost" : "Replay to \(version)",
            "Builds beside the live read models, then flips.")
    }
}

/// The changes that the page may make: by forms with the secret of this run, one job at a time.
package final class PageChanges: Sendable {
    /// A secret in every form, so that no other page can submit one in a browser's name.
    private let secret = PageSecret.make()
    let work: PageWork

    /// - Parameter progress: is also called with the progress of the work.
    package init(_ progress: @escaping ProgressHandler = { _ in }) { work = PageWork(progress) }

    func form(_ action: String, _ fields: [String: String], _ button: String, _ words: String) -> Markup {
        let hidden = fields.sorted { $0.key < $1.key }.map { "<input type=\"hidden\" name=\"\($0.key)\" value=\"\($0.value)\">" as Markup }
        return """
            <form method="post" action="/\(action)" class="change"><input type="hidden" name="secret" value="\(secret)">\(hidden)
            <button>\(button)</button> \(words)</form>
            """
    }

    func isValid(_ form: [String: String]) -> Bool { PageSecret.equal(form["secret"] ?? "", secret) }
}

/// Random secrets with which a browser identifies itself.
package enum PageSecret {
    package static func make() -> String { hex((0 ..< 32).map { _ in UInt8.random(in: .min ... .max) }) }

    /// Compares in constant time.
    package static func equal(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        return a.count == b.count && zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The work that the page has begun, one job at a time.
final class PageWork: Sendable {
    private struct State {
        var title = ""
        var progress: ProgressEvent?
        var began = Instant.now
        var isRunning = false
        var outcome: String?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let progress: ProgressHandler

    init(_ progress: @escaping ProgressHandler) { self.progress = progress }

    var isRunning: Bool { state.withLock(\.isRunning) }

    /// - Throws: `usage` where other work is running.
    func begin(
        _ title: String, _ body: @escaping @Sendable (@escaping ProgressHandler) async throws -> String
    ) throws(EvstoreError) {
        let other = state.withLock { state -> String? in
            if state.isRunning { return state.title }
            state = State(title: title, isRunning: true, task: Task { await self.run(body) })
            return nil
        }
        if let other { throw .usage("\(other) is under way; one thing at a time") }
    }

    private func run(_ body: (@escaping ProgressHandler) async throws -> String) async {
        let outcome: String
        do {
            outcome = try await body { [self] event in
                state.withLock { $0.progress = event }
                progress(event)
            }
        } catch {
            outcome = "failed: \(error.advised)"
        }
        state.withLock { ($0.isRunning, $0.outcome) = (false, outcome) }
    }

    /// Cancels the running work, and waits until it has ended in a valid state.
    func end() async {
        while let task = state.withLock({ $0.isRunning ? $0.task : nil }) {
            task.cancel()
            await task.value
        }
    }

    var shown: Markup? {
        let state = state.withLock { $0 }
        if state.title.isEmpty { return nil }
        if let outcome = state.outcome { return "<p class=\"work\" role=\"status\"><strong>\(state.title)</strong> \(outcome)</p>" }
        let elapsed = state.began.duration(to: .now)
        guard let progress = state.progress, progress.total > 0 else {
            return
                "<p class=\"work\" role=\"status\"><strong>\(state.title)</strong> for \(elapsed.inWords) \(state.progress?.step ?? "")</p>"
        }
        let rate = elapsed > .zero ? Double(progress.done) / elapsed.inSeconds : 0
        let left: Markup? =
            rate > 0 ? ", about \(duration(seconds: Double(progress.total - min(progress.done, progress.total)) / rate)) left" : nil
        return """
            <p class="work" role="status"><strong>\(state.title)</strong> \(progress.step)
            <progress max="\(String(progress.total))" value="\(String(progress.done))"></progress>
            \(progress.done) of \(progress.total), \(EventModel.rate(perSecond: rate))\(left)</p>
            """
    }
}

extension Page {
    /// Makes the change that a form asks for, and redirects to the page that shows it.
    func change(_ path: [String], _ form: [String: String]) async throws -> PageAnswer {
        guard let changes else {
            return page(
                "Not allowed", "<h1>Nothing can be changed here</h1><p>It was started without leave to change anything.</p>", status: 403)
        }
        guard changes.isValid(form) else {
            return page("Not allowed", "<h1>That form is not this page's</h1><p>Load the page again, and then send it.</p>", status: 403)
        }
        let version = try form["to"].map { try store.version(named: $0) }
        switch path.joined(separator: "/") {
        case "migration/replay":
            guard let version else { throw EvstoreError.usage("a replay goes to a version") }
            try changes.work.begin("Replay to \(version)") { [store] progress in
                let options = MigrationOptions(yes: form["yes"] == "yes")
                let report = try await store.migrate(to: version, options: options, progress: progress)
                return "done: \(grouped(report.events)) events, \(grouped(report.rows)) rows, \(report.rebuilt.joined(separator: ", "))"
            }
            return .moved(to: "/migration")
        case "migration/rollback":
            try changes.work.begin("Rollback" + (version.map { " to \($0)" } ?? "")) { [store] progress in
                let report = try await store.rollback(to: version, progress: progress)
                return "done: from \(report.from) to \(report.to)"
            }
            return .moved(to: "/migration")
        case "quarantine/retry":
            try changes.work.begin("Building quarantined read models anew") { [store] progress in
                let report = try await store.maintenance.retryQuarantine(progress: progress)
                return "done: \(grouped(report.before)) before, \(grouped(report.after)) after"
            }
            return .moved(to: "/migration")
        case "drills/run":
            try changes.work.begin("Drill") { [store, backups] progress in
                let report = try await store.maintenance.drill(backups: backups?.directory, progress: progress)
                return report.passed ? "passed" : "failed"
            }
            return .moved(to: "/drills")
        case "consumers/retry":
            guard let name = form["name"] else { throw EvstoreError.usage("which consumer?") }
            guard let position = form["position"].flatMap(UInt64.init) else { throw EvstoreError.usage("the event at which position?") }
            _ = try await store.maintenance.retryParked(of: name, position: Position(position))
            return .moved(to: "/consumers")
        default: throw PageNotFound(what: "there is no such change")
        }
    }
}
