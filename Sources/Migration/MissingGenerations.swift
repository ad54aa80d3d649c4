internal import EventLog
package import EventModel
internal import Logging
internal import Platform
internal import Projections

/// Builds the missing read models of a promised version: a new store has none, and a definition may be newer than the read models.
package enum MissingGenerations {
    /// Builds the missing read models that this program can build; the live version stays live. Does nothing where none is missing.
    ///
    /// An event without an image goes into the quarantine, as when read models follow.
    package static func build(_ context: MigrationContext, at version: SchemaVersion) async throws(EvstoreError) {
        let began = Instant.now
        if try wanted(context, at: version).isMapped(in: try context.state()) { return }
        try await context.locked(takingInFrames: false) { () async throws(EvstoreError) in
            let state = try context.state()
            guard version >= state.floor else { throw .belowFloor(version, floor: state.floor) }
            guard version <= state.top else { throw .notLive(version, live: state.live) }
            var generationSet = try wanted(context, at: version)
            if generationSet.isMapped(in: state) { return }
            try GenerationSweep.run(context)
            let missing = generationSet.missing.map(\.name).joined(separator: ", ")
            context.logger.notice(
                "building read models that are missing", metadata: ["projections": "\(missing)", "version": "\(version)"])
            _ = try generationSet.build(onError: .quarantine)
            let order = Flip.Order(cause: .complete, planned: state, generationSet: generationSet, began: began)
            repeat { try generationSet.follow() } while try await Flip.run(order, context) == nil
            // Deletes damaged or unsealed generations that were replaced.
            try GenerationSweep.run(context)
        }
    }

    private static func wanted(_ context: MigrationContext, at version: SchemaVersion) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet.registered(context, at: version, try context.state())
        generationSet.entries.removeAll { !$0.definition.isAvailable }
        return generationSet
    }
}
