internal import Bytes
internal import EventModel
internal import Evstore
internal import Foundation

extension Page {
    /// Shows the versions and who works at each, the rate, lag and health, the last drill and backup.
    func overview() throws -> Markup {
        let (status, consumers) = (try store.status(), try store.consumers())
        let complaints = status.complaints.map { complaint -> Markup in
            let place = Self.complaintLinks[complaint.code].map { " <a href=\"\($0)\">Look</a>" as Markup }
            return "<li>\(complaint.description)\(place)</li>"
        }
        let health: Markup =
            complaints.isEmpty
            ? "<p class=\"good\">Health: good</p>" : "<section class=\"bad\"><h2>What needs care</h2><ul>\(complaints)</ul></section>"
        let drill: Markup =
            status.lastDrill.map { mark in
                "\(age(since: mark.time)), \(mark.passed ? "passed" : "failed") (<a href=\"/drills\">drills</a>)"
            } ?? "never: <code>evstore drill</code> rehearses going back"
        var facts: [(name: String, value: Markup)] = [
            ("Last event", "position \(Markup.event(status.position))"),
            ("Rate", "\(try rate(upTo: status.position))"), ("Last drill", drill),
        ]
        if let backups {
            let newest = StoreMaintenance.newestBackups(in: backups).first
            facts.append(("Last backup", newest.map { "\(age(since: $0.time)), up to position \($0.position.rawValue)" } ?? "none"))
        }
        return """
            <h1>Overview</h1>
            \(health)
            \(try work())
            \(versionLine(status, consumers))
            \(Markup.facts(facts))
            \(table(of: status.projections, caption: "Read models of the live version"))
            \(table(of: consumers))
            """
    }

    /// The pages that show more about a complaint, by its code.
    private static let complaintLinks = [
        "parked": "/consumers", "consumerFailing": "/consumers", "quarantined": "/quarantine", "drillFailed": "/drills",
        "diskFull": "/storage", "longReader": "/storage", "clusterUnreachable": "/cluster",
        "forked": "/cluster", "takenOut": "/cluster", "twin": "/cluster",
    ]

    /// The versions from floor to head, with what is at each.
    private func versionLine(_ status: StatusReport, _ consumers: [ConsumerStatus]) -> Markup {
        let versions = status.versions
        let births = Dictionary(uniqueKeysWithValues: status.births.map { ($0.version, $0.count) })
        let first = min(versions.floor, births.keys.min() ?? SchemaVersion(1), SchemaVersion(1))
        let stops = Self.shown(from: first, versions).map { version in
            let marks = [("floor", versions.floor), ("live", versions.live), ("top", versions.top), ("head", versions.head)]
            let names = marks.filter { $0.1 == version }.map(\.0)
            let readers = consumers.filter { $0.version == version }.map(\.name)
            let isLive: Markup? = version == versions.live ? " class=\"live\"" : nil
            let words = names.map { "<span>\($0)</span>" as Markup } + readers.map { "<span class=\"reader\">\(Markup.name($0))</span>" }
            return "<li\(isLive)><strong>\(version)</strong> \(words) <small>\(births[version] ?? 0) born</small></li>\n" as Markup
        }
        let window: Markup =
            switch (status.window, status.replica) {
            case (false, _): "The window is closed: there is no other version to go to."
            case (true, .some): "The window is open, as the original had it: a replica goes where its original goes."
            case (true, nil):
                "The window is open: <code>evstore rollback</code> goes back to what is below the live version, down to the floor."
            }
        return "<section><h2>Versions</h2><ol class=\"versions\">\(stops)</ol><p>\(window)</p></section>"
    }

    /// The rate of the last thousand events.
    private func rate(upTo last: Position) throws -> String {
        let first = Position(last.rawValue.minus(1_000))
        guard first < last, let begin = try store.event(position: first.next), let end = try store.event(position: last)
        else { return "no events" }
        let seconds = end.time.seconds(since: begin.time)
        let age = age(since: end.time)
        if seconds <= 0 { return "the last event \(age)" }
        return
            "\(EventModel.rate(perSecond: Double(last.events(after: first)) / seconds)) over the last \(counted(last.events(after: first), "event")), the last one \(age)"
    }

    func table(of models: [ProjectionStatus], caption: String) -> Markup {
        .table(
            caption, ["Read model", "Version", "Rows", "At", "Behind", "Quarantined", "Digest"],
            models.map { model in
                let name = Markup.link(PageRequest.link("read-models", model.name, query: ["at": model.version.description]), model.name)
                guard let checkpoint = model.checkpoint else { return [name, "\(model.version)", "not built", "", "", "", ""] }
                return [
                    name, "\(model.version)", "\(model.rows)", "\(checkpoint.position.rawValue)", "\(model.lag)", "\(model.quarantined)",
                    "<code>\(String((model.digest ?? "").prefix(16)))</code>",
                ]
            }, empty: "No read models are declared.")
    }

    func table(of consumers: [ConsumerStatus]) -> Markup {
        .table(
            "Consumers", ["Consumer", "Version", "At", "Behind", "Parked", "Holder", "Last failure"],
            consumers.map { consumer in
                [
                    .name(consumer.name), "\(consumer.version)", "\(consumer.place.position.rawValue)",
                    consumer.isCutOff ? "cut off" : "\(consumer.lag)",
                    consumer.parked == 0 ? "0" : "<a href=\"/consumers\">\(consumer.parked)</a>",
                    consumer.holder.map { .name($0) } ?? "nobody",
                    consumer.error.map { error in
                        "at \(Markup.link("/events/\(consumer.failing?.rawValue ?? 0)", "\(consumer.failing ?? .start)")): \(Markup.name(error))"
                    } ?? "",
                ]
            }, empty: "No consumers have a place in this store.")
    }
}
