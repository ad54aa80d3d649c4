package import EventLog
package import EventModel
package import Hashing
internal import LMDB
internal import Platform
internal import Synchronization

/// One built copy of a projection: a separate LMDB environment in `generations/<fingerprint16>-<random>/`.
///
/// Tables: `rows`, key -> JSON text of the row; `meta` (`GenerationHeader`); `quarantine` (`QuarantineRow`); `indexes` (`RowIndexes`). Each
/// is a `CheckedTable` whose values are sealed if the log's events are. Rows, quarantine and header always change in one transaction. The
/// directory also contains `mark` (`GenerationMark`), `key` (`ModelKeys`) if it is sealed, and `damaged` (`DamageNote`) if it is damaged. A file
/// `retired` says that it is not to be taken into the store's map again.
package final class Generation: Sendable {
    package let name: String
    package let directory: String
    package let fingerprint: Digest
    let environment: Environment
    let rows, meta, quarantine: CheckedTable
    let indexes: CheckedTable?
    /// 2: rows have checksums. 4: rows are sealed. 3: rows are sealed under the master key. Older formats are kept as they are.
    let format: Int
    let note: DamageNote
    let knownHeader = KnownHeader()
    private let mark: GenerationMark
    private let isOpen = Atomic(true)

    static let headerKey = Array("generation".utf8)

    /// Takes over the open environment and the mark.
    /// - Parameter keys: nil if its rows are not sealed.
    init(
        directory: String, environment: Environment, mark: GenerationMark, keys: ModelKeys?, fingerprint: Digest, format: Int
    ) throws(StorageError) {
        (self.directory, self.fingerprint) = (directory, fingerprint)
        name = String(directory[(directory.lastIndex(of: "/").map(directory.index(after:)) ?? directory.startIndex)...])
        (self.environment, self.mark) = (environment, mark)
        (self.format, note) = (format, DamageNote(directory))
        rows = try CheckedTable(.rows, of: environment, format: format, keys, note)
        meta = try CheckedTable(.meta, of: environment, format: format, keys, note)
        quarantine = try CheckedTable(.quarantine, of: environment, format: format, keys, note)
        let hasIndexes = environment.find(GenerationTable.indexes.rawValue) != nil
        indexes = hasIndexes ? try CheckedTable(.indexes, of: environment, format: format, keys, note) : nil
    }

    deinit { close() }

    /// Closes the files once running transactions have ended; a later one is `misuse`. Happens by itself once nobody uses the generation.
    package func close() {
        // In the child of a fork, files and lock belong to the parent.
        guard environment.isOfThisProcess, isOpen.exchange(false, ordering: .relaxed) else { return }
        environment.close()
        mark.leave()
    }

    /// The directory of a store's generations.
    package static func home(in store: String) -> String { store + "/generations" }

    /// The names of the directories in it: complete generations, and leftovers of interrupted work.
    package static func names(in store: String) throws(EvstoreError) -> [String] {
        try converting("listing the generations of \(store)", at: store) {
            try Directory.status(home(in: store)) == nil ? [] : try Directory.names(home(in: store))
        }
    }

    /// How the names of the generations of a definition begin.
    package static func namePrefix(of fingerprint: Digest) -> String { fingerprint.hex.prefix(16) + "-" }

    /// Whether a directory's name is that of a generation; other directories are leftovers.
    package static func isName(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        let isHex = { (text: Substring) in !text.isEmpty && text.utf8.allSatisfy { (48 ... 57).contains($0) || (97 ... 102).contains($0) } }
        return parts.count == 2 && parts[0].utf8.count == 16 && parts.allSatisfy(isHex)
    }

    /// Opens a generation of a log's events.
    /// - Parameter store: the directory that contains it: that of the log, or a scratch directory, which may be writable if the log is not.
    /// - Throws: `EvstoreError.storeDamaged` if it does not exist, is damaged, belongs to another store, or is unsealed although the log's
    ///   events are sealed.
    package static func open(
        named name: String, in store: String, of log: EventLog, readOnly: Bool = false
    ) throws(EvstoreError) -> Generation {
        try converting("opening the generation \(name) of \(store)", at: home(in: store) + "/" + name) {
            guard isName(name) else {
                throw EvstoreError.storeDamaged(path: store, reason: "\(quoted(name)) is not the name of a generation")
            }
            let directory = home(in: store) + "/" + name
            guard try Directory.status(directory + "/data.mdb") != nil else {
                throw EvstoreError.storeDamaged(path: directory, reason: "the generation has no data.mdb")
            }
            let note = DamageNote(directory)
            do { return try enter(name, directory, log, readOnly, note) } catch let error as StorageError {
                if error.isDamage { throw note.damaged(error.message) }
                // It was deleted in the meantime.
                if error.isMissing { throw EvstoreError.storeDamaged(path: directory, reason: error.message) }
                throw error
            }
        }
    }

    /// The header of a generation; nil if its directory contains no complete one, which then counts as missing.
    package static func header(ofGeneration name: String, in store: String, of log: EventLog) throws(EvstoreError) -> GenerationHeader? {
        do { return try open(named: name, in: store, of: log).header } catch {
            guard case .storeDamaged = error else { throw error }
            return nil
        }
    }

    private static func enter(
        _ name: String, _ directory: String, _ log: EventLog, _ readOnly: Bool, _ note: DamageNote
    ) throws -> Generation {
        try note.check()
        let mark = try GenerationMark(directory)
        try mark.enter(note, within: log.options.readModelDeadline)
        let environment = try log.opening(directory, configuration(log.options, readOnly: readOnly))
        do {
            let format = try format(of: environment, directory)
            let isSealed = format > GenerationHeader.format(isSealed: false)
            let isOwn = format == GenerationHeader.sealedFormat
            let keys = isOwn ? try log.modelKeys(of: name, in: directory) : log.derivedModelKeys(of: name)
            if keys != nil, !isSealed {
                // It was made by an older program or placed there by another user; its content can't be authenticated.
                throw EvstoreError.storeDamaged(path: directory, reason: "its rows are not sealed, but the store's events are")
            }
            if keys == nil, isSealed {
                throw note.damaged("its rows are sealed, but the store's events are not")
            }
            let meta = try CheckedTable(.meta, of: environment, format: format, keys, note)
            let header = try environment.read { (transaction) in try Self.header(transaction, meta, directory, format, KnownHeader()) }
            guard header.storeID == log.storeID else {
                throw EvstoreError.storeDamaged(path: directory, reason: "the generation belongs to another store")
            }
            guard name.hasPrefix(namePrefix(of: header.fingerprint)) else {
                throw note.damaged("its data.mdb is that of another read model, \(header.projection) at \(header.version)")
            }
            return try Generation(
                directory: directory, environment: environment, mark: mark, keys: keys, fingerprint: header.fingerprint, format: format)
        } catch {
            environment.close()
            throw error
        }
    }

    static func configuration(
        _ options: Options, readOnly: Bool = false, creating tables: [GenerationTable]? = nil
    ) -> Environment.Configuration {
        var configuration = Environment.Configuration(
            tables: (tables ?? GenerationTable.allCases).map(\.rawValue), mapBytes: options.mapBytes, readersMax: options.readersMax,
            readOnly: readOnly, creating: tables != nil)
        configuration.optional = [GenerationTable.indexes.rawValue]
        return configuration
    }

    /// Reads in a transaction, and records damage that LMDB detects.
    func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        defer { withExtendedLifetime(self) {} }
        do { return try environment.read(body) } catch let error as StorageError where error.isDamagedPage {
            throw note.damaged(error.message)
        }
    }

    /// Writes in one transaction (`Environment.write`), and records damage that LMDB detects.
    func write<R>(_ turn: WriteTurn? = nil, _ body: (inout WriteTransaction) throws -> R) throws -> R {
        defer { withExtendedLifetime(self) {} }
        try mark.begin()
        do { return try environment.write(turn, body) } catch let error as StorageError {
            if error.isFailedDisk { mark.markDoubtful() }
            if error.isDamagedPage { throw note.damaged(error.message) }
            throw error
        }
    }

    /// Records that it is damaged: from now on it counts as missing, also for other processes.
    package func damaged(_ reason: String) -> EvstoreError { note.damaged(reason) }

    /// Checks all pages of the newest commit, and every row, while other processes may write.
    /// - Throws: `EvstoreError.storeDamaged`, after recording the damage; without recording anything where its file was removed.
    package func checkPages() throws(EvstoreError) {
        defer { withExtendedLifetime(self) {} }
        try converting("looking at the pages of \(directory)", at: directory) {
            do { try environment.checkStructure(tables: GenerationTable.kinds, rows: CheckedTable.checks()) } catch let damage
                as StructureDamage
            {
                throw note.damaged("data.mdb, \(damage)")
            } catch let error as StorageError where error.isNotFound {
                throw EvstoreError.storeDamaged(path: directory, reason: error.message)
            }
        }
    }
}
