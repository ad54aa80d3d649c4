internal import EventLog
internal import EventModel
internal import LMDB
internal import Logging
internal import Projections
internal import System

extension EventStore {
    /// Appends events and returns when read models of the working version have taken them in, too.
    ///
    /// What a read model can't take in goes into its quarantine, as with every following. An error of following does not
    /// undo the append: repeated with the same ids it returns the first receipt and follows again.
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], sameID: SameID = .mustMatch, inline projections: Set<String>
    ) async throws(EvstoreError) -> AppendReceipt {
        let receipt = try await append(events, conditions: conditions, sameID: sameID)
        try await follow(projections, to: receipt.position)
        return receipt
    }

    /// Brings read models of a version (the working one where nil) up to a position, or to the log's end as of now.
    ///
    /// All of those that this program can fold where `projections` is nil. A later query of them has so much less to do.
    public func follow(
        _ projections: Set<String>? = nil, at version: SchemaVersion? = nil, to position: Position? = nil
    ) async throws(EvstoreError) {
        if isReadOnly { throw .readOnly(path: path) }
        let version = try effective(version)
        let definitions = try evolving.current().definitions(at: version)
        let names = projections ?? Set(definitions.filter(\.isAvailable).map(\.name))
        for name in names.sorted() { _ = try await readModel(name, at: version, to: position) }
    }
}

/// Keeps the read models of a handle's working version at the log's end, until the handle is closed.
final class BackgroundFollower: Sendable {
    private let task = Monitor<Task<Void, Never>?>(nil)

    func start(_ store: EventStore) {
        let work = Task.detached(priority: .utility) { await Self.run(store) }
        task.withLock { $0 = work }
    }

    func stop() async {
        let work = task.withLock { $0.take() }
        work?.cancel()
        await work?.value
    }

    private static func run(_ store: EventStore) async {
        while !Task.isCancelled {
            do throws(EvstoreError) {
                let end = try store.last()
                try await store.follow(to: end.position)
                try await store.wait(after: end.position)
            } catch {
                store.logger.warning("following read models", metadata: ["error": "\(error.message)"])
                do { try await Task.sleep(for: .milliseconds(store.options.pollMilliseconds)) } catch { return }
            }
        }
    }
}
