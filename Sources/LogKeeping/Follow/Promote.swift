internal import EventLog
package import EventModel
package import Migration
internal import Projections

/// Makes a replica a store of its own.
package enum Promote {
    /// - Throws: `EvstoreError`: usage where the store is no replica, readOnly.
    package static func run(_ context: MigrationContext) async throws(EvstoreError) -> PromoteReport {
        let path = context.store
        return try await awaiting {
            let report = try await context.log.update { update in
                guard let mark = update.replica else {
                    throw EvstoreError.usage("\(path) is a store of its own already: there is nothing to promote")
                }
                // The original may go on with other events: the replica needs an epoch that no other store has.
                try update.promote(later: .fromClock)
                let live = update.state.live
                try Journal.append(
                    .init(.promote, to: live, position: update.last.position, outcome: "as of \(mark.time)"), to: &update)
                return PromoteReport(position: update.last.position, epoch: update.last.epoch, backupTime: mark.time)
            }
            try context.log.settleLayout()
            return report
        }
    }
}
