internal import EventLog
internal import EventModel

/// Handles the rejections of a build: writes them to the quarantine or stops the build. Used by one thread at a time.
final class RejectionHandler: @unchecked Sendable {
    // Sound to share: the last stage of a pass serves one chunk at a time, and after the pass only one thread remains.
    private let build: BulkBuild
    private(set) var quarantined: [UInt64]
    /// How many events were quarantined, for the progress of the build: one that several targets reject in a chunk counts once. Only
    /// numbers are kept, since there may be as many as events of the log.
    private(set) var events: UInt64 = 0

    init(_ build: BulkBuild) {
        self.build = build
        quarantined = build.targets.map { _ in 0 }
    }

    /// Throws at the first rejection that no version file declares, or writes all of them to the quarantine.
    func handle(_ all: [(target: Int, rejection: Rejection)]) throws {
        if all.isEmpty { return }
        let stopping = build.onError == .stop ? all.filter { !$0.rejection.isDeclared } : []
        let first = stopping.min { ($0.rejection.position, $0.rejection.ordinal) < ($1.rejection.position, $1.rejection.ordinal) }
        if let first {
            throw EvstoreError.buildStopped(
                projection: build.targets[first.target].definition.name, position: first.rejection.position,
                reason: first.rejection.message, inFold: first.rejection.isInFold)
        }
        var positions: Set<Position> = []
        for (index, target) in build.targets.enumerated() {
            let rows = try QuarantineRow.rows(all.filter { $0.target == index }.map(\.rejection), build.evolving.log)
            if rows.isEmpty { continue }
            let generation = target.generation
            let new = try generation.write { transaction in
                var new: [Position] = []
                for row in rows where try generation.put(row, &transaction) { new.append(row.position) }
                return new
            }
            quarantined[index] += UInt64(new.count)
            positions.formUnion(new)
        }
        events += UInt64(positions.count)
    }
}
