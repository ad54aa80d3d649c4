internal import EventModel
internal import Evstore

extension Page {
    private static let (streamEvents, rowsShown) = (50, 20)

    /// A stream's events at a version, and beside each what it made of the rows of read models, from these events alone.
    func stream(_ text: String, _ request: PageRequest) throws -> Markup {
        let name = try StreamName(text)
        let version = try request.query["at"].map { text throws(EvstoreError) in try store.version(named: text) } ?? store.versions.live
        let isNewest = request.query["from"] == nil
        let first = request.query["from"].flatMap(UInt64.init).map { Revision($0) }
        let page = try store.read(name, at: version, from: first, limit: Self.streamEvents, backwards: isNewest)
        let events = isNewest ? page.reversed() : page
        guard let begin = events.first, let end = events.last else {
            throw NotThere(what: "there is no stream \(quoted(text)) at \(version), or it has no events there")
        }
        let rows = events.map { event -> [Markup] in
            [
                "\(event.revision.rawValue)", .link("/events/\(event.position.rawValue)", grouped(event.position.rawValue)),
                .time(event.time),
                .name(event.type),
                "<details><summary>payload</summary>\(Markup.json(event.payload, label: "payload of revision \(event.revision)"))</details>",
            ]
        }
        let before = begin.revision.rawValue > 0 ? begin.revision.rawValue - min(begin.revision.rawValue, UInt64(Self.streamEvents)) : nil
        let at = version.description
        func link(_ from: UInt64?, _ words: String) -> Markup? {
            from.map { "<a href=\"\(PageRequest.link("streams", text, query: ["at": at, "from": String($0)]))\">\(words)</a>" }
        }
        let later = isNewest || page.count < Self.streamEvents ? nil : link(end.revision.rawValue + 1, "Later")
        return """
            <h1>Stream \(Markup.name(text))</h1>
            <p>At \(version). \(link(0, "From its first event")) \(link(before, "Earlier")) \(later)</p>
            \(Markup.table("Events of the stream", ["Revision", "Position", "Time", "Type", "Payload"], rows, empty: "No events."))
            \(try folds(of: name, at: version))
            """
    }

    /// The state of each row after each event of the stream, from its first one.
    private func folds(of stream: StreamName, at version: SchemaVersion) throws -> Markup {
        let sections = try store.projections(at: version).compactMap { model -> Markup? in
            let steps: [RowStep]
            do throws(EvstoreError) { steps = try store.trace(model.name, of: stream, at: version, limit: Self.streamEvents) } catch {
                return "<h3>\(Markup.name(model.name))</h3><p>\(error.message)</p>"
            }
            if steps.isEmpty { return nil }
            let rows = steps.suffix(Self.rowsShown).map { step -> [Markup] in
                [
                    .link("/events/\(step.position.rawValue)", grouped(step.position.rawValue)), .name(step.type),
                    .link(PageRequest.link("read-models", model.name, "rows", step.key, query: ["at": version.description]), step.key),
                    step.row.map { .json($0, label: "row after position \(step.position)") } ?? "no row",
                ]
            }
            return .table("\(model.name), event by event", ["Position", "Event", "Row", "After it"], rows, empty: "")
        }
        return """
            <section><h2>Its fold over time</h2>
            <p>What the first \(Self.streamEvents) events of this stream make of the rows they touch, without events of other streams.</p>
            \(sections.isEmpty ? "<p class=\"none\">No read model takes events of this stream.</p>" : "\(sections)" as Markup)</section>
            """
    }
}
