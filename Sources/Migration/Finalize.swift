internal import EventLog
package import EventModel
internal import Platform
internal import Projections

/// Closes the window or makes it narrower: moves the floor, the oldest promised version, up.
package enum Finalize {
    /// Makes the live version the floor. Where `floor` is given, makes that version the floor, so that rollbacks down to it stay possible.
    ///
    /// - Parameter leavingConsumers: whether consumers that see events at a version below the floor may be left behind.
    /// - Parameter withoutNodes: nodes of the cluster log that are gone: they are taken out of it, and must join anew.
    /// - Throws: `EvstoreError.notLive` where another version is live; consentNeeded, which names the consumers that would be left behind.
    package static func run(
        _ context: MigrationContext, _ version: SchemaVersion, floor: SchemaVersion? = nil, leavingConsumers: Bool = false,
        withoutNodes: [String] = []
    ) async throws(EvstoreError) -> FinalizeReport {
        let began = Instant.now
        try context.log.requireOwn()
        return try await context.locked { () async throws(EvstoreError) in
            let planned = try context.state()
            guard planned.live == version else { throw .notLive(version, live: planned.live) }
            let floor = max(floor ?? version, planned.floor)
            let top = floor == version ? version : planned.top
            let named = try GenerationSet.fingerprints(context, from: floor, through: top)
            let kept = try await context.log.changing { update in
                try update.requireStamp(of: planned)
                if !leavingConsumers { try requireNoConsumers(below: floor, update) }
                try requireNoNodes(below: floor, without: withoutNodes, &update)
                let from = update.state.floor
                // Another node may be live at a higher version.
                let top = max(top, try update.nodes().map(\.live).max() ?? top)
                update.state.generations = update.state.generations.filter { named.contains($0.key) }
                guard from != floor || update.state.top != top else { return top }
                (update.state.floor, update.state.top) = (floor, top)
                try update.state.checkNumbers()
                try Journal.append(
                    .init(.finalize, from: from, to: floor, position: update.last.position, duration: began.duration(to: .now)),
                    to: &update)
                MigrationPhase.reached(.finalizeInside)
                return top
            }
            MigrationPhase.reached(.finalizeAfter)
            let pruned = try GenerationSweep.run(context, keepingReady: named)
            MigrationPhase.reached(.pruneAfter)
            return FinalizeReport(floor: floor, top: kept, pruned: pruned)
        }
    }

    private static func requireNoNodes(below floor: SchemaVersion, without gone: [String], _ update: inout LogUpdate) throws {
        let nodes = try update.nodes()
        if let unknown = gone.first(where: { name in !nodes.contains { $0.name == name } }) {
            throw EvstoreError.usage(
                "there is no node \(quoted(unknown))",
                fix: nodes.isEmpty
                    ? "the store belongs to no cluster log" : "the nodes are: \(nodes.map(\.name).joined(separator: ", "))")
        }
        if let own = update.node?.node, gone.contains(own) {
            throw EvstoreError.usage("\(own) is this node itself", fix: "leave the cluster log, or finalize on another node")
        }
        for name in gone { try update.removeNode(name) }
        let behind = nodes.filter { $0.live < floor && !gone.contains($0.name) }
        if behind.isEmpty { return }
        throw EvstoreError.consentNeeded(
            what: "nodes work below \(floor): \(behind.map { "\($0.name) at \($0.live)" }.joined(separator: ", ")); nothing was changed",
            how: "replay them to \(floor) first; take out those that are gone: \(.leaveNodes(behind.map(\.name)))")
    }

    private static func requireNoConsumers(below floor: SchemaVersion, _ update: borrowing LogUpdate) throws {
        // Consumers that were left behind before are no obstacle.
        let behind = try ConsumerRow.all(in: update).filter { update.state.floor <= $0.version && $0.version < floor }
        if behind.isEmpty { return }
        let names = behind.map { "\($0.name) sees events at \($0.version)" }.joined(separator: ", ")
        throw EvstoreError.consentNeeded(
            what: "consumers would be left behind: \(names), below \(floor); nothing was changed",
            how: "bring them to \(floor), remove those that are no more, or add \(.leaveConsumers)")
    }
}
