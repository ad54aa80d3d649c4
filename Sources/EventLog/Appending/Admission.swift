internal import Bytes
internal import EventModel
internal import LMDB

/// The additions of one commit to the log, built up append by append. An append is checked completely before any part of it is admitted, so
/// that a refused one leaves no trace.
struct Admission: ~Copyable {
    /// The log before the commit.
    let moment: LogSnapshot
    private let access: LogAccess
    /// The result of each append, if the commit is made.
    private(set) var outcomes: [Result<AppendOutcome, any Error>] = []
    /// The rows that appends write beside their events.
    private(set) var rows: [AttachedRow] = []
    /// The newest transaction of LMDB, first before and then after the commit.
    var transaction: UInt64
    /// Whether the commit, or a checkpoint before it, moves how far the indexes are written.
    var hasSwept = false
    /// New types, which have no row yet.
    private(set) var newTypes: [(name: String, id: TypeID)] = []
    private(set) var next: Position
    /// The first position after the end of the log.
    let first: Position
    private let time: Timestamp
    /// The jump positions of the admitted events, from `first` on.
    private var jumps: [Position] = []
    /// The index entries of the admitted events, beside the heads of their streams.
    private var begun: [(name: String, id: UInt64)] = []
    private var ids: [IDKey: UInt64] = [:]
    private var census = CensusCount()
    /// The indexes, in the table of streams, of the streams of the append that was checked last.
    private var found: [Int] = []
    /// A batch of names that fits, with their entries, into the processor's nearest cache.
    private static let foundTogether = 64
    /// Whether the rows of streams were found to be complete.
    private var knowsStreams = false
    private var lastType: (name: String, id: TypeID) = ("", 0)
    /// How many types the log has; nil until a new one comes.
    private var typesCount: TypeID?

    init(_ moment: LogSnapshot, _ access: LogAccess, _ transaction: borrowing ReadTransaction, time: Timestamp) throws {
        try moment.overlay.look(asOf: moment.last, transaction, access) { _ in }
        (self.moment, self.access, self.transaction, self.time) = (moment, access, UInt64(transaction.id), time)
        (first, next) = (moment.last.next, moment.last.next)
    }

    var count: Int { Int(clamping: next.events(after: first)) }

    /// The end of the log after the commit.
    var last: Checkpoint { Checkpoint(epoch: moment.epoch, position: next.previous) }

    /// Checks the first append that has no outcome yet, and takes it in unless it is refused. An error here fails the whole commit.
    /// - Returns: false where the commit has to end before this append, which is judged by what the commit adds to the log.
    mutating func admit(
        nextOf appends: [CommitQueue.Append], _ making: inout BlockAssembler, _ streams: inout StreamTable,
        _ transaction: borrowing ReadTransaction
    ) throws -> Bool {
        let request = appends[outcomes.count].request
        var refused: AppendOutcome?
        do {
            refused = try check(request, &streams, transaction)
            if refused == nil, let judge = request.judge {
                switch try verdict(of: judge, behind: appends) {
                case .holds: break
                case .tooMuch: refused = .revalidate
                case .needsLog: return false
                }
            }
        } catch let error as EvstoreError {
            outcomes.append(.failure(error))
            return true
        }
        if let refused {
            outcomes.append(.success(refused))
            return true
        }
        let receipt = try takeIn(request, &making, &streams, transaction)
        for row in request.rows { try add(row, last: receipt.position, transaction) }
        outcomes.append(.success(.appended(receipt)))
        return true
    }

    /// Refuses appends without a check.
    mutating func refuse(_ appends: ArraySlice<CommitQueue.Append>, _ error: any Error) {
        outcomes += appends.map { _ in .failure(error) }
    }

    /// Checks an append against the log and everything admitted before it, first ids, then conditions on streams. Returns its outcome if it
    /// is not to be admitted, else nil.
    private mutating func check(
        _ request: AppendRequest, _ streams: inout StreamTable, _ transaction: borrowing ReadTransaction
    ) throws -> AppendOutcome? {
        if let validated = request.validated, validated != moment.numbers.stamp { return .revalidate }
        if let known = try knownPosition(request, transaction) { return .known(known) }
        for condition in request.conditions { try check(condition, &streams, transaction) }
        found.removeAll(keepingCapacity: true)
        let events = request.events.span
        for start in stride(from: 0, to: events.count, by: Self.foundTogether) {
            let range = start ..< min(start + Self.foundTogether, events.count)
            streams.find(events, range, into: &found)
            for index in range where !streams.isCurrent(found[index]) {
                try learn(found[index], events[index].stream, &streams, transaction)
            }
        }
        if let subjects = access.keys?.subjects, subjects.mayRefuseNew {
            // An append whose key is refused leaves the others of its commit alone.
            for index in events.indices where !events[index].forgotten.isEmpty { _ = try subjects.key(for: events[index].stream) }
        }
        return nil
    }

