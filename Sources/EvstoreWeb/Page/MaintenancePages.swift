internal import Bytes
internal import EventModel
internal import Evstore
internal import EvstoreCluster
internal import EvstoreService
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
        if let backups { facts.append(("Last backup", lastBackup(backups.sight()))) }
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

    private func lastBackup(_ sight: BackupLook.Sight) -> Markup {
        let unreadable = sight.runs.prefix(1).filter { $0.damage != nil }.map { run -> Markup in
            ", <strong class=\"bad\">and the newest run, \(run.number), can't be read</strong> (<a href=\"/storage\">backups</a>)"
        }
        let silence = sight.silentSince.map { time -> Markup in
            "; <strong class=\"bad\">their directory has not answered since</strong> \(Markup.moment(time))"
        }
        let none = sight.silentSince == nil ? "none" : "not known"
        let words = sight.newest.map { "\(age(since: $0.time)), up to position \($0.position.rawValue)" } ?? none
        return "\(words)\(unreadable)\(silence)"
    }

    private static let complaintLinks = [
        "parked": "/consumers", "consumerFailing": "/consumers", "consumerCutOff": "/consumers", "quarantined": "/quarantine",
        "drillFailed": "/drills", "diskFull": "/storage", "readOnly": "/storage", "longReader": "/storage",
        "clusterUnreachable": "/cluster", "forked": "/cluster", "takenOut": "/cluster", "twin": "/cluster",
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
        let newest = store.newest(versions)
        let window: Markup =
            switch (status.window, status.replica) {
            case (false, nil) where newest > versions.live:
                "The window is closed: <a href=\"/migration?plan=\(newest)#plan\">a replay to \(newest)</a> opens it."
            case (false, _): "The window is closed: there is no other version to go to."
            case (true, .some): "The window is open, as the original had it: a replica goes where its original goes."
            case (true, nil):
                "The window is open: <code>evstore rollback</code> goes back to what is below the live version, down to the floor."
            }
        return "<section><h2>Versions</h2><ol class=\"versions\">\(stops)</ol><p>\(window)</p></section>"
    }

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
                let link = PageRequest.link("read-models", model.name, query: ["at": model.version.description])
                let name: Markup = model.isTagIndex ? "\(Markup.name(model.name)) <small>index of tags</small>" : .link(link, model.name)
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

    // MARK: Consumers and quarantine

    private static let (parkedShown, quarantineShown) = (100, 200)

    func consumers() throws -> Markup {
        let all = try store.consumers()
        let parked = try all.filter { $0.parked > 0 }.map { consumer -> Markup in
            let rows = try store.parked(of: consumer.name, limit: Self.parkedShown).map { event -> [Markup] in
                let fields = ["name": consumer.name, "position": String(event.position.rawValue)]
                return [
                    .event(event.position), .name(event.type), .link(PageRequest.link("streams", event.stream.text), event.stream.text),
                    "\(event.attempts)", .name(event.error), .time(event.time),
                    event.isToRetry ? "is tried again" : changes?.form("consumers/retry", fields, "Try again", "") ?? "",
                ]
            }
            return .table(
                "Parked by \(consumer.name)", ["Position", "Type", "Stream", "Attempts", "Why", "When", ""], rows,
                empty: "Nothing is parked.")
        }
        return """
            <h1>Consumers</h1>\(table(of: all))\(parked)
            <p><code>evstore consumers parked NAME</code> lists all, <code>retry</code> and <code>drop</code> settle them.</p>
            """
    }

    func quarantine(_ request: PageRequest) throws -> Markup {
        let version = try version(request)
        let found = try store.quarantine(at: version, limit: Self.quarantineShown)
        let rows = found.events.map { projection, row -> [Markup] in
            [.event(row.position, at: version), .name(projection), .name(row.type), .name(row.reason)]
        }
        let button =
            found.count == 0
            ? nil
            : changes?.form(
                "quarantine/retry", [:], "Build these read models anew", "Beside the live ones; they flip where they lack fewer.")
        return """
            <h1>Quarantine at \(version)</h1><p>\(counted(found.count, "event"))\(found.count > UInt64(rows.count) ? ", the first \(rows.count) of them" : "").</p>
            \(Markup.table("Events that read models could not take in", ["Position", "Read model", "Type as stored", "Why"], rows, empty: "Nothing is quarantined."))
            \(button ?? "<p><code>evstore quarantine retry</code> builds them anew once the cause is mended.</p>" as Markup)
            """
    }

    // MARK: Drills

    /// A drill's report in the form that the store keeps below `drills`.
    private struct DrillFile: Decodable {
        struct Step: Decodable {
            var name: String
            var ok: Bool
            var seconds: Double
            var detail: String
        }
        var passed: Bool
        var steps: [Step]
        var recoverySeconds: Double?
        var recoveryPointEvents: UInt64?
    }

    private static let drillsShown = 20

    /// Lists the drills whose reports the store keeps, with their steps and the cost of recovery over time.
    func drills() throws -> Markup {
        let directory = store.path + "/drills"
        let names = try onFiles("listing \(directory)") {
            FileManager.default.fileExists(atPath: directory) ? try FileManager.default.contentsOfDirectory(atPath: directory) : []
        }
        var runs: [(name: String, report: DrillFile)] = []
        for name in names.filter({ $0.hasSuffix(".json") }).sorted().suffix(Self.drillsShown).reversed() {
            let report = try onFiles("reading \(directory)/\(name)") {
                try JSONDecoder().decode(DrillFile.self, from: Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)))
            }
            runs.append((String(name.dropLast(5)), report))
        }
        let slowest = runs.compactMap(\.report.recoverySeconds).max() ?? 0
        let trend = runs.map { run -> [Markup] in
            let seconds = run.report.recoverySeconds
            let bar: Markup? = seconds.map {
                "<meter min=\"0\" max=\"\(String(max(slowest, 0.001)))\" value=\"\(String($0))\"></meter> \(duration(seconds: $0))"
            }
            return [
                .link("#\(run.name)", run.name), run.report.passed ? "passed" : "<strong class=\"bad\">failed</strong>",
                "\(duration(seconds: run.report.steps.reduce(0) { $0 + $1.seconds }))", "\(bar)",
                run.report.recoveryPointEvents.map { "\($0)" } ?? "",
            ]
        }
        let details = runs.map { run -> Markup in
            let steps = run.report.steps.map { step -> [Markup] in
                [
                    .name(step.name), step.ok ? "ok" : "<strong class=\"bad\">failed</strong>", "\(duration(seconds: step.seconds))",
                    .name(step.detail),
                ]
            }
            return
                "<section id=\"\(run.name)\"><h2>\(run.name)</h2>\(Markup.table("Steps", ["Step", "", "Took", "What was found"], steps, empty: ""))</section>"
        }
        let button = changes?.form("drills/run", [:], "Make a drill now", "On a copy; it takes several times as long as a replay.")
        return """
            <h1>Drills</h1>\(try work())
            \(Markup.table("Runs, newest first", ["Run", "Result", "Took", "Recovery", "Events the backup lacks"], trend, empty: "None yet: evstore drill rehearses going back."))
            \(button)\(details)
            """
    }

    // MARK: Census and storage

    private static let (samples, bands) = (400, 20)

    /// Shows events by type and birth version, how births changed over the log, and which steps events still need.
    func census() throws -> Markup {
        let status = try store.status()
        let total = status.types.sum(\.count)
        let types = status.types.sorted { ($0.type, $0.born) < ($1.type, $1.born) }.map { type -> [Markup] in
            [
                .link(PageRequest.link("events", query: ["type": type.type, "born": type.born.description]), type.type), "\(type.born)",
                .share(type.count, of: total),
            ]
        }
        let births = status.births
        let steps = Self.shown(from: SchemaVersion(2), status.versions).map { version -> [Markup] in
            let older = births.filter { $0.version < version }.sum(\.count)
            let words: Markup =
                older == 0 ? "no event is older: nothing needs its way up" : "\(older) events were born before it and are read through it"
            return ["the step to \(version)", words]
        }
        return """
            <h1>Census</h1>
            \(Markup.table("Events by type and birth", ["Type as stored", "Born", "Events"], types, empty: "No events yet."))
            \(try overTime(upTo: status.position.rawValue))
            \(Markup.table("Which steps are needed", ["Step", "By whom"], steps, empty: "There is one version."))
            """
    }

    /// The birth versions over the log, in sections with equal numbers of events, from an evenly spaced sample.
    private func overTime(upTo last: UInt64) throws -> Markup {
        let count = min(UInt64(Self.samples), last)
        if count == 0 { return "" }
        var bands: [(begin: Timestamp, births: [SchemaVersion: UInt64])] = []
        for sample in 0 ..< count {
            guard let event = try store.event(position: Position(1 + last / count * sample + last % count * sample / count)) else {
                continue
            }
            if Int(sample) * Self.bands / Int(count) >= bands.count { bands.append((event.time, [:])) }
            bands[bands.count - 1].births[event.born, default: 0] += 1
        }
        let rows = bands.map { band -> [Markup] in
            let whole = band.births.values.sum(\.self)
            let shares = band.births.sorted { $0.key < $1.key }.map { version, part in
                "<span class=\"band\">\(version) \(part * 100 / max(whole, 1)) %</span> " as Markup
            }
            return [.time(band.begin), "\(shares)"]
        }
        return .table("Births over time, by a sample of \(count) events", ["From", "Born at"], rows, empty: "")
    }

    func storage() throws -> Markup {
        let status = try store.status()
        let parts = try store.parts()
        let log = parts.first { $0.name == "log" }?.bytes ?? 0
        let events = max(1, status.position.rawValue)
        let reader = status.oldestReader.map { "process \($0.process), \(counted($0.commitsBehind, "commit")) behind" } ?? "none"
        return """
            <h1>Storage</h1>
            \(Markup.facts([
                ("Free on the disk", "\(size(bytes: status.freeBytes))"), ("Ballast", "\(size(bytes: status.ballastBytes))"),
                ("Log, an event", "\(size(bytes: log / events))"), ("Oldest reader", "\(reader)"),
                ("Sealed", "\(status.writingKey.map { "under data key \($0.id)" } ?? "no")"),
            ]))
            \(Markup.table("On the disk", ["Part", "Size"], parts.map { [.name($0.name), "\(size(bytes: $0.bytes))"] }, empty: ""))
            \(backupTable)
            """
    }

    private var backupTable: Markup? {
        guard let backups else { return nil }
        let sight = backups.sight()
        let silence = sight.silentSince.map { time -> Markup in
            "<p class=\"bad\">\(backups.directory) has not answered since \(Markup.moment(time)): these backups were found before.</p>"
        }
        let rows = sight.runs.map { run -> [Markup] in
            if let damage = run.damage {
                return ["\(run.number)", "", "", "<strong class=\"bad\">can't be read</strong>: \(Markup.name(damage))", ""]
            }
            return ["\(run.number)", .time(run.time), "\(run.position.rawValue)", "\(run.content)", "\(size(bytes: run.bytes))"]
        }
        let titles = ["Run", "Time", "Up to", "Content", "Size"]
        let none = silence == nil ? "No backups yet." : "No backups are known."
        return "\(silence)\(Markup.table("Backups in \(backups.directory)", titles, rows, empty: none))"
    }
}

