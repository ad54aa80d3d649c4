internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
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

extension GenerationSet {
    func open(_ name: String, _ context: MigrationContext) throws(EvstoreError) -> Generation {
        let path = "\(root)/\(name)"
        if let generation = opened.withLock({ $0[path] }) { return generation }
        let generation = try Generation.open(named: name, in: root, of: context.log, readOnly: context.log.isReadOnly)
        opened.withLock { $0[path] = generation }
        return generation
    }

    /// Sets the directories of the entries whose generations are on the disk and usable: the mapped one, else a ready one that an earlier
    /// run left.
    ///
    /// - Parameter acceptingQuarantine: where false, refuses a generation that is not mapped and has events in quarantine.
    /// - Parameter through: refuses generations that have gone beyond this position.
    mutating func find(
        _ context: MigrationContext, _ state: StoreState, acceptingQuarantine: Bool, through: Position = Position(.max)
    ) throws(EvstoreError) {
        let names = try Generation.names(in: root).filter(Generation.isName)
        let cuts = try context.log.reading { reader in try reader.cuts() }
        for index in entries.indices {
            let entry = entries[index]
            let mapped = state.generations[entry.fingerprint]
            let candidates = (mapped.map { [$0] } ?? []) + names.filter { $0 != mapped && $0.hasPrefix(entry.fingerprint.prefix(16)) }
            for name in candidates where names.contains(name) {
                guard let header = try header(of: name, context), header.isReady, header.fingerprint == entry.definition.fingerprint,
                    header.checkpoint.cutOff(by: cuts) == nil,
                    header.checkpoint.position <= through, acceptingQuarantine || header.quarantined == 0 || name == mapped
                else { continue }
                entries[index].directory = name
                break
            }
        }
    }

    /// The header of a generation; nil where the directory holds no complete one, which is then rebuilt like a missing one.
    private func header(of name: String, _ context: MigrationContext) throws(EvstoreError) -> GenerationHeader? {
        do { return try open(name, context).header } catch {
            if case .storeDamaged = error { return nil }
            throw error
        }
    }

    /// So many generations are built in one pass over the log: each takes some megabytes of memory meanwhile.
    private static let builtAtOnceMax = 64

    /// Builds the missing generations and returns their entries; removes all of them where that fails.
    mutating func build(
        _ context: MigrationContext, onError: FailureRule, jobs: Int? = nil, through: Position? = nil
    ) throws(EvstoreError) -> [Entry] {
        for entry in missing where !entry.definition.isAvailable { throw .programNeeded(what: "the projection \(entry.name)") }
        try context.job.check()
        let wanted = entries.indices.filter { entries[$0].directory == nil }
        if wanted.isEmpty { return [] }
        var (made, seen): ([String], Set<Position>) = ([], [])
        do {
            for first in stride(from: 0, to: wanted.count, by: Self.builtAtOnceMax) {
                let some = Array(wanted[first ..< min(first + Self.builtAtOnceMax, wanted.count)])
                var build = BulkBuild(evolving, at: version, try create(some, &made, context))
                (build.onError, build.jobs, build.through) = (onError, jobs, through)
                seen.formUnion(try build.run(context.job).witnesses)
            }
            witnesses = seen.sorted()
        } catch {
            for name in made { try Generation.remove(named: name, in: root) }
            throw error
        }
        for (index, name) in zip(wanted, made) { entries[index].directory = name }
        return wanted.map { entries[$0] }
    }

    /// Creates an empty generation for each wanted entry.
    /// - Parameter made: receives their names, also those of generations that were created before a failure.
    func create(
        _ wanted: [Int], _ made: inout [String], _ context: MigrationContext
    ) throws(EvstoreError) -> [(definition: Definition, generation: Generation)] {
        var targets: [(definition: Definition, generation: Generation)] = []
        for index in wanted {
            let definition = entries[index].definition
            let generation = try Generation.create(for: definition, in: root, of: context.log)
            made.append(generation.name)
            // A crash may have left one of this name, which was deleted since.
            opened.withLock { $0["\(root)/\(generation.name)"] = nil }
            targets.append((definition, generation))
        }
        return targets
    }

    /// Brings each generation to the log's current end; those in Swift that this program lacks stay where they are.
    func follow(_ context: MigrationContext) throws(EvstoreError) {
        let follower = Follower(evolving)
        for entry in present where entry.definition.isAvailable {
            guard let name = entry.directory else { continue }
            try follower.catchUp(try open(name, context), entry.definition, context.job)
        }
    }

    /// The header of each generation on the disk, in the order of `entries`.
    func headers(_ context: MigrationContext) throws(EvstoreError) -> [(entry: Entry, header: GenerationHeader)] {
        var result: [(entry: Entry, header: GenerationHeader)] = []
        for entry in present {
            if let name = entry.directory { result.append((entry, try open(name, context).header)) }
        }
        return result
    }
}

extension GenerationSet {
    /// The bytes of the generations on the disk; a damaged row may name one that is not there.
    func bytesOnDisk() throws(EvstoreError) -> UInt64 { try bytesOnDisk(present.compactMap(\.directory)) }

    func bytesOnDisk(of index: Int) throws(EvstoreError) -> UInt64 { try bytesOnDisk(entries[index].directory.map { [$0] } ?? []) }

    private func bytesOnDisk(_ names: [String]) throws(EvstoreError) -> UInt64 {
        try converting {
            var bytes: UInt64 = 0
            for name in names {
                let directory = Generation.home(in: root) + "/" + name
                guard try Directory.status(directory) != nil else { continue }
                for file in try Directory.names(directory) where file != "lock.mdb" {
                    bytes += UInt64(try Directory.status("\(directory)/\(file)")?.bytes ?? 0)
                }
            }
            return bytes
        }
    }
}
