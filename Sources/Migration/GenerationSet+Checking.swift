internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

extension GenerationSet {
    /// Whether all read models are built, ready, and at most `Options.flipLagEventsMax` events behind the log.
    func isReady(_ context: MigrationContext, at last: Checkpoint) throws(EvstoreError) -> Bool {
        for entry in entries where entry.directory == nil {
            throw .verificationFailed(reason: "the read model of \(entry.name) at \(version) is not built; nothing was flipped")
        }
        for (entry, header) in try headers(context) {
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
    func verify(_ context: MigrationContext, rowsMax: UInt64) throws(EvstoreError) {
        for entry in present {
            if let finding = try damage(entry, context, rowsMax: rowsMax) { throw .verificationFailed(reason: finding.message) }
        }
    }

    /// Requires that every row has the shape that its definition gives it. Called before a version goes live for the first time, but not
    /// before a rollback, which must stay possible.
    /// - Throws: `EvstoreError.invalidRow` with the first row that does not.
    func requireRowShapes(_ context: MigrationContext) throws(EvstoreError) {
        for entry in present {
            if let row = try invalidRow(entry, context) { throw .invalidRow(projection: entry.name, key: row.key, reason: row.reason) }
        }
    }

    /// The first row that violates its shape: following may add such rows, a build may not.
    func invalidRow(_ entry: Entry, _ context: MigrationContext) throws(EvstoreError) -> (key: String, reason: String)? {
        guard let name = entry.directory, entry.definition.rowShape != nil else { return nil }
        return try open(name, context).violations(of: entry.definition, limit: 1).first
    }

    /// The damage of a generation; nil where its rows and digest are as recorded.
    func damage(_ entry: Entry, _ context: MigrationContext, rowsMax: UInt64 = .max) throws(EvstoreError) -> Finding? {
        guard let name = entry.directory else { return nil }
        return try finding(entry, name) { (what) throws(EvstoreError) in
            try compare(open(name, context), entry.definition.indexes, what, context, rowsMax: rowsMax)
        }
    }

    /// The damage of the pages or the rows in the directory that the store names for an entry.
    func brokenPages(_ entry: Entry, in name: String, _ context: MigrationContext) throws(EvstoreError) -> Finding? {
        try finding(entry, name) { (_) throws(EvstoreError) in
            try open(name, context).checkPages()
            return nil
        }
    }

    private func finding(
        _ entry: Entry, _ name: String, _ body: (_ what: String) throws(EvstoreError) -> Finding?
    ) throws(EvstoreError) -> Finding? {
        let what = "the read model of \(entry.name) at \(version) (\(name))"
        do { return try body(what) } catch {
            guard case .storeDamaged(_, let reason) = error else { throw error }
            return Finding(id: "STORE014", message: "\(what): \(reason)", advice: advice)
        }
    }

    private var advice: Advice { "build it anew: \(.replay(to: version))" }

    private func compare(
        _ generation: Generation, _ indexes: RowIndexes, _ what: String, _ context: MigrationContext, rowsMax: UInt64
    ) throws(EvstoreError) -> Finding? {
        // Followers of other processes may write meanwhile: the comparison counts only if nothing changed during it.
        while true {
            let before = try generation.header
            guard before.isReady else { return Finding(id: "STORE202", message: "\(what) is not ready") }
            if before.rows > rowsMax { return nil }
            let counted = try generation.recount(context.job)
            let indexFault = try generation.indexFault(indexes, context.job)
            guard try generation.header == before else { continue }
            if counted.rows == before.rows, counted.digest == before.digest {
                guard let indexFault else { return nil }
                _ = generation.damaged("its index \(indexFault)")
                return Finding(id: "STORE205", message: "the index of \(what) \(indexFault)", advice: advice)
            }
            // Marks the generation as damaged, so that the next query rebuilds the read model.
            if counted.rows != before.rows {
                let reason = "has \(counted.rows) rows and notes \(before.rows)"
                _ = generation.damaged("it \(reason)")
                return Finding(id: "STORE203", message: "\(what) \(reason)", advice: advice)
            }
            let reason = "does not have the digest it notes"
            _ = generation.damaged("it \(reason)")
            return Finding(id: "STORE204", message: "\(what) \(reason)", advice: advice)
        }
    }

    /// One digest over all read models.
    func digest(_ context: MigrationContext) throws(EvstoreError) -> String {
        var hasher = SHA256Hasher()
        for (entry, header) in try headers(context) {
            hasher.update(entry.definition.fingerprint.bytes)
            hasher.update(header.digest.bytes)
        }
        return hasher.finalize().hex
    }

    /// The digests of the read models by projection.
    func digests(_ context: MigrationContext) throws(EvstoreError) -> [String: String] {
        try headers(context).reduce(into: [:]) { $0[$1.entry.name] = $1.header.digest.hex }
    }

    /// The read models as a snapshot records them, with a digest where they are exactly at its position.
    func noted(_ context: MigrationContext, at last: Checkpoint) throws(EvstoreError) -> [SnapshotGeneration] {
        try headers(context).map { entry, header in
            let isThere = header.checkpoint.position == last.position && header.quarantined == 0
            return SnapshotGeneration(
                projection: entry.name, fingerprint: entry.fingerprint, directory: entry.directory ?? "",
                digest: isThere ? header.digest.hex : nil, rows: header.rows)
        }
    }

    /// The names of the read models that differ from a snapshot's record; those without a recorded digest are not compared.
    func differing(from snapshot: SnapshotReport, _ context: MigrationContext) throws(EvstoreError) -> [String] {
        try headers(context).filter { entry, header in
            guard header.checkpoint.position == snapshot.position else { return false }
            let noted = snapshot.generations.first { $0.fingerprint == entry.fingerprint }?.digest
            return noted != nil && noted != header.digest.hex
        }.map(\.entry.name)
    }

    /// The number of events that at least one read model lacks.
    func quarantinedEvents(_ context: MigrationContext) throws(EvstoreError) -> UInt64 {
        var generations: [Generation] = []
        for name in present.compactMap(\.directory) { generations.append(try open(name, context)) }
        return try Generation.countQuarantined(generations)
    }

    /// The events that at least one read model lacks.
    func acceptedQuarantine(_ context: MigrationContext) throws(EvstoreError) -> AcceptedQuarantine {
        var generations: [Generation] = []
        for name in present.compactMap(\.directory) {
            let generation = try open(name, context)
            if try generation.header.quarantined > 0 { generations.append(generation) }
        }
        return AcceptedQuarantine(at: version) { [generations] position in
            generations.contains { generation in
                // A read model that can't be read accepts nothing, and is a finding of its own.
                do { return try !generation.quarantined(at: position, limit: 1).isEmpty } catch { return false }
            }
        }
    }

    /// The number of rows in the quarantines: an event has one row for each read model that lacks it.
    func quarantineRows(_ context: MigrationContext) throws(EvstoreError) -> UInt64 {
        try headers(context).sum(\.header.quarantined)
    }

    /// A strict replay checks the generations that it built by this.
    /// - Throws: `EvstoreError.buildStopped` with the first quarantined event whose quarantine no version file allows.
    func requireNoneQuarantined(among built: [Entry], _ context: MigrationContext) throws(EvstoreError) {
        for entry in built {
            guard let name = entry.directory else { continue }
            try converting {
                try open(name, context).forEachQuarantined { row in
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
                if let finding = try generationSet.brokenPages(entry, in: name, context) {
                    // LMDB must not follow damaged pages, so there is no deep check.
                    findings.append(finding)
                } else if deep {
                    if let finding = try generationSet.damage(entry, context) { findings.append(finding) }
                    guard version == state.live, let row = try generationSet.invalidRow(entry, context) else { continue }
                    let error = EvstoreError.invalidRow(projection: entry.name, key: row.key, reason: row.reason)
                    findings.append(Finding(id: "ROW101", severity: .warning, message: error.message, advice: error.details.advice))
                }
            }
        }
        return findings
    }

    private static func missing(_ entry: Entry, at version: SchemaVersion, _ context: MigrationContext) -> Finding {
        let way: Advice = context.log.isReplica ? "a query of it does that" : "\(.replay(to: version))"
        return Finding(
            id: "STORE201", severity: .warning, message: "the read model of \(entry.name) at \(version) is not on the disk",
            advice: "build it: \(way)")
    }
}
