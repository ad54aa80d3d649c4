package import EventLog
public import EventModel
package import Migration
internal import Projections
internal import Sealing

/// Changes the keys of a sealed store, and adds a row without secrets to the journal after each change.
package enum Keys {
    /// Lists slots, then data keys, each by number; empty where events are not sealed.
    package static func list(_ log: EventLog) -> [StoreKey] {
        guard let file = log.keyFile else { return [] }
        return (file.slots.sorted { $0.id < $1.id } + file.dataKeys.sorted { $0.id < $1.id }).map { StoreKey($0, file) }
    }

    /// Adds a slot, so that another secret opens the store; returns it.
    /// - Throws: `EvstoreError`: keysRefused, usage, readOnly, diskFull.
    package static func add(
        _ context: MigrationContext, _ secret: StoreSecret, _ derivation: KeyDerivation?, label: String
    ) async throws(EvstoreError) -> StoreKey {
        let stretching = try stretching(secret, derivation)
        guard label.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) else {
            throw .usage("a label is printed beside its key: it has no control characters")
        }
        let id = try converting {
            try context.log.changeKeys { ring throws(SealError) in
                try ring.addSlot(.new(secret), stretching, label: label, time: Timestamp.now.microseconds)
            }
        }
        return try await noted("add", .slot, id, context)
    }

    /// Makes a data key, and seals events under it from now on; returns it.
    /// - Throws: `EvstoreError`: keysRefused, readOnly, diskFull.
    package static func rotate(_ context: MigrationContext, _ suite: CipherSuite) async throws(EvstoreError) -> StoreKey {
        let id = try converting {
            try context.log.changeKeys { ring throws(SealError) in try ring.rotate(suite.sealing, time: Timestamp.now.microseconds) }
        }
        return try await noted("rotate to", .data, id, context)
    }

    /// Removes a key that no event of the log needs; returns it.
    /// - Throws: `EvstoreError`: keyNeeded, usage where there is none, locked, keysRefused, readOnly, interrupted.
    package static func retire(_ context: MigrationContext, _ kind: StoreKey.Kind, _ id: UInt32) async throws(EvstoreError) -> StoreKey {
        // Order: the store is held alone first, since another process that has it open may still seal events under an older data key.
        if kind == .data { try converting { try context.log.acquireExclusively(what: context.job.name) } }
        defer { if kind == .data { context.log.shareAgain() } }
        return try await retireAlone(context, kind, id)
    }

    private static func retireAlone(
        _ context: MigrationContext, _ kind: StoreKey.Kind, _ id: UInt32
    ) async throws(EvstoreError) -> StoreKey {
        let keys = list(context.log)
        guard let key = keys.first(where: { $0.kind == kind && $0.id == id }) else {
            throw .usage("there is no \(kind == .slot ? "slot" : "data key") \(id)", fix: "see: \(.listKeys)")
        }
        if kind == .slot, keys.filter({ $0.kind == .slot }).count == 1 {
            throw .keyNeeded(
                what: "slot \(id) is the only one: without it nobody can open the store", how: "make another one first: \(.addKey)")
        }
        if key.isWriting {
            throw .keyNeeded(
                what: "data key \(id) is the one that events are sealed under", how: "make another one first: \(.rotateKey)")
        }
        if kind == .data { try checkUnused(context, id) }
        try converting {
            try context.log.changeKeys { ring throws(SealError) in try ring.retire(kind == .slot ? .slot : .dataKey, id) }
        }
        try await note("retire", kind, id, context)
        return key
    }

    private static func checkUnused(_ context: MigrationContext, _ id: UInt32) throws(EvstoreError) {
        let last = try context.last().position.rawValue
        let used = try converting {
            try context.log.dataKeysInUse { position in
                try context.job.advance("keys", done: position.rawValue, total: last)
            }
        }
        if used.contains(id) {
            throw .keyNeeded(
                what: "events of the log are sealed under data key \(id)",
                how: "make a store whose events are sealed under new keys: \(.recipher)")
        }
    }

    /// How a secret is stretched: only passphrases are, since a key file holds 32 random bytes.
    private static func stretching(_ secret: StoreSecret, _ derivation: KeyDerivation?) throws(EvstoreError) -> Stretching {
        switch (secret.kind, derivation) {
        case (.key, nil): return .none
        case (.key, .some): throw .usage("a key file is not stretched: only a passphrase has a derivation")
        case (.passphrase, nil), (.passphrase, .scrypt): return .standard
        case (.passphrase, .pbkdf2): return .pbkdf2(rounds: Stretching.rounds)
        }
    }

    private static func noted(
        _ what: String, _ kind: StoreKey.Kind, _ id: UInt32, _ context: MigrationContext
    ) async throws(EvstoreError) -> StoreKey {
        try await note(what, kind, id, context)
        guard let key = list(context.log).first(where: { $0.kind == kind && $0.id == id }) else {
            throw .storeDamaged(path: context.store, reason: "its keys were written and are not there")
        }
        return key
    }

    private static func note(_ what: String, _ kind: StoreKey.Kind, _ id: UInt32, _ context: MigrationContext) async throws(EvstoreError) {
        let outcome = "\(what) \(kind.rawValue) \(id)"
        try await context.log.changing { update in
            try Journal.append(.init(.key, position: update.last.position, outcome: outcome), to: &update)
        }
    }
}

