package import EventLog
package import EventModel
package import Projections

extension Archive {
    /// Archives the events that a cut of a cluster log takes off a node, and returns the row for the node's journal.
    package static func keepTail(
        _ cut: ClusterCut, through last: Checkpoint, of evolving: VersionedLog
    ) throws(EvstoreError) -> @Sendable (SchemaVersion) -> [UInt8] {
        let context = MigrationContext(evolving, options: evolving.options, Job("cut at position \(cut.position)"))
        let tail = last.position.events(after: cut.position)
        if tail > 0 { _ = try writeFiles(context, after: cut.position, through: last) }
        let live = try context.state().live
        return { now in
            JournalRow(.cut, from: live, to: now, position: cut.position, outcome: "to \(cut.note), \(tail) events archived").bytes
        }
    }
}
