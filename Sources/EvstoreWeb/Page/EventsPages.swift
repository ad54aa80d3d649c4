internal import Bytes
internal import EventModel
internal import Evstore
internal import JSONText
internal import SchemaTools

extension Page {
    /// The events on a page, and the most that are examined for one where a filter leaves few.
    static let (eventsOnPage, eventsExamined) = (50, 20_000)

    // MARK: The list

    /// The list of events as they were stored, filtered; newest first, or from a position on.
    func events(_ request: PageRequest) throws -> Markup {
        let query = request.query
        if let tag = query["tag"] { return try events(tagged: tag, request) }
        let isForward = query["order"] == "oldest"
        var from = try request.position("from")
        if from == nil, let text = query["time"] { from = try position(at: text) }
        let born = try query["born"].map { try store.version(named: $0) }
        let filter = StoredEventFilter(type: query["type"], born: born, stream: query["stream"])
        let found = try store.storedEvents(
            from: from, backwards: !isForward, filter, limit: Self.eventsOnPage, examining: Self.eventsExamined)
        return """
            <h1>Events</h1>
            \(filters(query, types: Set(try store.status().types.map(\.type)).sorted()))
            \(table(of: found.events, caption: "Events as they were stored", empty: "None of the \(grouped(found.examined)) events that were looked at is one of these."))
            \(try more(query, found, isForward: isForward))
            """
    }

    private func filters(_ query: [String: String], types: [String]) -> Markup {
        let options = types.map { "<option value=\"\($0)\"></option>" as Markup }
        func field(_ name: String, _ label: String, _ example: String, list: Markup? = nil) -> Markup {
            "<p><label for=\"\(name)\">\(label)</label><input id=\"\(name)\" name=\"\(name)\" value=\"\(query[name] ?? "")\" placeholder=\"\(example)\"\(list)></p>"
        }
        let oldest: Markup? = query["order"] == "oldest" ? " selected" : nil
        return """
            <form action="/events" class="filters" aria-label="Filter">
            \(field("type", "Type as stored", "any", list: " list=\"types\""))<datalist id="types">\(options)</datalist>
            \(field("stream", "Stream begins with", "any")) \(field("born", "Born at", "v1"))
            \(field("from", "From position", "1")) \(field("time", "From time", "2026-01-31T12:00:00Z"))
            <p><label for="order">Order</label><select id="order" name="order"><option value="newest">newest first</option>
            <option value="oldest"\(oldest)>oldest first</option></select></p>
            <p><button>Show</button></p></form>
            <form action="/events" class="filters" aria-label="By tag">\(field("tag", "Tag at the live version", "any"))<p><button>Show</button></p></form>
            """
    }

    /// The events that have a tag at a version, as it sees them; newest first, or from a position on.
    private func events(tagged tag: String, _ request: PageRequest) throws -> Markup {
        let (version, isForward) = (try self.version(request), request.query["order"] == "oldest")
        let found = try store.builtEvents(
            tagged: tag, at: version, from: request.position("from"), backwards: !isForward, limit: Self.eventsOnPage)
        guard let found else {
            throw PageNotFound(
                what: "the index of tags is not built at \(version), or far behind; the page builds nothing: "
                    + "\(["evstore", "read", "--tag", tag, "--at", version.description].map(\.shellWord).joined(separator: " "))")
        }
        func link(_ order: String?, from: Position?) -> String {
            PageRequest.link(
                "events", query: ["tag": tag, "at": version.description, "order": order, "from": from?.rawValue.description])
        }
        let next = found.last.flatMap { last -> Markup? in
            if found.count < Self.eventsOnPage || !isForward && last.position.rawValue == 1 { return nil }
            let from = isForward ? last.position.next : last.position.previous
            return "<p><a href=\"\(link(request.query["order"], from: from))\">Go on from position \(from.rawValue)</a></p>"
        }
        let (order, words) = isForward ? (nil, "newest first") : ("oldest", "oldest first")
        let other: Markup = "<a href=\"\(link(order, from: nil))\">\(words)</a>"
        return """
            <h1>Events tagged \(Markup.name(tag))</h1>
            <p>As \(version) sees and tags them; \(other). <a href="/events">All events</a></p>
            \(table(of: found, caption: "Events with the tag", empty: "No event has this tag at \(version)."))
            \(next)
            """
    }

