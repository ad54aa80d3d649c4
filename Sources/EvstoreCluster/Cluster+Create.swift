public import EventModel
public import Evstore
internal import FoundationEssentials
internal import Platform
public import Projections
public import SchemaEvolution

extension Cluster {
    /// Creates an empty cluster log, whose floor and top are `version` (the newest of `schemas` where nil). Nodes then join it.
    /// - Throws: `EvstoreError`: usage where a cluster log of this name exists, schemaInvalid, unknownVersion, logUnavailable.
    public func create(
        schemas: Schemas, version: SchemaVersion? = nil, steps: [any SwiftStep] = [], projections: [any SwiftProjection] = []
    ) async throws(EvstoreError) {
        // The store only exists until it is copied.
        var options = Options()
        options.allowsUnsafeFileSystem = true
        options.ballastBytes = 0
        let directory: OwnedDirectory
        do throws(StorageError) {
            directory = try OwnedDirectory((ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp") + "/evstore-cluster-")
        } catch { throw .ioFailure(doing: "making a temporary directory", reason: error.message) }
        defer { do { try Directory.remove(directory.path) } catch {} }
        let store = try await EventStore.create(
            directory.path + "/store", schemas: schemas, version: version, steps: steps, projections: projections, options: options)
        do {
            try await store.maintenance.copy(to: self, as: nil)
        } catch {
            try await store.close()
            throw error
        }
        try await store.close()
    }
}
