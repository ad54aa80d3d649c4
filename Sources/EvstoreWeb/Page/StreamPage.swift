internal import EventModel
internal import Evstore

extension Page {
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
                "\(Markup.name(event.type)) <small>\(event.born)</small>", seen(event, at: version),
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

    private func seen(_ event: EventAtVersion, at version: SchemaVersion) -> Markup {
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
        let sections = try store.projections(at: version).compactMap { model -> Markup? in
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