    private func more(_ query: [String: String], _ found: StoredEventPage, isForward: Bool) throws -> Markup? {
        guard let last = found.last, try isForward ? last < store.last().position : last.rawValue > 1 else { return nil }
        let next = (isForward ? last.next : last.previous).rawValue
        let link = PageRequest.link(
            "events",
            query: [
                "type": query["type"], "stream": query["stream"], "born": query["born"], "order": query["order"], "from": String(next),
            ])
        return "<p>\(found.examined) looked at. <a href=\"\(link)\">Go on from position \(next)</a></p>"
    }

    /// The first event at or after a time, by binary search: correct where times rise with the log, as those that the store assigned do.
    private func position(at text: String) throws -> Position {
        guard let time = Timestamp(text) else { throw EvstoreError.usage("\(quoted(text)) is no time, such as 2026-01-31T12:00:00Z") }
        var (low, high) = (UInt64(1), try store.last().position.next.rawValue)
        while low < high {
            let middle = low + (high - low) / 2
            if let event = try store.event(position: Position(middle)), event.time < time { low = middle + 1 } else { high = middle }
        }
        return Position(low)
    }

    /// A link to the event's stream by its name at the birth version: a step may rename the stream or hide the event.
    private static func link(toStreamOf event: RecordedEvent) -> String {
        // Events from before versions existed have no version.
        let at = event.version.rawValue > 0 ? event.version.description : nil
        return PageRequest.link("streams", event.stream.text, query: ["at": at])
    }

    func table(of events: [RecordedEvent], caption: String, empty: String) -> Markup {
        .table(
            caption, ["Position", "Time", "Stream", "Revision", "Type", "Born"],
            events.map { event in
                [
                    .event(event.position), .time(event.time), .link(Self.link(toStreamOf: event), event.stream.text),
                    "\(event.revision.rawValue)", .name(event.type), "\(event.born)",
                ]
            }, empty: empty)
    }

    // MARK: One event

    /// Shows an event as it was stored beside its images at a version, and what each step did to it.
    func event(_ text: String, _ request: PageRequest) throws -> Markup {
        guard let number = UInt64(text), let event = try store.event(position: Position(number)) else {
            throw PageNotFound(what: "there is no event at position \(text)")
        }
        let version = try self.version(request)
        let (before, after) = (event.position.previous.rawValue, event.position.next.rawValue)
        let previous: Markup? = before > 0 ? "<a href=\"/events/\(String(before))\" rel=\"prev\">Before: \(before)</a>" : nil
        let next: Markup? =
            try number < store.last().position.rawValue ? "<a href=\"/events/\(String(after))\" rel=\"next\">After: \(after)</a>" : nil
        return try """
        <h1>Event \(number)</h1>
        <p class="steps">\(previous) \(next)</p>
        \(Markup.facts([
                ("Stream", "\(Markup.link(Self.link(toStreamOf: event), event.stream.text)) revision \(event.revision.rawValue)"),
                ("Type", .name(event.type)), ("Time", .moment(event.time)), ("Id", "<code>\(event.id)</code>"),
                ("Born at", "\(event.born)"), ("Epoch", "\(event.epoch)"),
            ]))
        \(beside(event, version))
        \(metadata(of: event))
        \(steps(event, to: version))
        """
    }

    private func slider(_ version: SchemaVersion) throws -> Markup {
        let newest = try max(store.versions.head, store.versions.top)
        let links = try Self.shown(from: SchemaVersion(1), store.versions).map { number in
            Markup.item("?at=\(number)", "\(number)", isCurrent: number == version)
        }
        return """
            <form class="slider"><label for="at">Version</label>
            <input type="range" id="at" name="at" min="1" max="\(String(newest.rawValue))" value="\(String(version.rawValue))" data-sends>
            <noscript><button>Show</button></noscript></form><ul class="versions-list">\(links)</ul>
            """
    }

