internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Logging
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The generations that a handle has open, by the names of their directories.
final class OpenGenerations: Sendable {
    private let open = Monitor<[String: Generation]>([:])

    func known(_ name: String?) -> Generation? { open.withLock { open in name.flatMap { open[$0] } } }

    /// Returns the generation of a name, opened where it is not yet; closes those that the store no longer uses.
    func generation(_ name: String, in store: EventStore, _ state: StoreState) throws(EvstoreError) -> Generation {
        if let known = open.withLock({ $0[name] }) { return known }
        let number = try store.work.begin(Job("open a read model"))
        defer { store.work.end(number) }
        let generation = try Generation.open(named: name, in: store.path, of: store.evolving.log, readOnly: store.isReadOnly)
        let used = Set(state.generations.values)
        open.withLock { open in
            open = open.filter { used.contains($0.key) }
            open[name] = generation
        }
        return generation
    }

    func removeAll() { open.withLock { $0.removeAll() } }

    /// Closes all of them, also those that a query still reads.
    func close() { for generation in open.withLock({ Array($0.values) }) { generation.close() } }
}

struct ReadModel {
    var generation: Generation
    var indexes: RowIndexes
    var note: QueryNote
}

extension EventStore {
    /// Returns a read model that has consumed the log up to `position` (its current end where nil), as far as this handle can bring it
    /// there.
    /// - Parameters:
    ///   - mayLag: whether the read model is returned with a note where nothing can be written; otherwise that error is thrown.
    ///   - forRows: false where no row of it is given to anybody: the index of tags has none that says something.
    func readModel(
        _ projection: String, at version: SchemaVersion? = nil, to position: Position? = nil, mayLag: Bool = false, forRows: Bool = true
    ) async throws(EvstoreError) -> ReadModel {
        if forRows { try requireRows(projection) }
        let version = try effective(version)
        let evolution = try evolution(at: version)
        let definition = try evolution.definition(named: projection, at: version)
        return try await readModel(of: definition, evolution, to: position, mayLag: mayLag)
    }

    /// - Throws: `EvstoreError.usage` for the index of tags.
    func requireRows(_ projection: String) throws(EvstoreError) {
        if projection != Definition.tagIndexName { return }
        throw .usage("the index of tags has no rows to look at: a query by tags gives the events")
    }

    /// What the store knows, for the read models of a version.
    /// - Throws: `EvstoreError`: unknownVersion; notLive for a version that only this program knows.
    func evolution(at version: SchemaVersion) throws(EvstoreError) -> SchemaSnapshot {
        let evolution = try evolving.current()
        if version > evolution.history.head {
            // It has no read models before a replay to it.
            _ = try history(serving: version, evolution.history)
            throw .notLive(version, live: evolution.state.live)
        }
        try requireVersion(version, evolution)
        return evolution
    }

    func readModel(
        of definition: Definition, _ evolution: SchemaSnapshot, to position: Position?, mayLag: Bool
    ) async throws(EvstoreError) -> ReadModel {
        let (version, end) = (definition.version, position ?? evolution.last.position)
        let known = generations.known(evolution.state.generations[definition.fingerprint.hex])
        let generation: Generation
        let header: GenerationHeader
        var obstacle: String?
        if let known, let current = headerIfCaughtUp(known, evolution, end) {
            (generation, header) = (known, current)
        } else {
            (generation, obstacle) = try await working("build the read models of \(version)") { (context) async throws(EvstoreError) in
                try await self.broughtUp(definition, evolution, to: position, mayLag: mayLag, context)
            }
            header = try generation.header
        }
        let reason =
            isReadOnly
            ? "the store is opened to be read only"
            : obstacle ?? (definition.isAvailable ? nil : "\(definition.name) is written in Swift, and this program lacks that code")
        // A cut may have moved the log's end back meanwhile: below it nothing is behind.
        let isSame = header.checkpoint.epoch == evolution.state.epoch
        let now = try isSame ? evolution.last.position : evolving.current().last.position
        let lag = min(end, now).events(after: header.checkpoint.position)
        return ReadModel(
            generation: generation, indexes: definition.indexes,
            note: QueryNote(
                version: version, checkpoint: header.checkpoint, lag: lag, reason: lag == 0 ? nil : reason,
                quarantined: header.quarantined))
    }

    /// The header of a read model that is at the log's end and needs no wait; else nil. Nil for a damaged one too, which has to be rebuilt.
    private func headerIfCaughtUp(_ generation: Generation, _ evolution: SchemaSnapshot, _ end: Position) -> GenerationHeader? {
        do throws(EvstoreError) {
            let header = try generation.header
            let (checkpoint, last) = (header.checkpoint, evolution.last.position)
            let isThere = checkpoint.epoch == evolution.state.epoch && checkpoint.position >= min(end, last) && checkpoint.position <= last
            return isThere ? header : nil
        } catch { return nil }
    }