    // MARK: Ids

    private func knownPosition(_ request: AppendRequest, _ transaction: borrowing ReadTransaction) throws -> Position? {
        var given: Set<EventID> = []
        let events = request.events.span
        for index in events.indices {
            guard let id = events[index].id else { continue }
            if !given.insert(id).inserted { throw EvstoreError.idReused(id: id, position: nil) }
            guard let position = try position(of: id, transaction) else { continue }
            if index == 0 { return position }
            throw EvstoreError.idReused(id: id, position: position)
        }
        return nil
    }

    private func position(of id: EventID, _ transaction: borrowing ReadTransaction) throws -> Position? {
        let key = IDKey(id)
        if let position = ids[key] { return Position(position) }
        guard let position = try moment.position(key, transaction, access) else { return nil }
        // Two texts may have the same hash: the record decides.
        guard let record = try Blocks.record(at: position, transaction, access) else { throw Indexes.damaged("ids") }
        return record.id == id ? position : nil
    }

    // MARK: Conditions

    private mutating func check(
        _ condition: StreamCondition, _ streams: inout StreamTable, _ transaction: borrowing ReadTransaction
    ) throws {
        if let seen = condition.asOf, seen.epoch != moment.epoch,
            let cut = try seen.cutOff(by: Epochs.all(transaction, access.tables))
        {
            throw EvstoreError.epochChanged(seen: seen, cut: cut)
        }
        if condition.expectation == .any { return }
        let actual = streams[try stream(condition.stream, &streams, transaction)].head?.revision
        let holds =
            switch condition.expectation {
            case .any: true
            case .noStream: actual == nil
            case .exists: actual != nil
            case .revision(let revision): actual == revision
            }
        if !holds { throw EvstoreError.expectationFailed(stream: condition.stream, expected: condition.expectation, actual: actual) }
    }

    private enum Verdict {
        case holds
        /// It would take too long for the turn, or a cut has come meanwhile.
        case tooMuch
        /// The log has to have the appends that were admitted before.
        case needsLog
    }

    /// Judges what came since an append's conditions over queries were judged: the log's last events, and the appends that were admitted
    /// before this one.
    /// - Throws: `EvstoreError.conditionFailed`.
    private func verdict(of judge: any ConditionJudge, behind appends: [CommitQueue.Append]) throws -> Verdict {
        let seen = judge.through
        guard seen.epoch == moment.epoch, next.previous.events(after: seen.position) <= judge.eventsInTurnMax else { return .tooMuch }
        if moment.last > seen.position {
            try judge.judge(in: LogReader(transaction: access.environment.beginRead(), access: access, moment: moment))
        }
        for (append, outcome) in zip(appends, outcomes) {
            guard case .success(.appended(let receipt)) = outcome else { continue }
            if try !judge.judge(append.request.events, from: Position(receipt.positions.lowerBound)) { return .needsLog }
        }
        return .holds
    }

    /// The index of a stream's entry, whose head includes everything admitted so far.
    private mutating func stream(_ name: StreamName, _ streams: inout StreamTable, _ transaction: borrowing ReadTransaction) throws -> Int {
        let index = streams.index(of: name.text)
        if !streams.isCurrent(index) { try learn(index, name, &streams, transaction) }
        return index
    }

    private mutating func learn(
        _ index: Int, _ name: StreamName, _ streams: inout StreamTable, _ transaction: borrowing ReadTransaction
    ) throws {
        let known = streams[index].id
        let id = known > 0 ? known : try moment.streamID(name.text, transaction, access)
        if id == nil, !knowsStreams {
            // Checked once for a commit, which removes no rows: an existing stream that is not found would be begun a second time.
            try Indexes.requireStreams(transaction, access.tables)
            knowsStreams = true
        }
        let head = try id.flatMap { try moment.knownHead($0, transaction, access) }
        streams.learn(index, id, head)
    }