    /// The stored event beside its images at a version; marks what only one of them has.
    private func beside(_ event: RecordedEvent, _ version: SchemaVersion) throws -> Markup {
        let stored = JSONLines(event.payload)
        var (marked, differs) = (Set(stored.lines.indices), false)
        var seen: Markup
        do throws(EvstoreError) {
            let images = try store.view(event.position, at: version)
            let parts = try images.map { (image) throws(EvstoreError) -> Markup in
                let text = JSONLines(image.payload)
                let differing = JSONLines.differing(stored, text)
                marked.formIntersection(differing?.a ?? [])
                if let differing, !differing.a.isEmpty || !differing.b.isEmpty { differs = true }
                let payload = Markup.json(text, label: "payload at \(version)", marked: differing?.b ?? [])
                let tags = try store.tags(of: image).map { tag in
                    "<li>\(Markup.link(PageRequest.link("events", query: ["tag": tag, "at": version.description]), tag))</li>" as Markup
                }
                let list: Markup? = tags.isEmpty ? nil : "<p>Tags:</p><ul>\(tags)</ul>"
                return "<h3>\(Markup.name(image.type)) <small>in \(Markup.name(image.stream.text))</small></h3>\(list)\(payload)"
            }
            seen = images.isEmpty ? "<p>A step hides it: at \(version) there is no such event.</p>" : "\(parts)"
            if images.isEmpty { marked = [] }
        } catch {
            (seen, marked) = (.failure(error), [])
        }
        if differs { seen = "\(seen)<p><small>Marked: what one of the two has, and the other has not.</small></p>" }
        return try """
        <div class="beside"><section><h2>As it was stored, at \(event.born)</h2>\(Markup.json(stored, label: "payload as stored", marked: marked))</section>
        <section><h2>At \(version)</h2>\(slider(version))\(seen)</section></div>
        """
    }

    private func metadata(of event: RecordedEvent) throws -> Markup? {
        if event.metadata.isEmpty { return nil }
        // Links to other events that the metadata names, such as the cause of this one.
        var links: [Markup] = []
        if case .object(let members) = try JSONValue(parsing: event.metadata.lent) {
            for member in members.sorted(by: { $0.name < $1.name }) {
                guard case .string(let text) = member.value, let position = try position(ofID: text) else { continue }
                links.append("<li>\(Markup.name(member.name)): \(Markup.link("/events/\(position.rawValue)", "event \(position)"))</li>")
            }
        }
        return """
            <section><h2>Metadata</h2>\(Markup.json(event.metadata, label: "metadata"))
            \(links.isEmpty ? nil : "<ul>\(links)</ul>" as Markup)</section>
            """
    }

    /// The ops that touched each member on the way.
    private func steps(_ event: RecordedEvent, to version: SchemaVersion) -> Markup {
        if event.born == version { return "<section><h2>What the steps do</h2><p>It was born at \(version).</p></section>" }
        do throws(EvstoreError) {
            let explanation = try store.history.explain(event.type, from: event.born, to: version)
            let outcomes = explanation.outcomes.map { outcome -> Markup in
                let changes = outcome.changes.map { "<li>\($0.version): it \($0.words)</li>" as Markup }
                let rows = outcome.members.map { member -> [Markup] in
                    let words = member.changes.map { "<li>\($0.version): \(Markup.name($0.words))</li>" as Markup }
                    return [
                        .name(member.before?.description ?? "new"), .name(member.after?.description ?? "gone"),
                        "\(member.wasNoun ?? "") → \(member.noun ?? "")", words.isEmpty ? "unchanged" : "<ul>\(words)</ul>",
                    ]
                }
                return """
                    <h3>\(outcome.type.map { .name($0) } ?? "No event" as Markup)</h3><ul>\(changes)</ul>
                    \(Markup.table("Members", ["At \(event.born)", "At \(version)", "Form", "What touched it"], rows, empty: "It has no members."))
                    """
            }
            return "<section><h2>What the steps do, from \(event.born) to \(version)</h2>\(outcomes)</section>"
        } catch { return "<section><h2>What the steps do</h2>\(Markup.failure(error))</section>" }
    }

    private static let (streamEvents, foldsFrom) = (UInt64(50), UInt64(10_000))

