internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Logging
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The generations that a handle has open, by the names of their directories.
final class OpenGenerations: Sendable {
    private let open = Monitor<[String: Generation]>([:])

    /// The generation of a name where it is open.
    func known(_ name: String?) -> Generation? { open.withLock { open in name.flatMap { open[$0] } } }

    /// The generation; closes those that the store no longer uses.
    func generation(_ name: String, in store: EventStore, _ state: StoreState) throws(EvstoreError) -> Generation {
        if let known = open.withLock({ $0[name] }) { return known }
        let generation = try Generation.open(named: name, in: store.path, of: store.evolving.log, readOnly: store.isReadOnly)
        let used = Set(state.generations.values)
        open.withLock { open in
            open = open.filter { used.contains($0.key) }
            open[name] = generation
        }
        return generation
    }

    func removeAll() { open.withLock { $0.removeAll() } }
}

/// A read model ready to be read.
struct ReadModel {
    var generation: Generation
    var indexes: RowIndexes
    var note: QueryNote
}

extension EventStore {
    /// A read model that has consumed the log up to `position` (its end as of now where nil), as far as this handle can bring it there.
    /// - Parameter mayLag: whether it is returned with a note where nothing can be written; else that error is thrown.
    func readModel(
        _ projection: String, at version: SchemaVersion? = nil, to position: Position? = nil, mayLag: Bool = false
    ) async throws(EvstoreError) -> ReadModel {
        let version = try effective(version)
        let evolution = try evolving.current()
        if version > evolution.history.head || version.rawValue == 0 {
            throw .unknownVersion(version.description, known: evolution.history.versions.map(\.number.description))
        }
        let definition = try evolution.definition(named: projection, at: version)
        let end = position ?? evolution.last.position
        let known = generations.known(evolution.state.generations[definition.fingerprint.hex])
        let generation: Generation
        let header: GenerationHeader
        var obstacle: String?
        if let known, let current = headerIfThere(known, evolution, end) {
            (generation, header) = (known, current)
        } else {
            (generation, obstacle) = try await working("build the read models of \(version)") { (site) async throws(EvstoreError) in
                try await self.broughtUp(definition, evolution, to: position, mayLag: mayLag, site)
            }
            header = try generation.header
        }
        let reason =
            isReadOnly
            ? "the store is opened to be read only"
            : obstacle ?? (definition.isAvailable ? nil : "\(projection) is written in Swift and this program does not have it")
        // A cut that was met meanwhile has taken the end back.
        let isSame = header.checkpoint.epoch == evolution.state.epoch
        let now = try isSame ? end : min(end, evolving.current().last.position)
        let lag = now.events(after: header.checkpoint.position)
        return ReadModel(
            generation: generation, indexes: definition.indexes,
            note: QueryNote(
                version: version, checkpoint: header.checkpoint, lag: lag, reason: lag == 0 ? nil : reason,
                quarantined: header.quarantined))
    }

    /// The header of a read model that is at the log's end, so that there is nothing to wait for; else nil. A damaged one has to be built.
    private func headerIfThere(_ generation: Generation, _ evolution: SchemaSnapshot, _ end: Position) -> GenerationHeader? {
        do throws(EvstoreError) {
            let header = try generation.header
            let (checkpoint, last) = (header.checkpoint, evolution.last.position)
            let isThere = checkpoint.epoch == evolution.state.epoch && checkpoint.position >= min(end, last) && checkpoint.position <= last
            return isThere ? header : nil
        } catch { return nil }
    }

    /// The generation of a definition, built where there is none, and brought up as far as this handle can. Where a node meets a cut
    /// meanwhile, what was built may have gone beyond it: that is done again.
    private func broughtUp(
        _ definition: Definition, _ evolution: SchemaSnapshot, to position: Position?, mayLag: Bool, _ site: MigrationSite
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        var evolution = evolution
        while true {
            do { return try await broughtUpOnce(definition, evolution, to: position, mayLag: mayLag, site) } catch {
                let now = try evolving.current()
                if now.state.epoch == evolution.state.epoch || isReadOnly { throw error }
                generations.removeAll()
                evolution = now
            }
        }
    }

