internal import EventModel
internal import Evstore
internal import EvstoreCluster

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
