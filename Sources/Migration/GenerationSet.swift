internal import Bytes
package import EventLog
package import EventModel
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
        var fingerprint: String { definition.fingerprint.hex }
    }

    let context: MigrationContext
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
        (self.context, self.version, self.evolving, self.root) = (context, version, evolving, root ?? context.store)
        let all = try evolving.current().definitions(at: version)
        entries = all.filter { only == nil || $0.name == only }.map { Entry(definition: $0, directory: nil) }
        if let only, entries.isEmpty { throw .unknownProjection(only, known: all.map(\.name)) }
    }

    /// The registered read models of a version, with the directories that are on the disk.
    static func registered(
        _ context: MigrationContext, at version: SchemaVersion, _ state: StoreState
    ) throws(EvstoreError) -> GenerationSet {
        var generationSet = try GenerationSet(context, context.evolving, at: version)
        try generationSet.find(state, acceptingQuarantine: true)
        return generationSet
    }

    var missing: [Entry] { entries.filter { $0.directory == nil } }
    var present: [Entry] { entries.filter { $0.directory != nil } }
    /// Those that are present, with the names of their directories.
    var named: [(entry: Entry, name: String)] { entries.compactMap { entry in entry.directory.map { (entry, $0) } } }

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
    func open(_ name: String) throws(EvstoreError) -> Generation {
        let path = "\(root)/\(name)"
        if let generation = opened.withLock({ $0[path] }) { return generation }
        let generation = try Generation.open(named: name, in: root, of: context.log, readOnly: context.log.isReadOnly)
        opened.withLock { $0[path] = generation }
        return generation
    }

    /// Sets the directories of the entries whose generations are on the disk and usable: the mapped one, else one that an earlier run left.
    ///
    /// - Parameter acceptingQuarantine: where false, refuses a generation that is not mapped and has events in quarantine.
    /// - Parameter through: refuses generations that have gone beyond this position.
    mutating func find(_ state: StoreState, acceptingQuarantine: Bool, through: Position = Position(.max)) throws(EvstoreError) {
        let names = try Generation.names(in: root).filter(Generation.isName)
        let cuts = try context.log.reading { reader in try reader.cuts() }
        for index in entries.indices {
            let entry = entries[index]
            // One that is mapped may have replaced others, which a sweep deletes.
            let mapped = state.generations[entry.fingerprint]
            let candidates = mapped.map { [$0] } ?? names.filter { $0.hasPrefix(Generation.namePrefix(of: entry.definition.fingerprint)) }
            for name in candidates where names.contains(name) {
                guard let header = try header(of: name), header.isReady, header.fingerprint == entry.definition.fingerprint,
                    header.checkpoint.cutOff(by: cuts) == nil,
                    header.checkpoint.position <= through, acceptingQuarantine || header.quarantined == 0 || name == mapped
                else { continue }
                if mapped == nil, try Generation.isRetired(name, in: root) { continue }
                entries[index].directory = name
                break
            }
        }
    }

    /// The header of a generation; nil where the directory holds no complete one, which is then rebuilt like a missing one.
    private func header(of name: String) throws(EvstoreError) -> GenerationHeader? {
        do { return try open(name).header } catch {
            if case .storeDamaged = error { return nil }
            throw error
        }
    }

    /// So many generations are built in one pass over the log: each takes some megabytes of memory meanwhile.
    private static let builtAtOnceMax = 64

    /// Builds the missing generations and returns their entries; removes all of them where that fails.
    mutating func build(onError: FailureRule, jobs: Int? = nil, through: Position? = nil) throws(EvstoreError) -> [Entry] {
        for entry in missing where !entry.definition.isAvailable { throw .programNeeded(what: "the projection \(entry.name)") }
        try context.job.check()
        let wanted = entries.indices.filter { entries[$0].directory == nil }
        if wanted.isEmpty { return [] }
        var (made, seen): ([String], Set<Position>) = ([], [])
        do {
            for first in stride(from: 0, to: wanted.count, by: Self.builtAtOnceMax) {
                let some = Array(wanted[first ..< min(first + Self.builtAtOnceMax, wanted.count)])
                var build = BulkBuild(evolving, at: version, try create(some, &made))
                (build.onError, build.jobs, build.through) = (onError, jobs, through)
                seen.formUnion(try build.run(context.job))
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
    func create(_ wanted: [Int], _ made: inout [String]) throws(EvstoreError) -> [(definition: Definition, generation: Generation)] {
        var targets: [(definition: Definition, generation: Generation)] = []
        for index in wanted {
            // On a slow disk each takes seconds.
            try context.job.check()
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
    func follow() throws(EvstoreError) {
        let follower = Follower(evolving)
        for (entry, name) in named where entry.definition.isAvailable {
            try follower.catchUp(try open(name), entry.definition, context.job)
        }
    }

    func headers() throws(EvstoreError) -> [(entry: Entry, header: GenerationHeader)] {
        try named.map { (entry, name) throws(EvstoreError) in (entry, try open(name).header) }
    }
}

extension GenerationSet {
    /// The bytes on the disk of the generations, or of one; a damaged row may name one that is not there.
    func bytesOnDisk(of index: Int? = nil) throws(EvstoreError) -> UInt64 {
        let names = (index.map { [entries[$0]] } ?? entries).compactMap(\.directory)
        return try converting {
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

extension GenerationSet {
    /// Whether all read models are built, ready, and at most `Options.flipLagEventsMax` events behind the log.
    func isReady(at last: Checkpoint) throws(EvstoreError) -> Bool {
        for entry in entries where entry.directory == nil {
            throw .verificationFailed(reason: "the read model of \(entry.name) at \(version) is not built; nothing was flipped")
        }
        for (entry, header) in try headers() {
            guard header.isReady, header.fingerprint == entry.definition.fingerprint else {
                throw .verificationFailed(reason: "the read model of \(entry.name) at \(version) is not ready; nothing was flipped")
            }
            let lag = last.position.events(after: header.checkpoint.position)
            if lag > UInt64(context.options.flipLagEventsMax) { return false }
        }
        return true
    }

    /// Compares rows and digests with those that were recorded when the rows were written.
    /// - Parameter rowsMax: generations with more rows are not recounted.
    func verify(rowsMax: UInt64) throws(EvstoreError) {
        for entry in present {
            if let finding = try damage(entry, rowsMax: rowsMax) { throw .verificationFailed(reason: finding.message) }
        }
    }

    /// Requires that every row has the shape that its definition gives it. Called before a version goes live for the first time, but not
    /// before a rollback, which must stay possible.
    /// - Throws: `EvstoreError.invalidRow` with the first row that does not.
    func requireRowShapes() throws(EvstoreError) {
        for entry in present {
            if let row = try invalidRow(entry) { throw .invalidRow(projection: entry.name, key: row.key, reason: row.reason) }
        }
    }

    /// The first row that violates its shape: following may add such rows, a build may not.
    func invalidRow(_ entry: Entry) throws(EvstoreError) -> (key: String, reason: String)? {
        guard let name = entry.directory, entry.definition.rowShape != nil else { return nil }
        return try open(name).violations(of: entry.definition, limit: 1).first
    }

    /// The damage of a generation; nil where its rows and digest are as recorded.
    func damage(_ entry: Entry, rowsMax: UInt64 = .max) throws(EvstoreError) -> Finding? {
        guard let name = entry.directory else { return nil }
        return try finding(entry, name) { (what) throws(EvstoreError) in
            try compare(open(name), entry, what, rowsMax: rowsMax)
        }
    }

    /// The damage of the pages or the rows in the directory that the store names for an entry.
    func brokenPages(_ entry: Entry, in name: String) throws(EvstoreError) -> Finding? {
        try finding(entry, name) { (_) throws(EvstoreError) in
            try open(name).checkPages()
            return nil
        }
    }

    private func finding(
        _ entry: Entry, _ name: String, _ body: (_ what: String) throws(EvstoreError) -> Finding?
    ) throws(EvstoreError) -> Finding? {
        let what = "the read model of \(entry.name) at \(version) (\(name))"
        do { return try body(what) } catch {
            guard case .storeDamaged(_, let reason) = error else { throw error }
            return Finding(id: "STORE014", message: "\(what): \(reason)", advice: advice(entry))
        }
    }

    /// A query builds what is marked as damaged, at each promised version; a replay leads to the newest alone.
    private func advice(_ entry: Entry) -> Advice { "build it anew: \(.query(entry.name, at: version))" }

    private func compare(
        _ generation: Generation, _ entry: Entry, _ what: String, rowsMax: UInt64
    ) throws(EvstoreError) -> Finding? {
        // Marks the generation as damaged, so that the next query rebuilds the read model.
        func found(_ id: String, _ reason: String) -> Finding {
            _ = generation.damaged("it \(reason)")
            return Finding(id: id, message: "\(what) \(reason)", advice: advice(entry))
        }
        // Followers of other processes may write meanwhile: the comparison counts only if nothing changed during it.
        while true {
            let before = try generation.header
            guard before.isReady else { return Finding(id: "STORE202", message: "\(what) is not ready") }
            if before.rows > rowsMax { return nil }
            let counted = try generation.recount(context.job)
            let indexFault = try generation.indexFault(entry.definition.indexes, context.job)
            guard try generation.header == before else { continue }
            if counted.rows != before.rows { return found("STORE203", "has \(counted.rows) rows and notes \(before.rows)") }
            if counted.digest != before.digest { return found("STORE204", "does not have the digest it notes") }
            guard let indexFault else { return nil }
            _ = generation.damaged("its index \(indexFault)")
            return Finding(id: "STORE205", message: "the index of \(what) \(indexFault)", advice: advice(entry))
        }
    }

    func digest() throws(EvstoreError) -> String {
        var hasher = SHA256Hasher()
        for (entry, header) in try headers() {
            hasher.update(entry.definition.fingerprint.bytes)
            hasher.update(header.digest.bytes)
        }
        return hasher.finalize().hex
    }

    func digests() throws(EvstoreError) -> [String: String] {
        try headers().reduce(into: [:]) { $0[$1.entry.name] = $1.header.digest.hex }
    }

    /// The read models as a snapshot records them, with a digest where they are exactly at its position.
    func noted(at last: Checkpoint) throws(EvstoreError) -> [SnapshotGeneration] {
        try headers().map { entry, header in
            let isThere = header.checkpoint.position == last.position && header.quarantined == 0
            return SnapshotGeneration(
                projection: entry.name, fingerprint: entry.fingerprint, directory: entry.directory ?? "",
                digest: isThere ? header.digest.hex : nil, rows: header.rows)
        }
    }

    /// The names of the read models that differ from a snapshot's record; those without a recorded digest are not compared.
    func differing(from snapshot: SnapshotReport) throws(EvstoreError) -> [String] {
        try headers().filter { entry, header in
            guard header.checkpoint.position == snapshot.position else { return false }
            let noted = snapshot.generations.first { $0.fingerprint == entry.fingerprint }?.digest
            return noted != nil && noted != header.digest.hex
        }.map(\.entry.name)
    }

    /// The number of events that at least one read model lacks.
    func quarantinedEvents() throws(EvstoreError) -> UInt64 {
        try Generation.countQuarantined(named.map { (_, name) throws(EvstoreError) in try open(name) })
    }

    /// The events that at least one read model lacks; nil where there are none.
    func acceptedQuarantine() throws(EvstoreError) -> AcceptedQuarantine? {
        var generations: [Generation] = []
        for (_, name) in named {
            let generation = try open(name)
            if try generation.header.quarantined > 0 { generations.append(generation) }
        }
        if generations.isEmpty { return nil }
        return AcceptedQuarantine(at: version) { [generations] position in
            generations.contains { generation in
                // A read model that can't be read accepts nothing, and is a finding of its own.
                do { return try !generation.quarantined(at: position, limit: 1).isEmpty } catch { return false }
            }
        }
    }

    /// The number of rows in the quarantines: an event has one row for each read model that lacks it.
    func quarantineRows() throws(EvstoreError) -> UInt64 {
        try headers().sum(\.header.quarantined)
    }

    /// A strict replay checks the generations that it built by this.
    /// - Throws: `EvstoreError.buildStopped` with the first quarantined event whose quarantine no version file allows.
    func requireNoneQuarantined(among built: [Entry]) throws(EvstoreError) {
        for entry in built {
            guard let name = entry.directory else { continue }
            try converting {
                try open(name).forEachQuarantined { row in
                    if row.isDeclared { return true }
                    throw EvstoreError.buildStopped(
                        projection: entry.name, position: row.position, reason: row.reason, inFold: row.isInFold)
                }
            }
        }
    }

    /// The findings about the read models that the store names, those of the live version first.
    package static func findings(_ context: MigrationContext, _ state: StoreState, deep: Bool) throws(EvstoreError) -> [Finding] {
        var findings: [Finding] = []
        var seen: Set<String> = []
        for version in [state.live] + state.floor.through(state.top) {
            let generationSet = try registered(context, at: version, state)
            for entry in generationSet.entries where seen.insert(entry.fingerprint).inserted {
                guard let name = state.generations[entry.fingerprint] ?? entry.directory else {
                    if version == state.live, entry.definition.isAvailable { findings.append(missing(entry, at: version, context)) }
                    continue
                }
                try context.job.check()
                if let finding = try generationSet.brokenPages(entry, in: name) {
                    // LMDB must not follow damaged pages, so there is no deep check.
                    if try isNamed(entry, name, context) { findings.append(finding) }
                } else if deep {
                    if let finding = try generationSet.damage(entry), try isNamed(entry, name, context) {
                        findings.append(finding)
                    }
                    guard version == state.live, let row = try generationSet.invalidRow(entry) else { continue }
                    let error = EvstoreError.invalidRow(projection: entry.name, key: row.key, reason: row.reason)
                    findings.append(Finding(id: "ROW101", severity: .warning, message: error.message, advice: error.details.advice))
                }
            }
        }
        return findings
    }

    /// Whether the store still names a read model's directory: another process may have removed it meanwhile, as a `forget` does.
    private static func isNamed(_ entry: Entry, _ name: String, _ context: MigrationContext) throws(EvstoreError) -> Bool {
        if let named = try context.state().generations[entry.fingerprint] { return named == name }
        if entry.directory != name { return false }
        return try converting { try Directory.status(Generation.home(in: context.store) + "/" + name) != nil }
    }

    private static func missing(_ entry: Entry, at version: SchemaVersion, _ context: MigrationContext) -> Finding {
        let way: Advice = context.log.isReplica ? "a query of it does that" : "\(.replay(to: version))"
        return Finding(
            id: "STORE201", severity: .warning, message: "the read model of \(entry.name) at \(version) is not on the disk",
            advice: "build it: \(way)")
    }
}
