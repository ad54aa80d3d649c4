internal import Bytes
internal import EventModel
internal import LMDB

/// What one commit adds to the log, built up append by append. An append is checked completely
/// before anything of it is taken in, so that a refused one leaves no trace.
struct Admission {
    let moment: Moment
    let access: LogAccess
    /// The entries of the events taken in so far.
    private(set) var entries = IndexEntries()
    /// Types met for the first time, which have no row yet.
    private(set) var newTypes: [(name: String, id: TypeID)] = []
    private(set) var next: Position
    private let first: Position
    private let time: Timestamp
    /// The jump positions of the events taken in, from `first` on.
    private var jumps: [Position] = []
    private var typesCount: TypeID

    init(_ moment: Moment, _ access: LogAccess, _ transaction: borrowing ReadTransaction, time: Timestamp) throws {
        (self.moment, self.access, self.time) = (moment, access, time)
        (first, next) = (moment.last.next, moment.last.next)
        typesCount = TypeID(try transaction.count(access.tables.types))
    }

    /// Checks an append against the log and everything taken in before it, and takes it in: ids
    /// first, then conditions, then positions.
    mutating func admit(
        _ request: AppendRequest, _ writer: inout BlockWriter, _ memory: inout StreamMemory, _ random: inout Randomness,
        _ transaction: inout WriteTransaction
    ) throws -> AppendOutcome {
        if let validated = request.validated, validated != moment.numbers.stamp { return .revalidate }
        if let known = try knownPosition(request, transaction.reads) { return .known(known) }
        for condition in request.conditions { try check(condition, &memory, transaction.reads) }
        return .appended(try takeIn(request, &writer, &memory, &random, &transaction))
    }

    // MARK: Ids

    private func knownPosition(_ request: AppendRequest, _ transaction: borrowing ReadTransaction) throws -> Position? {
        var given: Set<EventID> = []
        for (index, event) in request.events.enumerated() {
            guard let id = event.id else { continue }
            if !given.insert(id).inserted { throw EvstoreError.idReused(id: id, position: next) }
            guard let position = try position(of: id, transaction) else { continue }
            if index == 0 { return position }
            throw EvstoreError.idReused(id: id, position: position)
        }
        return nil
    }

    private func position(of id: EventID, _ transaction: borrowing ReadTransaction) throws -> Position? {
        let key = IDKey(id)
        if let position = entries.ids[key] { return Position(position) }
        guard let position = try moment.position(key, transaction, access) else { return nil }
        // A hash may stand for two texts: only the record itself tells.
        guard let block = try Blocks.holding(position, transaction, access) else { throw Indexes.damaged("ids") }
        return block.record(Int(position.rawValue - block.first.rawValue)).id == id ? position : nil
    }

    // MARK: Conditions

    private func check(
        _ condition: StreamCondition, _ memory: inout StreamMemory, _ transaction: borrowing ReadTransaction
    ) throws {
        if condition.expectation == .any { return }
        let stream = try streamID(condition.stream.text, &memory, transaction)
        let actual = try stream.flatMap { try head($0, transaction) }?.revision
        let holds =
            switch condition.expectation {
            case .any: true
            case .noStream: actual == nil
            case .exists: actual != nil
            case .revision(let revision): actual == revision
            }
        if !holds {
            throw EvstoreError.expectationFailed(stream: condition.stream, expected: condition.expectation, actual: actual)
        }
    }

    private func streamID(
        _ name: String, _ memory: inout StreamMemory, _ transaction: borrowing ReadTransaction
    ) throws -> UInt64? {
        if let id = entries.streams[name] ?? memory[name] { return id }
        guard let id = try moment.streamID(name, transaction, access) else { return nil }
        memory.remember(name, id)
        return id
    }

    /// A stream's head with everything taken in so far.
    func head(_ stream: UInt64, _ transaction: borrowing ReadTransaction) throws -> StreamHead? {
        try entries.heads[stream] ?? moment.head(stream, transaction, access)
    }

    // MARK: Positions

    private mutating func takeIn(
        _ request: AppendRequest, _ writer: inout BlockWriter, _ memory: inout StreamMemory, _ random: inout Randomness,
        _ transaction: inout WriteTransaction
    ) throws -> AppendReceipt {
        let begin = next
        var firstID = request.events.first?.id
        var last = (stream: request.events.last?.stream, revision: Revision.first)
        for (index, event) in request.events.enumerated() {
            let id = try streamID(event.stream.text, &memory, transaction.reads)
            let before = try id.flatMap { try head($0, transaction.reads) }
            let made = event.id == nil ? EventID.makeUUID(at: time, using: &random) : nil
            if index == 0, let made { firstID = EventID(uuid: made) }
            let stream = id ?? next.rawValue
            let jump = if let before { try jump(after: before, transaction.reads) } else { Position.start }
            let place = BlockWriter.Place(
                stream: stream, revision: before.map { $0.revision.rawValue + 1 } ?? 0, previous: before?.position.rawValue ?? 0,
                jump: jump.rawValue, type: try type(event.type, transaction.reads), isSameAppend: index > 0, madeID: made)
            try writer.add(event, place) { try transaction.append(access.tables.blocks, bytes($0.rawValue).lent, $1) }
            note(event, place)
            last.revision = Revision(place.revision)
        }
        guard let firstID, let stream = last.stream else { throw EvstoreError.misuse("an append needs at least one event") }
        return AppendReceipt(
            positions: begin.rawValue ... next.rawValue - 1, stream: stream, revision: last.revision, id: firstID,
            epoch: moment.epoch, duplicate: false)
    }

    private mutating func note(_ event: StoredEvent, _ place: BlockWriter.Place) {
        let position = next
        entries.heads[place.stream] = StreamHead(
            revision: Revision(place.revision), position: position, jump: Position(place.jump))
        if place.revision == 0 { entries.streams[event.stream.text] = position.rawValue }
        if let id = event.id { entries.ids[IDKey(id)] = position.rawValue }
        entries.census[IndexEntries.Kind(type: place.type, born: event.born.rawValue), default: 0] += 1
        entries.events += 1
        jumps.append(Position(place.jump))
        next = position.next
    }

    /// Where the jump pointer of the event after `head` leads.
    private func jump(after head: StreamHead, _ transaction: borrowing ReadTransaction) throws -> Position {
        guard JumpList.isMerging(head.revision.rawValue + 1) else { return head.position }
        if head.jump >= first { return jumps[Int(head.jump.rawValue - first.rawValue)] }
        guard let block = try Blocks.holding(head.jump, transaction, access) else { throw Indexes.damaged("heads") }
        return block.record(Int(head.jump.rawValue - block.first.rawValue)).jump
    }

    private mutating func type(_ name: String, _ transaction: borrowing ReadTransaction) throws -> TypeID {
        if let id = access.names.id(of: name) ?? newTypes.first(where: { $0.name == name })?.id { return id }
        if let id = try Indexes.type(name, transaction, access.tables) {
            access.names.learn(id, name)
            return id
        }
        typesCount += 1
        newTypes.append((name, typesCount))
        return typesCount
    }
}
