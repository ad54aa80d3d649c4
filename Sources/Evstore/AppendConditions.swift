internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Platform
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Judges conditions over queries by the events that the log has now, and prepares what the writer's turn needs to judge those that
    /// come since.
    ///
    /// Few events behind a condition's place are looked at one by one. Many are found by the version's index of tags, which is brought to
    /// the log's end first.
    /// - Parameter attempt: how often the append was sent back, since much had come meanwhile.
    /// - Returns: nil where there are no conditions.
    /// - Throws: `EvstoreError`: conditionFailed, conditionOutdated, epochChanged, versionNotAllowed; misuse for a place that the log has
    ///   not reached, and for too many conditions; unknownType; usage for a query that says nothing; noImage for an event that may match.
    func judge(_ conditions: [AppendCondition], attempt: Int) async throws(EvstoreError) -> (any ConditionJudge)? {
        if conditions.isEmpty { return nil }
        if conditions.count > AppendCondition.most {
            throw .misuse("an append has at most \(AppendCondition.most) conditions over queries, and this one has \(conditions.count)")
        }
        if log.membership != nil {
            let end = try last()
            let isBehind = conditions.contains { ($0.after?.epoch ?? end.epoch, $0.after?.position ?? .start) > (end.epoch, end.position) }
            if isBehind { _ = await tookInFrames() }
        }
        for condition in conditions {
            try condition.failIfMatches.check()
            let behind = try last().position.events(after: condition.after?.position ?? .start)
            if behind > AppendConditions.eventsInTurnMax {
                try await bringUpTagIndex(for: condition.failIfMatches, at: effective(condition.version))
            }
        }
        let evolution = try evolving.current()
        var judged: [JudgedCondition] = []
        for condition in conditions { judged.append(try self.judged(condition, evolution)) }
        let conditions = AppendConditions(
            judged, through: evolution.last, isLastAttempt: attempt >= AppendConditions.attemptsMax, evolution.history)
        try await StoreThreads.run { () throws(EvstoreError) in try conditions.judgeAll(in: self, evolution) }
        return conditions
    }

    private func judged(_ condition: AppendCondition, _ evolution: SchemaSnapshot) throws(EvstoreError) -> JudgedCondition {
        let (version, state) = (effective(condition.version, evolution), evolution.state)
        guard state.floor <= version, version <= state.top else {
            throw .versionNotAllowed(version, floor: state.floor, top: state.top)
        }
        if let schema = condition.schema, schema != evolution.history.digest(of: version) { throw .conditionOutdated(version) }
        if let after = condition.after {
            try requireValid(after)
            if after.epoch > evolution.last.epoch || after.position > evolution.last.position {
                throw .misuse("a condition is after the place \(after), and the log ends at \(evolution.last)")
            }
        }
        return try JudgedCondition(condition, self, evolution.history, at: version)
    }

    /// The condition that nothing has ever come that a query matches at a version, by the version's file as it is now.
    func condition(on query: EventQuery, at version: SchemaVersion) throws(EvstoreError) -> AppendCondition {
        AppendCondition(failIfMatches: query, version: version, schema: try evolving.current().history.digest(of: version))
    }
}

extension EventStore {
    /// The condition that nothing has come since now that a query matches at a version (the working one where nil).
    package func presentCondition(on query: EventQuery, at version: SchemaVersion?) throws(EvstoreError) -> AppendCondition {
        var condition = try condition(on: query, at: effective(version))
        condition.after = try last()
        return condition
    }
}

extension AppendCondition {
    /// The condition as a line of JSON.
    package var line: [UInt8] {
        get throws(EvstoreError) {
            do { return try SwiftValues.payloads.encode(self) + [UInt8(ascii: "\n")] } catch { throw EvstoreError(converting: error) }
        }
    }

    /// - Parameter file: what the text is called in an error.
    /// - Throws: `EvstoreError.usage`.
    package init(_ text: [UInt8], of file: String) throws(EvstoreError) {
        do { self = try SwiftValues.payloads.decode(AppendCondition.self, from: text, hasUniqueNames: false) } catch {
            throw .usage("\(file) is no condition: \(SwiftValues.reason(error))")
        }
    }
}

extension History {
    /// The digest of a version's file, in hexadecimal digits; nil for version 0, which has none.
    fileprivate func digest(of version: SchemaVersion) -> String? { versions.first { $0.number == version }?.digest.hex }
}

