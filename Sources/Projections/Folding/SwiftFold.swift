internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A projection in Swift as a fold: its states are the rows' JSON texts, and its operations contain the whole event.
final class SwiftFold: Fold {
    let projection: any SwiftProjection
    private let numbers: [Name: Int]

    init(_ projection: any SwiftProjection) {
        self.projection = projection
        numbers = [Name: Int](uniqueKeysWithValues: projection.consumes.sorted().enumerated().map { (Name($1), $0) })
    }

    func rule(of type: String) -> Int? { numbers[type] }
    var readsStream: Bool { true }
    var readsID: Bool { true }
    func reads(_ rule: Int) -> [JSONPointer]? { nil }

    func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace,
        into operations: inout OperationBuffer
    ) throws(FoldError) {
        let event = RecordedEvent(
            epoch: facts.epoch, position: facts.position, stream: StreamName(unchecked: facts.stream), revision: facts.revision,
            type: facts.type, payload: [UInt8](copying: image.payload), metadata: [UInt8](copying: call.metadata),
            id: facts.id ?? EventID(unchecked: ""), time: facts.time, born: facts.born, version: facts.version, part: facts.part)
        let keys: [String]
        do { keys = try projection.keys(of: event) } catch { throw FoldError("\(error)") }
        for key in keys {
            operations.begin(rule: call.rule, mask: 1, position: facts.position)
            operations.bytes.append(key)
            try operations.endKey()
            EventCoding.append(event, into: &operations.bytes)
            operations.end()
        }
    }

    func apply(_ operation: RawSpan, to state: RawSpan, _ workspace: inout FoldWorkspace) throws(FoldError) -> FoldOutcome {
        let keyCount = Operation.keyCount(operation)
        let key = String(utf8: operation.slice(Operation.headerBytes, keyCount)) ?? ""
        let event = EventCoding.event(operation, at: Operation.bodyStart(operation))
        workspace.output.removeAll()
        do { return try run(projection, event, key, state, &workspace) } catch let error as FoldError { throw error } catch {
            throw FoldError("\(error)")
        }
    }

    private func run<P: SwiftProjection>(
        _ projection: P, _ event: RecordedEvent, _ key: String, _ state: RawSpan, _ workspace: inout FoldWorkspace
    )
        throws -> FoldOutcome
    {
        var row: P.Row?
        if state.byteCount > 0 { row = try SwiftValues.rows.decode(P.Row.self, from: [UInt8](copying: state), hasUniqueNames: true) }
        try projection.apply(event, key: key, to: &row)
        guard let row else { return state.byteCount > 0 ? .deleted : .unchanged }
        let text = try SwiftValues.rows.encode(row)
        guard text.first == UInt8(ascii: "{") else { throw FoldError("a row must be encoded as an object") }
        workspace.output.append(text)
        return .changed
    }

    func open(_ json: RawSpan, into state: inout ByteBuffer, _ workspace: inout FoldWorkspace) throws(FoldError) { state.append(json) }

    func render(_ state: RawSpan, into json: inout ByteBuffer) { json.append(state) }
}

/// The format of an event inside an operation, little-endian: epoch (u32), revision (u64), time (i64), born (u32), version (u32), part
/// (u32), then type, stream, id, payload and metadata, each preceded by its size (u32).
private enum EventCoding {
    static func append(_ event: RecordedEvent, into bytes: inout ByteBuffer) {
        bytes.append(littleEndian: event.epoch.rawValue)
        bytes.append(littleEndian: event.revision.rawValue)
        bytes.append(littleEndian: event.time.microseconds)
        bytes.append(littleEndian: event.born.rawValue)
        bytes.append(littleEndian: event.version.rawValue)
        bytes.append(littleEndian: UInt32(event.part))
        for text in [Array(event.type.utf8), Array(event.stream.text.utf8), Array(event.id.text.utf8), event.payload, event.metadata] {
            bytes.append(littleEndian: UInt32(text.count))
            bytes.append(text)
        }
    }

    static func event(_ operation: RawSpan, at start: Int) -> RecordedEvent {
        var offset = start + 32
        func next() -> [UInt8] {
            let count = Int(operation.load(UInt32.self, at: offset))
            defer { offset += 4 + count }
            return [UInt8](copying: operation.slice(offset + 4, count))
        }
        func text() -> String { String(decoding: next(), as: UTF8.self) }
        let (type, stream, id) = (text(), text(), text())
        return RecordedEvent(
            epoch: Epoch(operation.load(UInt32.self, at: start)), position: Operation.position(operation),
            stream: StreamName(unchecked: stream), revision: Revision(operation.load(UInt64.self, at: start + 4)), type: type,
            payload: next(), metadata: next(), id: EventID(unchecked: id),
            time: Timestamp(microseconds: operation.load(Int64.self, at: start + 12)),
            born: SchemaVersion(rawValue: operation.load(UInt32.self, at: start + 20)),
            version: SchemaVersion(rawValue: operation.load(UInt32.self, at: start + 24)),
            part: Int(operation.load(UInt32.self, at: start + 28)))
    }
}
