internal import EventLog
internal import EventModel
internal import Hashing
internal import Migration
internal import Projections
internal import SchemaEvolution
internal import Sealing

/// The parts of a store that a signed head covers in addition to the log: version files, definitions, keys, and the ledger of what was
/// forgotten.
struct SignedState: Hashable, Sendable {
    struct Definition: Hashable, Sendable {
        var name: String
        var since: SchemaVersion
        /// SHA-256 of its canonical JSON, in hexadecimal like all digests here.
        var digest: String
    }

    struct Keys: Hashable, Sendable {
        struct Entry: Hashable, Sendable {
            var kind: String
            var id: UInt32
            /// SHA-256 of the entry's bytes.
            var digest: String
        }

        /// Grows by one with each change.
        var generation: UInt64
        /// SHA-256 of the whole file.
        var digest: String
        var entries: [Entry]
    }

    struct Ledger: Hashable, Sendable {
        var count: Int
        /// SHA-256 over its rows: number, code, last slot and proof of each.
        var digest: String
    }

    // The fourth number, the head, is the count of `versions`.
    var floor, live, top: SchemaVersion
    /// The newest version whose file may no longer change: an event was born there, or the version was released.
    var fixed: SchemaVersion
    /// The digest of each version file, from version 1 on.
    var versions: [String]
    var definitions: [Definition]
    /// Nil where events are not sealed; `forgotten` is nil then too.
    var keys: Keys?
    var forgotten: Ledger?
}

extension SignedState {
    /// Reads the current state of the store, and its ledger: an earlier head covers only the first rows of the ledger.
    static func read(_ context: MigrationContext) throws(EvstoreError) -> (state: SignedState, ledger: [ForgottenLedger.Entry]) {
        try converting {
            let log = context.log
            let ledger = try log.ledger()
            let keys = try log.readKeyFile()
            return try log.read { reader in
                let numbers = reader.stamp
                let history = try RegisteredRows.history(reader.rows(.schemas), in: context.store)
                // A definition that begins above the registered versions is not in use yet.
                let definitions = try RegisteredRows.definitions(reader.rows(.definitions)).through(history.head).stored
                let born = try reader.census().filter { $0.count > 0 }.map(\.born)
                let released = history.versions.filter(\.isReleased).map(\.number)
                let state = SignedState(
                    floor: numbers.floor, live: numbers.live, top: numbers.top, fixed: (born + released).max() ?? SchemaVersion(0),
                    versions: history.versions.map(\.digest.hex), definitions: definitions.map(Definition.init).sorted(),
                    keys: keys.map(Keys.init), forgotten: keys.map { _ in Ledger(ledger) })
                return (state, ledger)
            }
        }
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        var hasher = SHA256Hasher()
        hasher.update(bytes)
        return hasher.finalize().hex
    }
}

extension SignedState.Definition: Comparable {
    init(_ stored: StoredDefinition) {
        self.init(name: stored.name, since: stored.since, digest: SignedState.digest(stored.json))
    }

    static func < (a: Self, b: Self) -> Bool { (a.name, a.since) < (b.name, b.since) }
}

extension SignedState.Keys {
    init(_ file: KeyFile) {
        generation = file.generation
        digest = SignedState.digest(file.bytes)
        entries = (file.slots.sorted { $0.id < $1.id } + file.dataKeys.sorted { $0.id < $1.id }).map { entry in
            let kind: StoreKey.Kind = entry.kind == .slot ? .slot : .data
            return Entry(kind: kind.rawValue, id: entry.id, digest: SignedState.digest(entry.bytes))
        }
    }
}

extension SignedState.Ledger {
    init(_ entries: [ForgottenLedger.Entry]) {
        var hasher = SHA256Hasher()
        for entry in entries {
            hasher.update(entry.number)
            hasher.update(entry.forgotten.code)
            hasher.update(UInt64(entry.forgotten.through))
            hasher.update(entry.proof)
        }
        (count, digest) = (entries.count, hasher.finalize().hex)
    }
}
