internal import EventLog
package import EventModel
internal import Projections

/// Building what a promised version's read models lack: a new store has none, and a definition may be newer than them.
package enum MissingGenerations {
    /// Builds those that are missing and that this program can build; what is live stays live. Nothing where none is.
    ///
    /// An event that has no image goes into the quarantine, as where read models are followed.
    package static func build(_ site: MigrationSite, at version: SchemaVersion) async throws(EvstoreError) {
        let began = ContinuousClock.now
        if try wanted(site, at: version).isMapped(in: try site.state()) { return }
        let lock = try MigrationLock.take(site)
        defer { lock.release() }
        try await site.replanning { () async throws(EvstoreError) in try await locked(site, at: version, began) }
    }

    private static func locked(
        _ site: MigrationSite, at version: SchemaVersion, _ began: ContinuousClock.Instant
    ) async throws(EvstoreError) {
        let state = try site.state()
        guard version >= state.floor else { throw .belowFloor(version, floor: state.floor) }
        guard version <= state.top else { throw .notLive(version, live: state.live) }
        var generationSet = try wanted(site, at: version)
        if generationSet.isMapped(in: state) { return }
        try GenerationSweep.run(site)
        _ = try generationSet.build(site, onError: .quarantine)
        let order = Flip.Order(cause: .complete, planned: state, generationSet: generationSet, began: began)
        repeat { try generationSet.follow(site) } while try await Flip.run(order, site) == nil
        // Generations that were damaged, or not sealed, and were replaced.
        try GenerationSweep.run(site)
    }

    private static func wanted(_ site: MigrationSite, at version: SchemaVersion) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet.registered(site, at: version, try site.state())
        generationSet.entries.removeAll { !$0.definition.isAvailable }
        return generationSet
    }
}