    /// Returns the generation of a definition, built where there is none, and brought up as far as this handle can. Where a node applies a
    /// cut meanwhile, the generation may have gone beyond it: then the work is repeated.
    private func broughtUp(
        _ definition: Definition, _ evolution: SchemaSnapshot, to position: Position?, mayLag: Bool, _ context: MigrationContext
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        var evolution = evolution
        while true {
            do { return try await broughtUpOnce(definition, evolution, to: position, mayLag: mayLag, context) } catch {
                let now = try evolving.current()
                if now.state.epoch == evolution.state.epoch || isReadOnly { throw error }
                generations.removeAll()
                evolution = now
            }
        }
    }

    private func broughtUpOnce(
        _ definition: Definition, _ evolution: SchemaSnapshot, to position: Position?, mayLag: Bool, _ context: MigrationContext
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        let version = definition.version
        var evolution = evolution
        if evolution.state.generations[definition.fingerprint.hex] == nil {
            try await build(definition, at: version, context)
            evolution = try evolving.current()
        }
        let end = position ?? evolution.last.position
        do { return try await caughtUp(definition, evolution, to: end, mayLag: mayLag, context.job) } catch {
            guard mustBuildAnew(after: error), !isReadOnly else { throw error }
            generations.removeAll()
            try await build(definition, at: version, context)
            return try await caughtUp(definition, evolving.current(), to: end, mayLag: mayLag, context.job)
        }
    }

    /// Whether a read model must be rebuilt: where it is damaged, where it has gone beyond a cut, and where it was deleted meanwhile.
    /// Damage of the log is thrown, and nothing is built at a path where another store lies now.
    private func mustBuildAnew(after error: EvstoreError) -> Bool {
        switch error {
        case .storeDamaged(let what, _): isReadModel(what) && log.isInPlace
        case .epochChanged: true
        default: false
        }
    }

    /// The generation that the store names, at the log's end if this handle can take it there; and the obstacle that keeps it from writing.
    private func caughtUp(
        _ definition: Definition, _ evolution: SchemaSnapshot, to end: Position, mayLag: Bool, _ job: Job
    ) async throws(EvstoreError) -> (Generation, obstacle: String?) {
        guard let name = evolution.state.generations[definition.fingerprint.hex] else {
            throw .ioFailure(
                doing: "reading \(definition.name) at \(definition.version)", reason: "the store's versions changed meanwhile; run it again"
            )
        }
        let generation = try generations.generation(name, in: self, evolution.state)
        var obstacle: String?
        if !isReadOnly, definition.isAvailable {
            do { try await follower.follow(generation, definition, to: end, job) } catch {
                obstacle = mayLag ? Self.obstacle(error) : nil
                if obstacle == nil { throw error }
            }
        }
        _ = try generation.header
        return (generation, obstacle)
    }

    /// Why nothing can be written, as a clause; nil for any other error.
    private static func obstacle(_ error: EvstoreError) -> String? {
        switch error {
        case .diskFull: "the disk is full"
        case .readOnly: "the store's file system can't be written"
        default: nil
        }
    }

    private func build(_ definition: Definition, at version: SchemaVersion, _ context: MigrationContext) async throws(EvstoreError) {
        if !definition.isAvailable { throw .programNeeded(what: "the projection \(definition.name)") }
        if isReadOnly { throw .readOnly(path: path) }
        // Only one of several concurrent callers builds the read model; the others wait, then find it built.
        let end = Instant.within(options.readModelDeadline)
        while true {
            do throws(EvstoreError) {
                return try await MissingGenerations.build(context, at: version)
            } catch {
                guard case .migrationInProgress = error, Instant.now < end else { throw error }
            }
            do { try await Task.sleep(for: .milliseconds(10)) } catch { throw .interrupted(again: "run it again") }
        }
    }

    /// Returns the read models of a version (the working one where nil) without catching them up; reads their headers only.
    ///
    /// Blocks the calling thread for one short read transaction of the log and of each read model.
    public func projections(at version: SchemaVersion? = nil) throws(EvstoreError) -> [ProjectionStatus] {
        let version = try effective(version)
        let evolution = try evolving.current()
        return try evolution.definitions(at: version).map { definition throws(EvstoreError) in
            var status = ProjectionStatus(
                name: definition.name, version: version, fingerprint: definition.fingerprint.hex, checkpoint: nil, rows: 0, digest: nil,
                quarantined: 0, lag: evolution.last.position.rawValue, isSwift: definition.isSwift)
            if let header = try header(of: status.fingerprint, evolution.state) {
                (status.checkpoint, status.rows) = (header.checkpoint, header.rows)
                (status.digest, status.quarantined) = (header.digest.hex, header.quarantined)
                status.lag -= min(status.lag, header.checkpoint.position.rawValue)
            }
            return status
        }
    }

    /// The header of the read model with a fingerprint; nil where it is not built or is damaged.
    func header(of fingerprint: String, _ state: StoreState) throws(EvstoreError) -> GenerationHeader? {
        guard let name = state.generations[fingerprint] else { return nil }
        do { return try generations.generation(name, in: self, state).header } catch {
            guard case .storeDamaged(let what, let reason) = error, isReadModel(what) else { throw error }
            logger.warning(
                "a read model is damaged, and is rebuilt by the next query", metadata: ["path": "\(what)", "reason": "\(reason)"])
            return nil
        }
    }

