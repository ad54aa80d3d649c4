internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

/// The read models of one version: which there are, and which directory holds each.
package struct GenerationSet: Sendable {
    struct Entry: Sendable {
        let definition: Definition
        /// The name of its directory; nil where it has to be built.
        var directory: String?

        var name: String { definition.name }
        /// Hexadecimal.
        var fingerprint: String { definition.fingerprint.hex }
    }

    let version: SchemaVersion
    /// The log with the history and definitions that these are of.
    let evolving: VersionedLog
    /// The store, or the scratch directory that stands for it.
    var root: String
    var entries: [Entry]
    let opened = OpenGenerations()
    /// The first events of each way that events took when these were built; none where nothing was.
    var witnesses: [Position] = []

    /// With nothing found yet: each has to be built.
    init(
        _ site: MigrationSite, _ evolving: VersionedLog, at version: SchemaVersion, only: String? = nil, root: String? = nil
    ) throws(EvstoreError) {
        (self.version, self.evolving, self.root) = (version, evolving, root ?? site.store)
        let all = try evolving.current().definitions(at: version)
        entries = all.filter { only == nil || $0.name == only }.map { Entry(definition: $0, directory: nil) }
        if let only, entries.isEmpty { throw .unknownProjection(only, known: all.map(\.name)) }
    }

    /// What is registered for a version, as it stands on the disk.
    static func registered(_ site: MigrationSite, at version: SchemaVersion, _ state: StoreState) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(site, site.evolving, at: version)
        try generationSet.find(site, state, acceptingQuarantine: true)
        return generationSet
    }

    var missing: [Entry] { entries.filter { $0.directory == nil } }
    var present: [Entry] { entries.filter { $0.directory != nil } }
    var fingerprints: Set<String> { Set(entries.map(\.fingerprint)) }

    /// Whether the version is live with exactly these.
    func isLive(in state: StoreState) -> Bool { state.live == version && isMapped(in: state) }

    /// Whether the store names exactly these.
    func isMapped(in state: StoreState) -> Bool {
        entries.allSatisfy { $0.directory != nil && state.generations[$0.fingerprint] == $0.directory }
    }

    /// The fingerprints that the versions `from` … `through` name.
    static func fingerprints(
        _ site: MigrationSite, from: SchemaVersion, through: SchemaVersion
    ) throws(EvstoreError) -> Set<String> {
        let evolution = try site.evolving.current()
        var result: Set<String> = []
        for version in from.through(through) {
            result.formUnion(try evolution.definitions(at: version).map(\.fingerprint.hex))
        }
        return result
    }

    /// Takes out the named projections, whose generations stay behind; returns their names.
    /// - Throws: `EvstoreError.programNeeded` for those in Swift that this program lacks and that are not named; it says how to.
    mutating func leaveBehind(_ names: Set<String>) throws(EvstoreError) -> [String] {
        for name in names.sorted() where !entries.contains(where: { $0.name == name }) {
            throw .unknownProjection(name, known: entries.map(\.name))
        }
        let lacking = entries.filter { !$0.definition.isAvailable && !names.contains($0.name) }
        if !lacking.isEmpty {
            let all = names.union(lacking.map(\.name)).sorted()
            throw .programNeeded(
                what: lacking.map { "the projection \($0.name) (since: \($0.definition.since.number))" }.joined(separator: " and ")
                    + " of \(version)",
                instead: """
                    leave what is lacking behind until a program that has it opens the store: \
                    \(.rollbackLeaving(all))
                    """)
        }
        let left = entries.filter { names.contains($0.name) }.map(\.name)
        entries.removeAll { names.contains($0.name) }
        return left
    }
}
