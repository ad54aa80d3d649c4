internal import EventModel
internal import Migration
internal import Projections

extension EventStore {
    /// Makes a store at `target` of what a damaged one still holds: whole, or not at all. The damaged one is read, never opened,
    /// and nobody may have it open.
    ///
    /// It looks for the log's blocks by what they say of themselves, and takes those that later ones link to. Where nothing is
    /// missing between events, the new store goes on as the old one, in an epoch of its own; else its events are appended anew,
    /// in their order, to a store with another id.
    ///
    /// - Parameters:
    ///   - source: a store's directory, or a `data.mdb` that lies alone.
    ///   - schemas: the version files, for a store that has lost its own.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeExists, locked, nothingToSalvage, usage, interrupted.
    public static func salvage(
        at source: String, into target: String, schemas: Schemas? = nil, options: Options = Options(), cancellation: Cancellation? = nil,
        progress: Progress? = nil
    ) async throws(EvstoreError) -> SalvageReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try SalvageRun.run(
                at: source, into: target, history: schemas?.history, definitions: schemas?.definitions, options: options,
                cancellation: cancellation, progress: progress)
        }
    }

    /// What is wrong with a store that does not open, and how much of it a salvage would give back; changes nothing.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, interrupted.
    public static func examine(
        at path: String, cancellation: Cancellation? = nil, progress: Progress? = nil
    ) throws(EvstoreError) -> VerifyReport {
        try SalvageRun.examine(path, cancellation: cancellation, progress: progress)
    }
}
