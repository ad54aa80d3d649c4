internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import Projections

extension GenerationSet {
    /// Whether all of them are there, ready, and at most `Options.flipLagEventsMax` events behind the log.
    func isReady(_ site: MigrationSite, at last: Checkpoint) throws(EvstoreError) -> Bool {
        for entry in entries where entry.directory == nil {
            throw .verificationFailed(reason: "the read model of \(entry.name) at \(version) is not built; nothing was flipped")
        }
        for (entry, header) in try headers(site) {
            guard header.isReady, header.fingerprint == entry.definition.fingerprint else {
                throw .verificationFailed(reason: "the read model of \(entry.name) at \(version) is not ready; nothing was flipped")
            }
            let lag = last.position.events(after: header.checkpoint.position)
            if lag > UInt64(site.options.flipLagEventsMax) { return false }
        }
        return true
    }

    /// Compares rows and digests with what was noted as they were written.
    /// - Parameter rowsMax: of generations with more rows only the noted count is compared.
    func verify(_ site: MigrationSite, rowsMax: UInt64) throws(EvstoreError) {
        for entry in present {
            if let finding = try damage(entry, site, rowsMax: rowsMax) { throw .verificationFailed(reason: finding.message) }
        }
    }

    /// Checked before a version goes live for the first time, but not before a rollback, which must stay possible.
    /// - Throws: `EvstoreError.invalidRow` with a row that does not keep the shape that its definition gives it.
    func requireRowShapes(_ site: MigrationSite) throws(EvstoreError) {
        for entry in present {
            if let row = try invalidRow(entry, site) { throw .invalidRow(projection: entry.name, key: row.key, reason: row.reason) }
        }
    }

    /// A row that does not keep its shape: following adds such rows, unlike a build.
    func invalidRow(_ entry: Entry, _ site: MigrationSite) throws(EvstoreError) -> (key: String, reason: String)? {
        guard let name = entry.directory, entry.definition.rowShape != nil else { return nil }
        return try open(name, site).violations(of: entry.definition, limit: 1).first
    }

    /// What is wrong with a generation; nil where its rows and digest are as it notes.
    func damage(_ entry: Entry, _ site: MigrationSite, rowsMax: UInt64 = .max) throws(EvstoreError) -> Finding? {
        guard let name = entry.directory else { return nil }
        return try finding(entry, name) { (what) throws(EvstoreError) in
            try compare(open(name, site), entry.definition.indexes, what, site, rowsMax: rowsMax)
        }
    }

