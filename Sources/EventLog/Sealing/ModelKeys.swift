internal import Bytes
internal import EventModel
internal import LMDB
internal import Platform
package import Sealing

/// The keys of one generation of a read model, in a store whose events are sealed.
///
/// They are derived from the generation's own key. That key lies in the generation's directory, in a file `key`, wrapped under the master
/// key, so that retiring a data key does not affect it; it is overwritten before the generation is removed. Integers are little-endian:
///
///     0   u32  "evg" and the format, 1
///     4   12   zero
///     16  64   the key (`WrappedKey`), wrapped with store id and the name of the generation
///     80       zeros up to 4,096: a file system may store a shorter file with its metadata, and its journal keeps copies of those
///
/// Generations of format 3 have no such file: their keys are derived from the master key and can't be overwritten.
package struct ModelKeys: Sendable {
    private let key: SecretKey
    private let context: [UInt8]

    package init(_ key: SecretKey, _ storeID: StoreID, _ generation: String) {
        (self.key, context) = (key, storeID.bytes + Array(generation.utf8))
    }

    /// Seals the values of a table. Its key is HKDF-SHA256 (RFC 5869) of the generation's key; the info is store id, name of the
    /// generation, 0, name of the table.
    package func sealer(ofTable name: String) -> ValueSealer {
        ValueSealer(key.derived(salt: [], info: context + [0] + Array(name.utf8)))
    }

    static let fileName = "key"
    fileprivate static let head: [UInt8] = Array("evg".utf8) + [1] + [UInt8](repeating: 0, count: 12)
    fileprivate static let bytes = 4_096
    fileprivate static let wrapped = head.count ..< head.count + WrappedKey.byteCount
    fileprivate static let purpose = "generations"
}

extension EventLog {
    /// The keys of a generation of format 3; nil where the log's events are not sealed.
    package func derivedModelKeys(of generation: String) -> ModelKeys? {
        access.keys.map { ModelKeys($0.key(for: "models"), storeID, generation) }
    }

    /// Makes the keys of a new generation; nil where the log's events are not sealed. The key is durable on return, and its file's name
    /// once the directory is synced.
    package func makeModelKeys(of generation: String, in directory: String) throws -> ModelKeys? {
        guard let ring = access.keys?.subjects.ring else { return nil }
        let key = SecretKey.random()
        let wrapped: [UInt8]
        do throws(SealError) { wrapped = try ring.wrap(key, for: ModelKeys.purpose, place(of: generation)) } catch {
            throw EvstoreError.misuse("a key can't be wrapped: \(error.reason)")
        }
        let rest = [UInt8](repeating: 0, count: ModelKeys.bytes - ModelKeys.head.count - wrapped.count)
        let file = try File(directory + "/" + ModelKeys.fileName, .createNew)
        try file.write(ModelKeys.head + wrapped + rest)
        try file.sync()
        return ModelKeys(key, storeID, generation)
    }

    /// The keys of a generation, from its directory; nil where the log's events are not sealed.
    /// - Throws: `EvstoreError.storeDamaged` where the key is gone.
    package func modelKeys(of generation: String, in directory: String) throws -> ModelKeys? {
        guard let ring = access.keys?.subjects.ring else { return nil }
        let path = directory + "/" + ModelKeys.fileName
        let bytes = try Directory.ownStatus(path) == nil ? [] : try File(path, .read).read(ModelKeys.bytes)
        do throws(SealError) {
            guard bytes.count == ModelKeys.bytes else { throw SealError.damaged("is missing") }
            guard bytes.starts(with: ModelKeys.head) else { throw SealError.damaged("is not a key file, or was overwritten") }
            let key = try ring.unwrap(Array(bytes[ModelKeys.wrapped]), for: ModelKeys.purpose, place(of: generation))
            return ModelKeys(key, storeID, generation)
        } catch { throw EvstoreError.storeDamaged(path: directory, reason: "its key \(error.reason)") }
    }

    /// Makes the codes by which an index of tags knows them, of a key that every generation shares; nil where the log's events are not
    /// sealed.
    package var tagCodes: Authenticator? { access.keys?.subjects.ring.authenticator(for: "tags") }

    private func place(of generation: String) -> [UInt8] { storeID.bytes + Array(generation.utf8) }
}
