internal import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import JSONText
internal import Platform

/// The header of a generation: one row of its table `meta` under the key `generation`, as JSON.
package struct GenerationHeader: Hashable, Sendable {
    package var projection: String
    package var fingerprint: Digest
    package var storeID: StoreID
    /// The version for which it was built; all versions at which the projection has an equal fingerprint share it.
    package var version: SchemaVersion
    package var checkpoint: Checkpoint
    package var rows: UInt64 = 0
    package var quarantined: UInt64 = 0
    /// The digest over all rows (`SetDigest`).
    package var digest = SetDigest().digest
    /// False until the transaction that completes its build.
    package var isReady = false

    /// The format of generations whose rows are sealed under a key of their own; also the newest format that this program reads.
    package static let sealedFormat = 4

    /// The format of new generations. Existing ones of format 1, and sealed ones of format 3, are kept as they are.
    package static func format(isSealed: Bool) -> Int { isSealed ? sealedFormat : 2 }

    func json(format: Int) -> JSONValue {
        .object([
            .init(name: "format", value: .number(String(format))),
            .init(name: "projection", value: .string(projection)),
            .init(name: "fingerprint", value: .string(fingerprint.hex)),
            .init(name: "store", value: .string(storeID.description)),
            .init(name: "version", value: .number(String(version.rawValue))),
            .init(name: "epoch", value: .number(String(checkpoint.epoch.rawValue))),
            .init(name: "position", value: .number(String(checkpoint.position.rawValue))),
            .init(name: "rows", value: .number(String(rows))),
            .init(name: "quarantined", value: .number(String(quarantined))),
            .init(name: "digest", value: .string(digest.hex)),
            .init(name: "ready", value: .bool(isReady)),
        ])
    }
}

extension GenerationHeader {
    init(_ text: RawSpan, _ expected: Int, in directory: String) throws(EvstoreError) {
        let damaged = EvstoreError.storeDamaged(path: directory, reason: "the header of the generation is malformed")
        let json: JSONValue
        do { json = try JSONValue(parsing: text) } catch { throw damaged }
        func number<T: FixedWidthInteger>(_ name: String, _ type: T.Type) throws(EvstoreError) -> T {
            // No read model has consumed or contains more than a log can hold.
            guard case .number(let text)? = json[name], let value = T(text), value <= Position.largest.rawValue else { throw damaged }
            return value
        }
        func string(_ name: String) throws(EvstoreError) -> String {
            guard case .string(let text)? = json[name] else { throw damaged }
            return text
        }
        let format = try number("format", Int.self)
        guard format <= Self.sealedFormat else { throw .storeNewer(path: directory, format: format, known: Self.sealedFormat) }
        guard format == expected, let fingerprint = Digest(hex: try string("fingerprint")), let digest = Digest(hex: try string("digest")),
            let storeID = StoreID(hex: try string("store")), case .bool(let isReady)? = json["ready"]
        else { throw damaged }
        self.init(
            projection: try string("projection"), fingerprint: fingerprint, storeID: storeID,
            version: SchemaVersion(rawValue: try number("version", UInt32.self)),
            checkpoint: Checkpoint(
                epoch: Epoch(try number("epoch", UInt32.self)), position: Position(try number("position", UInt64.self))),
            rows: try number("rows", UInt64.self), quarantined: try number("quarantined", UInt64.self), digest: digest, isReady: isReady)
    }
}

/// Caches the last header with its text: most queries find it unchanged and need not parse it.
final class KnownHeader: Sendable {
    private let last = Monitor<(text: [UInt8], header: GenerationHeader)?>(nil)

    func header(of text: RawSpan, _ parse: () throws -> GenerationHeader) throws -> GenerationHeader {
        let known = last.withLock { last in last.flatMap { text.equals($0.text.lent) ? $0.header : nil } }
        if let known { return known }
        let header = try parse()
        last.withLock { $0 = ([UInt8](copying: text), header) }
        return header
    }
}