/// One condition of an append, compiled. Used by one thread at a time.
private final class JudgedCondition: RecordVisitor {
    let condition: AppendCondition
    let version: SchemaVersion
    private let converter: EventConverter
    private var failure: (item: Int, position: Position)?

    init(_ condition: AppendCondition, _ store: EventStore, _ history: History, at version: SchemaVersion) throws(EvstoreError) {
        (self.condition, self.version) = (condition, version)
        converter = try EventConverter(store, history, at: version, matching: condition.failIfMatches)
    }

    /// The error for the first event that matches; nil where none does.
    var refusal: EvstoreError? { failure.map { .conditionFailed(condition, item: $0.item, position: $0.position) } }

    /// Forgets a match: an attempt to commit may be repeated after one that is not kept, whose appends are refused now.
    func begin() {
        failure = nil
        converter.come(in: .log)
    }

    // MARK: Events of the log

    var storedTypes: Set<Name>? { converter.storedTypes }
    var isFull: Bool { failure != nil }
    func come(in order: ReadOrder) { converter.come(in: order) }
    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? { nil }

    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        var found: Int?
        do { try converter.view(record, reader) { _ in found = found ?? converter.item ?? 0 } } catch {
            guard try converter.isLeftOut(error, record, reader) else { throw error }
            return
        }
        if failure == nil, let found { failure = (found, record.position) }
    }

    // MARK: Events that have no place in the log yet

    func look(at event: StoredEvent, _ position: Position) throws {
        var found: Int?
        try converter.view(event) { _ in found = found ?? converter.item ?? 0 }
        if failure == nil, let found { failure = (found, position) }
    }
}

/// The conditions over queries of one append.
private final class AppendConditions: ConditionJudge, @unchecked Sendable {
    // Sound because one thread uses it at a time: that of the caller and, while the caller waits, that whose turn it is.

    /// So many events are judged in some tenths of a millisecond.
    static let eventsInTurnMax: UInt64 = 1_000
    /// An append that was sent back so often stays in the turn, whatever has come.
    static let attemptsMax = 3

    private let conditions: [JudgedCondition]
    /// Whether an event's images depend on nothing but the event: neither on others of its append nor on when its stream began.
    private let seesEventsAlone: Bool
    let through: Checkpoint
    let eventsInTurnMax: UInt64

    init(_ conditions: [JudgedCondition], through end: Checkpoint, isLastAttempt: Bool, _ history: History) {
        (self.conditions, through) = (conditions, end)
        seesEventsAlone = !history.mergesEvents && !history.rekeysStreams
        eventsInTurnMax = isLastAttempt ? .max : Self.eventsInTurnMax
    }

    /// Judges everything behind each condition's place up to `through`.
    func judgeAll(in store: EventStore, _ evolution: SchemaSnapshot) throws(EvstoreError) {
        for judged in conditions {
            let after = judged.condition.after?.position ?? .start
            var cursor = EventCursor(store, through: through, from: after.next, backwards: false, limit: nil)
            cursor.use(
                try store.postings(
                    of: judged.condition.failIfMatches, at: judged.version, from: after.next, backwards: false, evolution))
            while !cursor.isEnded, judged.refusal == nil {
                if Task.isCancelled { throw .interrupted(again: "nothing was written: run it again") }
                _ = try cursor.page(judged, through: through)
            }
            if let refusal = judged.refusal { throw refusal }
        }
    }

    func judge(in reader: borrowing LogReader) throws {
        var events: [RecordedEvent] = []
        for judged in conditions { judged.begin() }
        try reader.blocks(from: through.position.next) { block in
            for index in block.indices {
                let record = block.record(index)
                for judged in conditions {
                    try judged.read(record, reader, into: &events)
                    if let refusal = judged.refusal { throw refusal }
                }
            }
            return true
        }
    }

    func judge(_ events: [StoredEvent], from first: Position) throws -> Bool {
        if !seesEventsAlone || events.contains(where: { $0.born.rawValue == 0 || !$0.shadow.isEmpty }) { return false }
        for judged in conditions {
            judged.begin()
            var position = first
            for event in events {
                do { try judged.look(at: event, position) } catch { throw EvstoreError(converting: error) }
                if let refusal = judged.refusal { throw refusal }
                position = position.next
            }
        }
        return true
    }
}