    /// What is wrong with the pages of a directory that the store names for an entry, or with its rows one by one.
    func brokenPages(_ entry: Entry, in name: String, _ site: MigrationSite) throws(EvstoreError) -> Finding? {
        try finding(entry, name) { (_) throws(EvstoreError) in
            try open(name, site).checkPages()
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
        _ generation: Generation, _ indexes: RowIndexes, _ what: String, _ site: MigrationSite, rowsMax: UInt64
    ) throws(EvstoreError) -> Finding? {
        // Followers of other processes may write meanwhile: the comparison counts only where nothing changed in between.
        while true {
            let before = try generation.header
            guard before.isReady else { return Finding(id: "STORE202", message: "\(what) is not ready") }
            if before.rows > rowsMax { return nil }
            let counted = try generation.recount(site.job)
            let indexFault = try generation.indexFault(indexes, site.job)
            guard try generation.header == before else { continue }
            if counted.rows == before.rows, counted.digest == before.digest {
                guard let indexFault else { return nil }
                _ = generation.damaged("its index \(indexFault)")
                return Finding(id: "STORE205", message: "the index of \(what) \(indexFault)", advice: advice)
            }
            // The damage is noted, so that the next query builds the read model anew.
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

    /// One digest over all of them.
    func digest(_ site: MigrationSite) throws(EvstoreError) -> String {
        var hasher = SHA256Hasher()
        for (entry, header) in try headers(site) {
            hasher.update(entry.definition.fingerprint.bytes)
            hasher.update(header.digest.bytes)
        }
        return hasher.finalize().hex
    }

    /// The digest of each, by projection.
    func digests(_ site: MigrationSite) throws(EvstoreError) -> [String: String] {
        var result: [String: String] = [:]
        for (entry, header) in try headers(site) { result[entry.name] = header.digest.hex }
        return result
    }

    /// How a snapshot notes them: with a digest where they are exactly at its position.
    func noted(_ site: MigrationSite, at last: Checkpoint) throws(EvstoreError) -> [SnapshotGeneration] {
        try headers(site).map { entry, header in
            let isThere = header.checkpoint.position == last.position && header.quarantined == 0
            return SnapshotGeneration(
                projection: entry.name, fingerprint: entry.fingerprint, directory: entry.directory ?? "",
                digest: isThere ? header.digest.hex : nil, rows: header.rows)
        }
    }

    /// The names of the read models that differ from what a snapshot noted; those that it has no digest of are not compared.
    func differing(from snapshot: SnapshotReport, _ site: MigrationSite) throws(EvstoreError) -> [String] {
        try headers(site).filter { entry, header in
            guard header.checkpoint.position == snapshot.position else { return false }
            let noted = snapshot.generations.first { $0.fingerprint == entry.fingerprint }?.digest
            return noted != nil && noted != header.digest.hex
        }.map(\.entry.name)
    }

    /// How many events at least one of them lacks.
    func quarantinedEvents(_ site: MigrationSite) throws(EvstoreError) -> UInt64 {
        var generations: [Generation] = []
        for name in present.compactMap(\.directory) { generations.append(try open(name, site)) }
        return try Generation.countQuarantined(generations)
    }

    /// How many rows their quarantines have: an event has one in each of them that lacks it.
    func quarantineRows(_ site: MigrationSite) throws(EvstoreError) -> UInt64 {
        try headers(site).sum(\.header.quarantined)
    }

    func quarantined(_ entry: Entry, _ site: MigrationSite) throws(EvstoreError) -> [QuarantineReport] {
        guard let name = entry.directory else { return [] }
        return try open(name, site).quarantined().map {
            QuarantineReport(projection: entry.name, position: $0.position, type: $0.type, error: $0.reason)
        }
    }

    /// Checked by a strict replay for the generations that it built.
    /// - Throws: `EvstoreError.buildStopped` with the first quarantined event whose quarantine no version file allows.
    func requireNoneQuarantined(among built: [Entry], _ site: MigrationSite) throws(EvstoreError) {
        for entry in built {
            guard let name = entry.directory, let first = try open(name, site).quarantined().first(where: { !$0.isDeclared }) else {
                continue
            }
            throw .buildStopped(projection: entry.name, position: first.position, reason: first.reason, inFold: first.isInFold)
        }
    }

    /// What is wrong with the read models that the store names, those of the live version first.
    package static func findings(_ site: MigrationSite, _ state: StoreState, deep: Bool) throws(EvstoreError) -> [Finding] {
        var findings: [Finding] = []
        var seen: Set<String> = []
        for version in [state.live] + state.floor.through(state.top) {
            let generationSet = try registered(site, at: version, state)
            for entry in generationSet.entries where seen.insert(entry.fingerprint).inserted {
                guard let name = state.generations[entry.fingerprint] ?? entry.directory else {
                    if version == state.live, entry.definition.isAvailable { findings.append(missing(entry, at: version, site)) }
                    continue
                }
                try site.job.check()
                if let finding = try generationSet.brokenPages(entry, in: name, site) {
                    // LMDB must not follow damaged pages.
                    findings.append(finding)
                } else if deep {
                    if let finding = try generationSet.damage(entry, site) { findings.append(finding) }
                    guard version == state.live, let row = try generationSet.invalidRow(entry, site) else { continue }
                    let error = EvstoreError.invalidRow(projection: entry.name, key: row.key, reason: row.reason)
                    findings.append(Finding(id: "ROW101", severity: .warning, message: error.message, advice: error.details.advice))
                }
            }
        }
        return findings
    }

    private static func missing(_ entry: Entry, at version: SchemaVersion, _ site: MigrationSite) -> Finding {
        let way: Advice = site.log.isReplica ? "a query of it does that" : "\(.replay(to: version))"
        return Finding(
            id: "STORE201", severity: .warning, message: "the read model of \(entry.name) at \(version) is not on the disk",
            advice: "build it: \(way)")
    }
}
