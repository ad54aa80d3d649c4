package import EventLog
package import EventModel
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
                try context.job.check()
                context.job.report("keys", done: position.rawValue, total: last)
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
        self.init(
            kind: isSlot ? .slot : .data, id: entry.id, openedBy: isSlot ? entry.stretching.words : nil,
            suite: isSlot ? nil : entry.suite == .gcm ? .gcm : .cbcWithHMAC, created: Timestamp(microseconds: entry.created),
            label: entry.label,
            isWriting: !isSlot && entry.id == file.writing)
    }
}

extension Stretching {
    fileprivate var words: String { self == .none ? "key file" : name }
}

extension CipherSuite {
    var sealing: Suite { self == .gcm ? .gcm : .cbcWithHMAC }
}
