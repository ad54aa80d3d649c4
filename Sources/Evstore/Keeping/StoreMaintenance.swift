package import EventLog
internal import EventModel
internal import Migration
internal import Projections

/// The operator's view of a store, apart from what a service does: backups, replicas, keys, salvage, drills, and its place in a cluster
/// log.
///
///     try await store.maintenance.drill()
///     try await StoreMaintenance.restore(from: "backups", into: "shop-restored")
///
/// Besides the errors that a method names, each may throw those that ``EventStore`` names for all methods. A method that makes a store may
/// also throw `unsafeFileSystem`, `unsafePermissions`, and `usage` where there is no directory to make it in.
public struct StoreMaintenance: Sendable {
    package let store: EventStore

    package var log: EventLog { store.log }
    package var path: String { store.path }
}

extension EventStore {
    /// The operator's view of this store.
    public var maintenance: StoreMaintenance { StoreMaintenance(store: self) }
}