    private func broughtUpOnce(
        _ definition: Definition, _ evolution: SchemaSnapshot, to position: Position?, mayLag: Bool, _ site: MigrationSite
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        let version = definition.version
        var evolution = evolution
        if evolution.state.generations[definition.fingerprint.hex] == nil {
            try await build(definition, at: version, site)
            evolution = try evolving.current()
        }
        let end = position ?? evolution.last.position
        do { return try await caughtUp(definition, evolution, to: end, mayLag: mayLag) } catch {
            guard mustBuildAnew(after: error), !isReadOnly else { throw error }
            generations.removeAll()
            try await build(definition, at: version, site)
            return try await caughtUp(definition, evolving.current(), to: end, mayLag: mayLag)
        }
    }

    /// A damaged read model is built anew, one that has gone beyond a cut too, and one that was deleted meanwhile has a successor. Damage of
    /// the log is thrown.
    private func mustBuildAnew(after error: EvstoreError) -> Bool {
        switch error {
        case .storeDamaged(let what, _): isReadModel(what)
        case .epochChanged: true
        default: false
        }
    }

    /// The generation that the store names, at the log's end where this handle can take it there; and what keeps it from writing.
    private func caughtUp(
        _ definition: Definition, _ evolution: SchemaSnapshot, to end: Position, mayLag: Bool
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        guard let name = evolution.state.generations[definition.fingerprint.hex] else {
            throw .ioFailure(
                doing: "reading \(definition.name) at \(definition.version)", reason: "the store's versions changed meanwhile; run it again"
            )
        }
        let generation = try generations.generation(name, in: self, evolution.state)
        var obstacle: String?
        if !isReadOnly, definition.isAvailable {
            do { try await follower.follow(generation, definition, to: end) } catch {
                obstacle = mayLag ? Self.obstacle(error) : nil
                if obstacle == nil { throw error }
            }
        }
        _ = try generation.header
        return (generation, obstacle)
    }

    /// Why nothing can be written, as a clause; nil where an error is another.
    private static func obstacle(_ error: EvstoreError) -> String? {
        switch error {
        case .diskFull: "the disk is full"
        case .readOnly: "the store's file system can't be written"
        default: nil
        }
    }

    private func build(_ definition: Definition, at version: SchemaVersion, _ site: MigrationSite) async throws(EvstoreError) {
        if !definition.isAvailable { throw .programNeeded(what: "the projection \(definition.name)") }
        if isReadOnly { throw .readOnly(path: path) }
        logger.notice("building a read model", metadata: ["projection": "\(definition.name)", "version": "\(version)"])
        // Of several callers at once one builds the read model; the others wait and then find it built.
        let end = ContinuousClock.Instant.within(options.readModelDeadline)
        while true {
            do throws(EvstoreError) {
                return try await MissingGenerations.build(site, at: version)
            } catch {
                guard case .migrationInProgress = error, ContinuousClock.now < end else { throw error }
            }
            do { try await Task.sleep(for: .milliseconds(10)) } catch { throw .interrupted(again: "run it again") }
        }
    }

    /// The read models of a version (the working one where nil), without catching them up; reads their headers on the calling thread.
    ///
    /// Blocks the calling thread for one short read transaction of the log and of each read model.
    public func projections(at version: SchemaVersion? = nil) throws(EvstoreError) -> [ProjectionStatus] {
        let version = try effective(version)
        let evolution = try evolving.current()
        var list: [ProjectionStatus] = []
        for definition in try evolution.definitions(at: version) {
            var status = ProjectionStatus(
                name: definition.name, version: version, fingerprint: definition.fingerprint.hex, checkpoint: nil, rows: 0, digest: nil,
                quarantined: 0, lag: evolution.last.position.rawValue, isSwift: definition.isSwift)
            if let header = try header(of: status.fingerprint, evolution.state) {
                (status.checkpoint, status.rows) = (header.checkpoint, header.rows)
                (status.digest, status.quarantined) = (header.digest.hex, header.quarantined)
                status.lag -= min(status.lag, header.checkpoint.position.rawValue)
            }
            list.append(status)
        }
        return list
    }

    /// The header of the read model of a fingerprint; nil where it is not built or damaged.
    func header(of fingerprint: String, _ state: StoreState) throws(EvstoreError) -> GenerationHeader? {
        guard let name = state.generations[fingerprint] else { return nil }
        do { return try generations.generation(name, in: self, state).header } catch {
            guard case .storeDamaged(let what, let reason) = error, isReadModel(what) else { throw error }
            logger.warning(
                "a read model is damaged, and is built anew by who asks next", metadata: ["path": "\(what)", "reason": "\(reason)"])
            return nil
        }
    }

    private func isReadModel(_ path: String) -> Bool { path.contains(Generation.home(in: self.path) + "/") }
}
