internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Projections

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
