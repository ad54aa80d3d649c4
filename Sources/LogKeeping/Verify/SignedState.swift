internal import EventLog
internal import EventModel
internal import Hashing
internal import Migration
internal import Projections
internal import SchemaEvolution
internal import Sealing

/// What a signed head says of a store beside its log: what events mean, what opens them, and what was forgotten.
struct SignedState: Hashable, Sendable {
    struct Definition: Hashable, Sendable {
        var name: String
        var since: SchemaVersion
        /// Hexadecimal, as all digests here: SHA-256 of its canonical JSON.
        var digest: String
    }

    struct Keys: Hashable, Sendable {
        struct Entry: Hashable, Sendable {
            var kind: String
            var id: UInt32
            /// SHA-256 of its bytes.
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

    // Of the four numbers of a store the head is not here: the list of versions tells it.
    var floor, live, top: SchemaVersion
    /// Up to here versions stay as they are for good: events were born at them, or they are released.
    var fixed: SchemaVersion
    /// The digest of each version file, from version 1 on.
    var versions: [String]
    var definitions: [Definition]
    /// Nil where events are not sealed; so is `forgotten`.
    var keys: Keys?
    var forgotten: Ledger?
}

extension SignedState {
    /// The store as it is now, and its ledger too, of which a head that was signed before knows the beginning.
    static func read(_ site: MigrationSite) throws(EvstoreError) -> (state: SignedState, ledger: [ForgottenLedger.Entry]) {
        try migrating {
            let log = site.log
            let ledger = try log.ledger()
            let keys = try log.readKeyFile()
            return try log.read { reader in
                let numbers = reader.stamp
                let history = try RegisteredRows.history(reader.rows(.schemas), in: site.store)
                // What begins above the versions that there are waits for its own.
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