extension StoreKey {
    fileprivate init(_ entry: KeyFile.Entry, _ file: KeyFile) {
        let isSlot = entry.kind == .slot
        let opener = entry.stretching == .none ? "key file" : entry.stretching.name
        self.init(
            kind: isSlot ? .slot : .data, id: entry.id, openedBy: isSlot ? opener : nil,
            suite: isSlot ? nil : entry.suite == .gcm ? .gcm : .cbcWithHMAC, created: Timestamp(microseconds: entry.created),
            label: entry.label,
            isWriting: !isSlot && entry.id == file.writing)
    }
}

extension CipherSuite {
    var sealing: Suite { self == .gcm ? .gcm : .cbcWithHMAC }
}

/// The public description of one of a sealed store's keys, without its secret part.
public struct StoreKey: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Holds the master key, wrapped under a key file or a passphrase.
        case slot
        /// Events are sealed under it; the master key opens it.
        case data
    }

    public var kind: Kind
    /// The key's number among those of its kind.
    public var id: UInt32
    /// The kind of secret that opens a slot: `key file`, or the derivation of a passphrase, such as `scrypt`. Nil for a data key.
    public var openedBy: String?
    /// Nil for a slot.
    public var suite: CipherSuite?
    public var created: Timestamp
    /// A slot's label; empty where none was given, and for a data key.
    public var label: String
    /// Whether it is the data key that events are sealed under from now on.
    public var isWriting: Bool
}

/// How events are encrypted and authenticated.
public enum CipherSuite: String, Hashable, Sendable, CaseIterable {
    case gcm = "aes-256-gcm"
    /// For systems without GCM: every store can open it, and a store writes it only on request.
    case cbcWithHMAC = "aes-256-cbc-hmac-sha256"
}

/// How a passphrase becomes a key.
public enum KeyDerivation: String, Hashable, Sendable, CaseIterable {
    /// RFC 7914 with 128 MiB.
    case scrypt
    /// RFC 8018 with 600,000 rounds: where scrypt may not be used.
    case pbkdf2 = "pbkdf2-sha256"
}

/// The result of reciphering a store.
public struct RecipherReport: Hashable, Sendable {
    /// The position of the last event.
    public var position: Position
    /// SHA-256 over the events, in hexadecimal: equal in both stores.
    public var content: String
    /// The size of the new log.
    public var bytes: UInt64
    /// How long it took.
    public var duration: Duration
}
