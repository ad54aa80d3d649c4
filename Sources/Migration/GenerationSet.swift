internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The read models of one version, and the directory that holds each.
package struct GenerationSet: Sendable {
    struct Entry: Sendable {
        let definition: Definition
        /// The name of its directory; nil where the read model must be built.
        var directory: String?

        var name: String { definition.name }
        /// The fingerprint in hexadecimal digits.
        var fingerprint: String { definition.fingerprint.hex }
    }

    let version: SchemaVersion
    /// The log with the history and definitions that these read models belong to.
    let evolving: VersionedLog
    /// The store's directory, or a scratch directory that replaces it.
    var root: String
    var entries: [Entry]
    /// The generations that are open, by path: opening one maps a file, and a migration reads them repeatedly.
    let opened = Monitor<[String: Generation]>([:])
    /// The first event of each path that events took during the last build; empty where nothing was built.
    var witnesses: [Position] = []

    /// A set without directories: every read model counts as missing.
    init(
        _ context: MigrationContext, _ evolving: VersionedLog, at version: SchemaVersion, only: String? = nil, root: String? = nil
    ) throws(EvstoreError) {
        (self.version, self.evolving, self.root) = (version, evolving, root ?? context.store)
        let all = try evolving.current().definitions(at: version)
        entries = all.filter { only == nil || $0.name == only }.map { Entry(definition: $0, directory: nil) }
        if let only, entries.isEmpty { throw .unknownProjection(only, known: all.map(\.name)) }
    }

    /// The registered read models of a version, with the directories that are on the disk.
    static func registered(
        _ context: MigrationContext, at version: SchemaVersion, _ state: StoreState
    ) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(context, context.evolving, at: version)
        try generationSet.find(context, state, acceptingQuarantine: true)
        return generationSet
    }

    var missing: [Entry] { entries.filter { $0.directory == nil } }
    var present: [Entry] { entries.filter { $0.directory != nil } }
    var fingerprints: Set<String> { Set(entries.map(\.fingerprint)) }

    /// Whether the version is live with exactly these generations.
    func isLive(in state: StoreState) -> Bool { state.live == version && isMapped(in: state) }

    /// Whether the store names exactly these generations.
    func isMapped(in state: StoreState) -> Bool {
        entries.allSatisfy { $0.directory != nil && state.generations[$0.fingerprint] == $0.directory }
    }

    /// The fingerprints of the read models of the versions `from` … `through`.
    static func fingerprints(
        _ context: MigrationContext, from: SchemaVersion, through: SchemaVersion
    ) throws(EvstoreError) -> Set<String> {
        let evolution = try context.evolving.current()
        var result: Set<String> = []
        for version in from.through(through) {
            result.formUnion(try evolution.definitions(at: version).map(\.fingerprint.hex))
        }
        return result
    }

    /// Removes the named projections from the set, whose generations stay behind; returns their names.
    /// - Throws: `EvstoreError.programNeeded` where this program lacks a Swift projection that is not named; the error says how to name it.
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