extension Page {
    /// Shows this node, the other nodes as they have reported themselves, and the obstacles.
    func cluster() async throws -> Markup {
        let status = try store.status()
        guard let place = status.cluster else { throw PageNotFound(what: "this store belongs to no cluster log") }
        let trouble: Markup? =
            place.trouble > .zero
            ? "<p class=\"bad\">It could not be followed for \(place.trouble.inWords): appends wait for it.</p>" : nil
        return """
            <h1>Cluster log \(Markup.name(place.log))</h1>\(trouble)
            \(Markup.facts([
                ("This node", .name(place.node)), ("Its last event", "\(status.position.rawValue), in epoch \(status.versions.epoch)"),
                ("Frames that it has", "\(place.frames)"),
            ]))
            \(await nodes(of: place))
            """
    }

    private func nodes(of place: ClusterPlace) async -> Markup {
        do throws(EvstoreError) {
            guard let cluster = try await store.clusterStatus() else { return "" }
            let floor = cluster.nodes.map(\.live).min()
            let rows = cluster.nodes.map { node -> [Markup] in
                [
                    "\(Markup.name(node.name))\(node.name == place.node ? " <small>this one</small>" : nil as Markup?)",
                    "\(node.live)\(node.live == floor ? " <small>holds the floor</small>" : nil as Markup?)",
                    "\(node.position.rawValue)", "\(counted(node.lag, "event")), \(counted(node.framesBehind, "frame"))",
                    "\(node.silence.inWords) ago", .name(node.program),
                ]
            }
            let titles = ["Node", "Live", "Last event", "Behind", "Seen", "Program"]
            return """
                \(Markup.facts([
                    ("The log's last event", "\(cluster.position.rawValue), in epoch \(cluster.epoch)"), ("Its frames", "\(cluster.frames)"),
                ]))
                \(Markup.table("Nodes as they have reported themselves", titles, rows, empty: "No node has reported itself."))
                <p><small>A node that nobody has open reports nothing. <code>evstore cluster status</code> counts the frames, too.</small></p>
                """
        } catch { return "<section class=\"bad\"><h2>The others can't be asked for</h2>\(Markup.failure(error))</section>" }
    }
}
