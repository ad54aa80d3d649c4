internal import EventLog
package import EventModel
internal import Hashing
internal import Projections
package import SchemaEvolution

extension Register {
    /// Merges the files' versions up to `version` into the store's: adds new ones, and replaces those that may still change.
    static func versions(
        _ stored: History, _ files: History?, through version: SchemaVersion, _ state: StoreState, _ context: MigrationContext
    ) throws(EvstoreError) -> Registration {
        let files = files?.versions.filter { $0.number <= version } ?? []
        let changeable = try oldestChangeable(state, context)
        return try stored.adding(files) { $0.number >= changeable }
    }

    /// The lowest version that may still change: no event was born at or above it, and the live version does not depend on it.
    private static func oldestChangeable(_ state: StoreState, _ context: MigrationContext) throws(EvstoreError) -> SchemaVersion {
        let born = try context.census().map(\.born).max() ?? SchemaVersion(0)
        return max(born, state.live).next
    }

    /// Findings about files that are not the versions that the store has registered, each with what differs.
    package static func differences(_ context: MigrationContext, from files: History) throws(EvstoreError) -> [Finding] {
        let evolution = try context.evolving.current()
        let changeable = try oldestChangeable(evolution.state, context)
        var findings: [Finding] = []
        for file in files.versions {
            guard let stored = evolution.history[file.number], stored.digest != file.digest else { continue }
            let mayChange = !stored.isReleased && file.number >= changeable
            let parts = try file.differences(from: stored).joined(separator: ", ")
            findings.append(
                Finding(
                    id: "LOG006", severity: mayChange ? .note : .error, file: file.file, line: 1, column: 1,
                    message: "\(file.number) is not what the store has registered; what differs: \(parts)",
                    fix: mayChange
                        ? "a replay registers this one in its place: no event was written at it"
                        : "undo the edit, or make it in a new version: v\(evolution.history.head.number + 1)"))
        }
        return findings
    }

    /// The definitions after registering: those of a projection file replace those of the file before it, registered ones in Swift stay,
    /// and this program's own are added.
    ///
    /// Definitions that begin above the head wait until their version is registered.
    static func merged(
        _ registered: DefinitionSet, _ file: DefinitionSet?, _ history: History, _ context: MigrationContext
    ) throws(EvstoreError) -> DefinitionSet {
        let swift = Array("{\"swift\":".utf8)
        let kept = registered.stored.filter { file == nil || $0.json.starts(with: swift) }
        return try DefinitionSet(stored: kept).merging(file ?? .empty).adding(context.evolving.swiftProjections).through(history.head)
    }

    /// The fingerprints of the read models of each promised version. They are equal before and after where registering changes none of
    /// them.
    static func promised(_ history: History, _ definitions: DefinitionSet, _ state: StoreState) throws(EvstoreError) -> [Set<Digest>] {
        var result: [Set<Digest>] = []
        for version in state.floor.through(state.top) {
            result.append(Set(try definitions.definitions(at: version, history).map(\.fingerprint)))
        }
        return result
    }
}
