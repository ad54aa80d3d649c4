internal import Bytes
package import EventLog
package import EventModel
package import Hashing
package import SchemaEvolution

/// The format in which a store keeps version files and projections.
///
/// Catalogue `schemas`: version (u32, big-endian) -> digest of the version file (32 bytes), its canonical JSON. Catalogue `definitions`:
/// name of the projection in UTF-8, a zero byte, `since` (u32, big-endian) -> canonical JSON of the definition. `state.history` is SHA-256
/// over all these rows in the order of their keys, `schemas` first; each key and value is preceded by its length (u64).
package enum RegisteredRows {
    /// Writes version files and definitions to the store, replacing rows with equal keys, and updates `state.head` and `state.history`.
    package static func register(
        _ update: inout LogUpdate, versions: [VersionFile] = [], definitions: DefinitionSet = .empty
    ) throws {
        for version in versions {
            try update.put(.schemas, key(version.number), version.digest.bytes + version.canonical)
            update.state.head = max(update.state.head, version.number)
        }
        for definition in definitions.stored { try update.put(.definitions, key(definition), definition.json) }
        update.state.history = digest(schemas: try update.rows(.schemas), definitions: try update.rows(.definitions))
    }

    /// The registered history and definitions, as seen by an update.
    package static func registered(_ update: borrowing LogUpdate, in store: String) throws -> (history: History, definitions: DefinitionSet)
    {
        (try history(try update.rows(.schemas), in: store), try definitions(try update.rows(.definitions)))
    }

    package typealias Rows = [(key: [UInt8], value: [UInt8])]

    /// - Throws: `EvstoreError.storeDamaged` if a row is not what was written; `schemaNewer` if this program can't read it.
    package static func history(_ rows: Rows, in store: String) throws(EvstoreError) -> History {
        let stored = try rows.map { (row) throws(EvstoreError) in try version(row.key, row.value, in: store) }
        if stored.isEmpty { return .empty }
        let history = try History(stored: stored)
        for (version, row) in zip(history.versions, rows) where version.digest.bytes != Array(row.value.prefix(32)) {
            throw .storeDamaged(path: store, reason: "the registered \(version.number) does not have its digest")
        }
        return history
    }

    /// Parses a row of a version file without reading the file in it.
    /// - Throws: `EvstoreError.storeDamaged`.
    package static func version(_ key: [UInt8], _ value: [UInt8], in store: String) throws(EvstoreError) -> StoredVersion {
        guard key.count == 4, value.count > 32, (SchemaVersion(1) ... .largest).contains(number(key)) else {
            throw .storeDamaged(path: store, reason: "a row of the registered versions is malformed")
        }
        return StoredVersion(number: number(key), canonical: Array(value.dropFirst(32)))
    }

    package static func definitions(_ rows: Rows, in store: String = "definitions") throws(EvstoreError) -> DefinitionSet {
        try DefinitionSet(stored: rows.map { (row) throws(EvstoreError) in try definition(row.key, row.value, in: store) })
    }

    /// Parses a row of a projection's definition, and refuses one that no store has written.
    package static func definition(_ key: [UInt8], _ value: [UInt8], in store: String) throws(EvstoreError) -> StoredDefinition {
        guard key.count > 5, key[key.count - 5] == 0, let name = String(utf8: Array(key.dropLast(5)).lent),
            number(key.suffix(4)) <= .largest
        else { throw .storeDamaged(path: store, reason: "a row of the registered projections is malformed") }
        return StoredDefinition(name: name, since: number(key.suffix(4)), json: value)
    }

    /// Refuses registrations in a frame of a cluster log that no program could read.
    /// - Throws: `EvstoreError`: storeDamaged, schemaInvalid; schemaNewer if a newer program can read them.
    package static func judge(_ registered: RegisteredCatalogues) throws(EvstoreError) {
        _ = try history(registered.schemas, in: "the frame")
        _ = try definitions(registered.definitions, in: "the frame")
        guard digest(schemas: registered.schemas, definitions: registered.definitions) == registered.history else {
            throw .storeDamaged(path: "the frame", reason: "what is registered does not have its digest")
        }
    }

    package static func digest(schemas: Rows, definitions: Rows) -> Digest {
        var hasher = SHA256Hasher()
        for row in schemas + definitions {
            for part in [row.key, row.value] {
                hasher.update(UInt64(part.count))
                hasher.update(part)
            }
        }
        return hasher.finalize()
    }

    package static func key(_ version: SchemaVersion) -> [UInt8] {
        (0 ..< 4).map { UInt8(truncatingIfNeeded: version.rawValue >> UInt32(24 - $0 * 8)) }
    }

    package static func key(_ definition: StoredDefinition) -> [UInt8] { Array(definition.name.utf8) + [0] + key(definition.since) }

    private static func number(_ key: some Collection<UInt8>) -> SchemaVersion {
        SchemaVersion(rawValue: key.reduce(0) { $0 << 8 | UInt32($1) })
    }
}
