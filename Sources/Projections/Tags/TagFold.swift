internal import Bytes
package import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import SchemaEvolution
internal import Sealing

/// The index of tags as a fold. A row holds the positions of the events that have one tag, among 256 positions that follow each other:
///
///     key     0   16  code of the tag (`TagCodes`)
///             16   7  position / 256, big-endian
///     value           position % 256 of each event, a byte each, in their order
///
/// So a tag of each event costs it a byte, and one that few events have a row of its own; and an append rewrites at most 256 bytes.
final class TagFold: Fold {
    private let numbers: [Name: Int]
    private let readers: [TagReader]
    private let codes: TagCodes
    let readsStream: Bool

    init(_ tags: [(type: Name, tags: [TagTemplate])], _ codes: TagCodes) {
        numbers = [Name: Int](uniqueKeysWithValues: tags.enumerated().map { ($1.type, $0) })
        readers = tags.map { TagReader($0.tags) }
        self.codes = codes
        readsStream = readers.contains(where: \.readsStream)
    }

    var readsID: Bool { false }
    func rule(of type: String) -> Int? { numbers[type] }
    func reads(_ rule: Int) -> [JSONPointer]? { readers[rule].pointers }

    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let (reader, rule, position) = (readers[call.rule], call.rule, facts.position)
        if image.isWhole {
            try reader.forEachTag(of: image.payload, in: facts.stream, &workspace.tags) { (tag) throws(FoldError) in
                try codes.record(tag, at: position, rule, into: &operations)
            }
        } else {
            let places = image.places.extracting(droppingFirst: call.values)
            try reader.forEachTag(of: image.payload, at: places, in: facts.stream, &workspace.tags) { (tag) throws(FoldError) in
                try codes.record(tag, at: position, rule, into: &operations)
            }
        }
    }

    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome {
        let place = operation.byte(at: Operation.bodyStart(operation))
        // Two parts of an event, or two entries, may have given it one tag.
        if state.byteCount > 0, state.byte(at: state.byteCount - 1) == place { return .unchanged }
        workspace.output.removeAll()
        workspace.output.append(state)
        workspace.output.append(place)
        return .changed
    }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) { state.append(json) }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { json.append(state) }
}

/// Makes the codes by which the index knows tags: the first 16 bytes of SHA-256; in a sealed store of HMAC-SHA256 (RFC 2104), whose key is
/// derived from the store's, so that nobody without it can try out what tags there are.
package struct TagCodes: Sendable {
    package static let codeBytes = 16
    private let sealed: Authenticator?

    /// The codes of a log that is not sealed.
    static let plain = TagCodes()

    private init() { sealed = nil }

    package init(_ log: EventLog) { sealed = log.tagCodes }

    package func code(of tag: String) -> [UInt8] {
        var code = ByteBuffer(capacity: Self.codeBytes)
        let bytes = Array(tag.utf8)
        append(bytes.lent, to: &code)
        return code.array()
    }

    fileprivate func append(_ tag: RawSpan, to target: inout ByteBuffer) {
        if let sealed { return sealed.appendCode(of: tag, to: &target) }
        var hasher = SHA256Hasher()
        hasher.update(tag)
        target.append(hasher.finalize().bytes.lent.slice(0, Self.codeBytes))
    }

    /// Writes the operation that adds an event to the row of one of its tags.
    fileprivate func record(
        _ tag: RawSpan, at position: Position, _ rule: Int, into operations: inout OperationBuffer
    ) throws(FoldError) {
        operations.begin(rule: rule, mask: 1, position: position)
        append(tag, to: &operations.bytes)
        operations.bytes.append(chunk: TagChunk.number(of: position))
        try operations.endKey()
        operations.bytes.append(UInt8(truncatingIfNeeded: position.rawValue))
        operations.end()
    }
}

/// 256 positions that follow each other.
enum TagChunk {
    static let numberBytes = 7
    static let positions = UInt64(256)

    static func number(of position: Position) -> UInt64 { position.rawValue / positions }

    static func number(in key: [UInt8]) -> UInt64? {
        guard key.count == TagCodes.codeBytes + numberBytes else { return nil }
        return key[TagCodes.codeBytes...].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension ByteBuffer {
    /// Appends the number of a chunk, big-endian.
    mutating func append(chunk number: UInt64) {
        for byte in (0 ..< TagChunk.numberBytes).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * byte))) }
    }
}