    func isReadModel(_ path: String) -> Bool { path.contains(Generation.home(in: self.path) + "/") }
}

/// One row of a read model.
public struct ReadModelRow: Hashable, Sendable {
    public var key: String
    /// JSON text in UTF-8.
    public var value: [UInt8]

    /// The value as text.
    public var json: String { String(decoding: value, as: UTF8.self) }

    public init(key: String, value: [UInt8]) { (self.key, self.value) = (key, value) }
}

/// The source of a query's rows.
public struct QueryNote: Hashable, Sendable {
    public var version: SchemaVersion
    /// The checkpoint up to which the read model had consumed the log.
    public var checkpoint: Checkpoint
    /// Events in the log when the query began that the read model has not consumed; 0 where it could catch up.
    public var lag: UInt64
    /// Why it could not catch up, as a clause; nil where it could.
    public var reason: String?
    /// Events that the rows lack because the read model could not take them in; `EventStore.quarantine` lists them.
    public var quarantined: UInt64
}

/// One read model in a status report.
public struct ProjectionStatus: Hashable, Sendable {
    public var name: String
    public var version: SchemaVersion
    /// The fingerprint in hexadecimal digits.
    public var fingerprint: String
    /// Nil where nothing was built yet.
    public var checkpoint: Checkpoint?
    public var rows: UInt64
    /// The digest in hexadecimal digits; nil where nothing was built yet.
    public var digest: String?
    public var quarantined: UInt64
    /// Events in the log beyond the checkpoint.
    public var lag: UInt64
    public var isSwift: Bool

    /// Whether it is the index of the events' tags, which has no rows to look at.
    public var isTagIndex: Bool { name == Definition.tagIndexName }
}

/// One key of a read model at two versions, with the rows' JSON texts.
public struct RowDifference: Hashable, Sendable {
    public var key: String
    /// Nil where there is no such row.
    public var a: [UInt8]?
    public var b: [UInt8]?

    /// Whether the rows differ in meaning, however their JSON is written.
    var isReal: Bool {
        get throws(EvstoreError) {
            guard let a, let b else { return a != b }
            if a == b { return false }
            do { return try Canonical.bytes(of: a.lent) != Canonical.bytes(of: b.lent) } catch {
                throw EvstoreError(converting: error, at: "the rows of \(key)")
            }
        }
    }
}

/// Walks the rows of two generations side by side, a page of each at a time, in the order of their keys' bytes: keys that differ in bytes
/// are different rows, even if they look alike.
struct RowPairs {
    private var left, right: Generation
    private let pageRows: Int
    /// The range that has not been read yet; nil at the end.
    private(set) var rest: KeyRange?
    private var pairs: ArraySlice<RowDifference> = []
    /// How far each generation had consumed the log when the rows were read that were read last.
    private(set) var checkpoints = (a: Checkpoint.start, b: Checkpoint.start)

    init(_ left: Generation, _ right: Generation, _ range: KeyRange, pageRows: Int) {
        (self.left, self.right, rest, self.pageRows) = (left, right, range, pageRows)
    }

    mutating func read(_ left: Generation, _ right: Generation) { (self.left, self.right) = (left, right) }

    /// The next key with its rows, whether or not they differ; nil at the end.
    /// - Parameter atOnePosition: whether it returns nil also where the next rows of the two are not those of one position.
    mutating func next(atOnePosition: Bool = false) throws(EvstoreError) -> RowDifference? {
        while pairs.isEmpty, var range = rest {
            let a = try left.pageAndCheckpoint(range, limit: pageRows)
            let b = try right.pageAndCheckpoint(range, limit: pageRows)
            checkpoints = (a.checkpoint, b.checkpoint)
            if atOnePosition, a.checkpoint != b.checkpoint { return nil }
            // Behind the end of a full page its generation may have more rows.
            let ends = [a.rows, b.rows].compactMap { $0.count < pageRows ? nil : $0.last?.key }
            let end = ends.min { $0.lexicographicallyPrecedes($1) }
            pairs = Self.merged(a.rows[...], b.rows[...], through: end)[...]
            if let end { range.leave(end, backwards: false) }
            rest = end == nil ? nil : range
        }
        return pairs.popFirst()
    }

    private static func merged(
        _ a: ArraySlice<(key: [UInt8], value: [UInt8])>, _ b: ArraySlice<(key: [UInt8], value: [UInt8])>, through end: [UInt8]?
    ) -> [RowDifference] {
        var (a, b, merged) = (a, b, [RowDifference]())
        while let key = [a.first?.key, b.first?.key].compactMap(\.self).min(by: { $0.lexicographicallyPrecedes($1) }) {
            if let end, end.lexicographicallyPrecedes(key) { break }
            let left = a.first?.key == key ? a.popFirst()?.value : nil
            let right = b.first?.key == key ? b.popFirst()?.value : nil
            merged.append(RowDifference(key: String(decoding: key, as: UTF8.self), a: left, b: right))
        }
        return merged
    }
}
