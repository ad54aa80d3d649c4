internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// The rollback that is possible from a state of the store, found by the checks that the rollback itself makes.
struct RollbackPlanner {
    let evolving: VersionedLog
    var state: StoreState
    var flips: FlipHistory
    let census: [CensusRow]

    /// The way back after a replay to a version.
    func flipped(to version: SchemaVersion, at position: Position) -> RollbackPlanner {
        var after = self
        if version != state.live { after.flips.add(from: state.live, to: version, at: position) }
        (after.state.live, after.state.top, after.state.head) = (version, max(state.top, version), max(state.head, version))
        return after
    }

    /// Plans the rollback to the version from which the last replay reached the live one.
    func plan(_ context: MigrationContext) throws(EvstoreError) -> PlannedRollback {
        let target: SchemaVersion
        do { target = try flips.target(nil, state) } catch {
            guard case .nothingToRollBackTo = error else { throw error }
            return PlannedRollback(refused: PlannedRefusal(error: error))
        }
        return try plan(context, to: target)
    }

    func plan(
        _ context: MigrationContext, to target: SchemaVersion, without names: Set<String> = []
    ) throws(EvstoreError) -> PlannedRollback {
        var planned = PlannedRollback(to: target)
        var models = try GenerationSet(context, evolving, at: target)
        planned.without = models.entries.filter { !$0.definition.isAvailable }.map(\.name)
        do { _ = try models.leaveBehind(names) } catch {
            guard case .programNeeded = error else { throw error }
            planned.refused = PlannedRefusal(error: error)
        }
        planned.readsRefused = try evolving.current().history.typesDownThroughSwift(from: state.top, to: target).map { step, types in
            let events = census.filter { row in types.contains { $0.type == row.type && $0.version == row.born } }.sum(\.count)
            return RefusedReads(step: step, types: Set(of: types.map(\.type)).sorted().map(\.text), events: events)
        }
        return planned
    }
}