    // MARK: Positions

    /// Gives the events of a checked append their positions and revisions, and adds the blocks that are complete.
    private mutating func takeIn(
        _ request: AppendRequest, _ making: inout BlockAssembler, _ streams: inout StreamTable, _ transaction: borrowing ReadTransaction
    ) throws -> AppendReceipt {
        let begin = next
        let events = request.events.span
        var firstMade: (UInt64, UInt64) = (0, 0)
        var revision: UInt64 = 0
        jumps.reserveCapacity(jumps.count + events.count)
        for index in events.indices {
            let made = events[index].id == nil ? EventID.makeUUID(at: time, using: &making.random) : nil
            if index == 0, let made { firstMade = made }
            var place = BlockWriter.AssignedFields(
                type: try type(events[index].type, transaction), isSameAppend: index > 0, madeID: made)
            let stream = found[index]
            let before = streams[stream]
            if before.id > 0 {
                (place.stream, place.revision, place.previous) = (before.id, before.revision + 1, before.position)
                place.jump = try jump(after: before, transaction)
            } else {
                place.stream = next.rawValue
                begun.append((events[index].stream.text, next.rawValue))
            }
            try making.add(events, index, place)
            streams.append(stream, at: next, jump: place.jump)
            if let id = events[index].id { ids[IDKey(id)] = next.rawValue }
            census.add(IndexEntries.CensusKey(type: place.type, born: events[index].born.rawValue))
            jumps.append(Position(place.jump))
            next = next.next
            revision = place.revision
        }
        return AppendReceipt(
            positions: begin.through(next.previous), stream: events[events.count - 1].stream, revision: Revision(revision),
            id: events[0].id ?? EventID(uuid: firstMade), epoch: moment.epoch, duplicate: false)
    }

    /// The target of the jump pointer of the next event of a stream.
    private func jump(after head: StreamTable.Entry, _ transaction: borrowing ReadTransaction) throws -> UInt64 {
        guard JumpList.isMerging(head.revision + 1) else { return head.position }
        if head.jumps.1 > 0 { return head.jumps.1 }
        if head.jumps.0 >= first.rawValue { return jumps[Int(clamping: Position(head.jumps.0).events(after: first))].rawValue }
        guard let record = try Blocks.record(at: Position(head.jumps.0), transaction, access) else { throw Indexes.damaged("heads") }
        return record.jump.rawValue
    }

    private mutating func type(_ name: String, _ transaction: borrowing ReadTransaction) throws -> TypeID {
        if lastType.name.isSame(as: name) { return lastType.id }
        let id = try typeID(name, transaction)
        lastType = (name, id)
        return id
    }

    private mutating func typeID(_ name: String, _ transaction: borrowing ReadTransaction) throws -> TypeID {
        if let id = access.names.id(of: name) ?? newTypes.first(where: { $0.name.isSame(as: name) })?.id { return id }
        if let id = try Indexes.type(name, transaction, access.tables) {
            access.names.learn(id, name)
            return id
        }
        let new = try (typesCount ?? TypeID(access.tables.types.count(transaction))) + 1
        typesCount = new
        newTypes.append((name, new))
        return new
    }

    /// - Parameter last: the append's last position.
    private mutating func add(_ row: AttachedRow, last: Position, _ transaction: borrowing ReadTransaction) throws {
        try Rows.check(row.key, row.catalogue)
        var row = row
        if row.catalogue == .imports {
            // A mark belongs to the first append of its lines: a cut that keeps that append and removes a repeated one must keep the mark.
            if rows.contains(where: { $0.catalogue == .imports && $0.key == row.key }) { return }
            if try access.tables[.imports].get(row.key.lent, transaction) != nil { return }
            // A cut has to know which import marks lie beyond it.
            row.value = bytes(last.rawValue) + row.value
        }
        rows.append(row)
    }

    // MARK: After the commit

    /// Adds the index entries of the admitted events.
    func note(in entries: inout IndexEntries, _ streams: borrowing StreamTable) {
        streams.forEachChanged { entries.heads.set($0, $1) }
        for (name, id) in begun { entries.streams[name] = id }
        entries.ids.merge(ids) { $1 }
        census.add(to: &entries.census)
        entries.events += UInt64(count)
    }
}
