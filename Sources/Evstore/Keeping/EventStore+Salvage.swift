internal import EventModel
public import LogKeeping
internal import Projections

extension EventStore {
    /// Makes a store at `target` of what a damaged one still holds: whole, or not at all. The damaged one is read, never opened,
    /// and nobody may have it open.
    ///
    /// It finds the log's blocks by their own headers and checksums, and takes those that later ones link to. Where no event is
    /// missing between others, the new store goes on as the old one, in an epoch of its own; else its events are appended anew,
    /// in their order, to a store with another id. Awaits a search through all bytes of the files.
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
            var request = SalvageRequest(at: source, into: target, options: options)
            (request.history, request.definitions) = (schemas?.history, schemas?.definitions)
            return try SalvageRun.run(request, RunControl(cancellation, progress))
        }
    }

    /// What is wrong with a store that does not open, and how much of it a salvage would give back; changes nothing.
    /// Blocks the calling thread while it reads all bytes of the files.
    /// - Throws: `EvstoreError`: storeNotFound, notAStore, storeNewer, interrupted.
    public static func examine(
        at path: String, cancellation: Cancellation? = nil, progress: Progress? = nil
    ) throws(EvstoreError) -> VerifyReport {
        try SalvageRun.examine(path, RunControl(cancellation, progress))
    }
}
