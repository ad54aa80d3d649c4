internal import EventModel
internal import Evstore

extension Page {
    private static let journalRows = 100

    /// What is running, the ways to go with their plans, and what happened before.
    func migration(_ request: PageRequest) async throws -> Markup {
        let versions = try store.versions
        let links = Self.shown(from: versions.floor, versions).filter { $0 != versions.live }.map { version in
            let word = version > versions.live ? "forward" : "back"
            return "<li><a href=\"?plan=\(version)#plan\">\(word) to \(version)</a></li>" as Markup
        }
        var plan: Markup?
        if let text = request.query["plan"] { plan = try await self.plan(to: store.version(named: text), versions) }
        let journal = try store.journal(newest: Self.journalRows).map { row -> [Markup] in
            [
                .time(row.time), "\(row.what)", "\([row.from, row.to].compactMap { $0?.description }.joined(separator: " → "))",
                row.position.map { "\($0.rawValue)" } ?? "", row.seconds.map { "\(duration(seconds: $0))" } ?? "", .name(row.outcome),
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

    /// What this page has begun, or else what another program does.
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

    /// Seconds after which a page that shows work is taken anew; nil where none is under way.
    func refreshSeconds() throws -> Int? { try changes?.work.isRunning == true || store.migrationUnderWay() != nil ? 2 : nil }

    /// What a replay or a rollback would do, and a button for it where things may be changed.
    private func plan(to version: SchemaVersion, _ versions: StoreVersions) async throws -> Markup {
        if version < versions.live {
            let button = changes?.form(
                "migration/rollback", ["to": version.description], "Roll back to \(version)",
                "Events that were appended since stay, and are seen at \(version).")
            return """
                <section id="plan"><h2>Back to \(version)</h2>
                <p>Its read models catch up with the log and go live; events written at \(versions.live) are kept and seen through the steps down.</p>
                \(button ?? "<p><code>evstore rollback --to \(version)</code></p>" as Markup)</section>
                """
        }
        let plan = try await store.plan(to: version)
        let loss = plan.loss.map { loss -> [Markup] in
            [
                "\(loss.version)", .name(loss.type), .name(loss.what), loss.declared ? "declared" : "not declared",
                loss.first.map { "\(loss.count), first \(Markup.link("/events/\($0.rawValue)", "\($0)"))" } ?? "\(loss.count)",
            ]
        }
        let types = plan.types.map { type -> [Markup] in
            [
                .name(type.type), "\(type.born)", "\(type.count)", .name(type.becomes.joined(separator: ", ")), "\(type.changes)",
                "\(type.failures)",
            ]
        }
        let refused = plan.refused.map { "<li>\($0.message)</li>" as Markup }
        // A person's consent, which the button stands for, overcomes no other refusal.
        let isPossible = plan.refused.allSatisfy { if case .consentNeeded = $0.error { true } else { false } }
        let asks = !plan.oneWay.isEmpty || plan.loss.contains(where: \.asks) || !plan.appendsRefused.isEmpty
        let button =
            isPossible
            ? changes?.form(
                "migration/replay", ["to": version.description, "yes": asks ? "yes" : "no"],
                asks ? "Replay to \(version), and accept what is lost" : "Replay to \(version)",
                "Builds beside the live read models, then flips.") : nil
        return """
            <section id="plan"><h2>Forward to \(version)</h2>
            \(Markup.facts([
                ("Builds", .name(plan.rebuild.joined(separator: ", "))), ("Carries over", .name(plan.carry.joined(separator: ", "))),
                ("Reads", "\(plan.events) events"), ("Takes about", "\(duration(seconds: plan.seconds)), \(size(bytes: plan.bytes))"),
                ("Measured on", "\(plan.sample) events"), ("Steps are", "\(plan.opClass)"),
                ("One way", .name(plan.oneWay.joined(separator: "; "))), ("Needs code", .name(plan.needs.joined(separator: "; "))),
            ]))
            \(refused.isEmpty ? nil : "<section class=\"bad\"><h3>It would stop</h3><ul>\(refused)</ul></section>" as Markup)
            \(Markup.table("Types", ["Type", "Born", "Events", "Becomes", "Ops", "No image"], types, empty: "No events yet."))
            \(Markup.table("Loss", ["Version", "Type", "What", "Declared", "Events of the sample"], loss, empty: "Nothing is lost."))
            \(button ?? "<p><code>evstore replay --to \(version)</code></p>" as Markup)</section>
            """
    }
}