    /// Shows the stored events of a stream, their images at a version, and what they made of the rows of read models, from these events
    /// alone.
    func stream(_ text: String, _ request: PageRequest) throws -> Markup {
        let name = try StreamName(text)
        let version = try self.version(request)
        let (from, before) = (try request.revision("from"), try request.revision("before"))
        guard let stream = try store.stream(name, at: version, from: from, before: before, limit: Int(Self.streamEvents)) else {
            throw PageNotFound(what: "there is no stream \(quoted(text)), neither at \(version) nor in the log")
        }
        let rows = stream.events.map { event -> [Markup] in
            [
                "\(event.revision.rawValue)", .event(event.position, at: version), .time(event.time),
                "\(Markup.name(event.type)) <small>\(event.born)</small>", seen(event),
            ]
        }
        func link(_ field: String, _ revision: UInt64, _ words: String) -> Markup {
            let query: KeyValuePairs = ["at": Optional(version.description), field: String(revision)]
            return "<a href=\"\(PageRequest.link("streams", text, query: query))\">\(words)</a>"
        }
        let first = stream.events.first.map(\.revision.rawValue) ?? 0
        let earlier = first > 0 ? link("before", first, "Earlier") : nil
        let later = stream.events.last.flatMap { $0.revision < stream.last ? link("from", $0.revision.next.rawValue, "Later") : nil }
        let stored: Markup? = stream.stored == name ? nil : " The log holds it as \(Markup.name(stream.stored.text))."
        return """
            <h1>Stream \(Markup.name(text))</h1>
            <p>At \(version), \(stream.last.next.rawValue) events as they were stored.\(stored) \(link("from", 0, "From its first event")) \(earlier) \(later)</p>
            \(Markup.table("Events of the stream", ["Revision", "Position", "Time", "Stored as", "At \(version)"], rows, empty: "No events here."))
            \(try folds(of: name, at: version, from: first))
            """
    }

    private func seen(_ event: EventAtVersion) -> Markup {
        if let error = event.error { return .failure(error) }
        if event.images.isEmpty { return "a step hides it" }
        let images = event.images.map { image -> Markup in
            "<details><summary>\(Markup.name(image.type))</summary>\(Markup.json(image.payload, label: "payload of revision \(event.revision)"))</details>"
        }
        return "\(images)"
    }

    /// The state of each row after each of the shown events, folded from the stream's first event.
    private func folds(of stream: StreamName, at version: SchemaVersion, from first: UInt64) throws -> Markup {
        if first > Self.foldsFrom {
            return """
                <section><h2>Its fold over time</h2><p>It is shown for the first \(Self.foldsFrom) events of a stream: each is folded from the \
                stream's beginning.</p></section>
                """
        }
        let sections = try store.projections(at: version).filter { !$0.isTagIndex }.compactMap { model -> Markup? in
            let steps: [RowChange]
            do throws(EvstoreError) {
                steps = try store.trace(model.name, of: stream, at: version, from: Revision(first), limit: Int(Self.streamEvents))
            } catch { return "<h3>\(Markup.name(model.name))</h3>\(Markup.failure(error))" }
            if steps.isEmpty { return nil }
            let rows = steps.map { step -> [Markup] in
                let row = PageRequest.link("read-models", model.name, "rows", step.key, query: ["at": version.description])
                return [
                    .event(step.position, at: version), .name(step.type), step.key.isEmpty ? "no row" : .link(row, step.key), after(step),
                ]
            }
            return .table("\(model.name), event by event", ["Position", "Event", "Row", "After it"], rows, empty: "")
        }
        return """
            <section><h2>Its fold over time</h2>
            <p>What these events make of the rows they touch, without events of other streams.</p>
            \(sections.isEmpty ? "<p class=\"none\">No read model takes these events.</p>" : "\(sections)" as Markup)</section>
            """
    }

    /// The row after a step, and the error where the event could not be folded.
    func after(_ step: RowChange) -> Markup {
        let row = step.row.map { .json($0, label: "row after position \(step.position)") } ?? (step.key.isEmpty ? "" : "no row" as Markup)
        let error: Markup? = step.error.map { "<p class=\"bad\">It did not fold: \($0)</p>" }
        return "\(error)\(row)"
    }
}
