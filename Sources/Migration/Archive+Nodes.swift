package import EventLog
package import EventModel
package import Projections

extension Archive {
    /// Archives what a cut of a cluster's log takes off a node, and says so in the node's journal.
    package static func keepTail(
        _ cut: ClusterCut, through last: Checkpoint, of evolving: VersionedLog
    ) throws(EvstoreError) -> @Sendable (SchemaVersion) -> [UInt8] {
        let site = MigrationSite(evolving, options: evolving.options, Job("cut at position \(cut.position)"))
        let tail = last.position.events(after: cut.position)
        if tail > 0 { _ = try writeFiles(site, after: cut.position, through: last) }
        let live = try site.state().live
        return { now in
            Journal.Entry(.cut, from: live, to: now, position: cut.position, outcome: "to \(cut.note), \(tail) events archived")
                .bytes(at: .now, by: Journal.caller)
        }
    }
}
