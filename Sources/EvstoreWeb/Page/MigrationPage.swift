internal import EventModel
internal import Evstore

extension Page {
    private static let journalRows = 100

    /// Shows the work that is running, the possible versions with their plans, and the journal.
    func migration(_ request: PageRequest) async throws -> Markup {
        let versions = try store.versions
        let links = Self.shown(from: versions.floor, versions).filter { $0 != versions.live }.map { version in
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
            <p>Live is \(versions.live); the window reaches from \(versions.floor) to \(versions.top), the newest version known is \(versions.head).</p>
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
