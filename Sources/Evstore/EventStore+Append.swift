internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Platform
internal import Projections
internal import SchemaEvolution

/// What an append does when its first event's id is already in the store.
public enum SameID: Sendable, Hashable {
    /// Equal content returns the first receipt; different content throws `EvstoreError.idReused`.
    case mustMatch
    /// The first receipt is returned, whatever the content.
    case keepFirst
}

extension EventStore {
    /// Appends events together, all of them or none, if every condition holds; returns when they are on the disk.
    ///
    /// Repeating an append whose first event has an id is safe: equal content returns the first receipt. So is repeating a single event
    /// under the id that the store generated for it. An id of that form (a UUIDv7) costs a look at the last block and, where that block is
    /// not older than the id, O(log n) more.
    ///
    /// The id of an event is appended once, ever, and so is `<id>#k` where a step splits that event into parts at the version of the append.
    ///
    /// The calling thread checks the events, which takes some microseconds each; the events of a large append are checked on several
    /// threads. Then the call waits for its turn on the writing thread, at most `Options.appendDeadline`, and for one sync of the disk,
    /// which appends that wait at the same time share. A small append that is alone is committed on the calling thread where the disk was
    /// quick just before (`Options.appendInPlaceLimit`). A task that is cancelled before its turn appends nothing (`interrupted`); once the
    /// commit has begun, the call returns its outcome.
    ///
    /// A condition over a query (`unless`) is judged twice: by the calling thread up to the end that it sees, and in the turn for what came
    /// since, with the events that other appends of the same commit add. So the log has no event, at the append's own place, that the
    /// condition excludes. A repeated append gets its receipt, whatever its conditions say. Where several of them fail, it is open which one
    /// is told.
    ///
    /// - Throws: `EvstoreError`: for the events invalidEvent, invalidJSON, unknownType, streamMismatch, versionNotAllowed, noImage,
    ///   eventTooLarge, programNeeded; for the append expectationFailed, conditionFailed, conditionOutdated, epochChanged
    ///   (`StreamCondition.asOf`, `AppendCondition.after`), idReused, appendTooLarge; misuse where it is empty, and where a condition is
    ///   after a place that the log has not reached; also deadlinePassed, interrupted, diskFull. After each of these nothing was appended;
    ///   after `commitOutcomeUnknown` the outcome is not known yet.
    @discardableResult
    public func append(
        _ events: [NewEvent], conditions: [StreamCondition] = [], unless queries: [AppendCondition] = [], sameID: SameID = .mustMatch
    ) async throws(EvstoreError) -> AppendReceipt {
        guard !events.isEmpty else { throw .misuse("an append holds at least one event") }
        if events.count > options.appendEventsMax {
            throw .appendTooLarge(reason: "\(events.count) events are over the limit of \(options.appendEventsMax)")
        }
        if let receipt = try repeatedGenerated(events, sameID) { return receipt }
        let since = Instant.now
        let deadline = since + options.appendDeadline.bounded
        var (mustBeFresh, hasCaughtUp, attempt) = (false, false, 0)
        while true {
            attempt += 1
            let isFresh = mustBeFresh
            mustBeFresh = true
            let checked: (resolved: ResolvedAppend, stamp: StateStamp)
            do throws(EvstoreError) { checked = try await check(events, conditions, isFresh: isFresh) } catch {
                // A validator of an earlier state refused the append; a fresh one may accept it.
                if !isFresh { continue }
                // A validator that knows what other nodes have done may accept it, too.
                if log.membership != nil, !hasCaughtUp {
                    hasCaughtUp = true
                    if await tookInFrames() { continue }
                }
                // A repeated append gets its first receipt, however the versions have changed since.
                if let receipt = try repeated(events, sameID) { return receipt }
                if case .refusedLine(_, _, let cause) = error { throw cause }
                throw error
            }
            let resolved = checked.resolved
            // A repeated append has no need of its conditions: what it has added may match them.
            if !queries.isEmpty, let receipt = try repeated(events, sameID) { return receipt }
            let judge: (any ConditionJudge)?
            do throws(EvstoreError) { judge = try await self.judge(queries, attempt: attempt) } catch {
                // It may have been made meanwhile.
                if let receipt = try repeated(events, sameID) { return receipt }
                throw error
            }
            if judge != nil, Instant.now >= deadline {
                throw .deadlinePassed(waited: since.duration(to: .now), holder: "other appends, which its conditions have to be judged by")
            }
            let request = AppendRequest(
                events: resolved.events, conditions: resolved.conditions, judge: judge, validated: checked.stamp, since: since,
                deadline: deadline)
            let outcome: AppendOutcome
            do { outcome = try await log.append(request) } catch {
                guard let failure = resolved.failure(EvstoreError(converting: error, at: path)) else { continue }
                throw failure
            }
            switch outcome {
            case .appended(var receipt):
                receipt.stream = resolved.given[receipt.stream] ?? receipt.stream
                return receipt
            case .known:
                if let receipt = try repeated(events, sameID) { return receipt }
            case .revalidate: continue
            }
        }
    }

    func tookInFrames() async -> Bool {
        do {
            let before = try log.read { try $0.membership()?.end }
            try await log.takeInFrames()
            return try log.read { try $0.membership()?.end } != before
        } catch { return false }
    }

    /// Appends one event if its stream is in the expected state. Waits and throws as `append(_:conditions:unless:sameID:)` does.
    @discardableResult
    public func append(_ event: NewEvent, expecting expectation: Expectation) async throws(EvstoreError) -> AppendReceipt {
        try await append([event], conditions: [StreamCondition(event.stream, expectation)])
    }

    /// Checks the events of an append against one state of the store, those of a large one in slices in parallel.
    /// - Throws: `EvstoreError.refusedLine` for the first invalid event: its number, from 1, and its error.
    nonisolated(nonsending) func check(
        _ events: [NewEvent], _ conditions: [StreamCondition], isFresh: Bool
    ) async throws(EvstoreError) -> (resolved: ResolvedAppend, stamp: StateStamp) {
        let slices = events.count < 2 * Self.sliceEventsMin ? 1 : min(jobs, events.count / Self.sliceEventsMin)
        let taken = try takeValidators(slices, isFresh: isFresh)
        // Order: validators are given back before the wait for the disk, so that there are no more of them than threads that check at once.
        defer { for validator in taken { validators.give(validator) } }
        let now = Timestamp.now
        let checked = await Self.admit(events, by: taken, at: now)
        if let (index, error) = checked.failure { throw .refusedLine(UInt64(index) + 1, file: nil, error) }
        let validator = taken[0]
        // A program that is ahead of the store may store several events for one.
        let isNumbered = checked.stored.count == events.count
        try Self.requireNone(try validator.mergeFailures(of: checked.stored), isNumbered: isNumbered)
        let version = events[0].version ?? validator.rules.version
        let resolved = try resolved(checked.stored, conditions, at: version, validator.history)
        try Self.requireNone(resolved.refused, isNumbered: isNumbered)
        return (resolved, validator.stamp)
    }

    /// Throws the first of the failures of events, which are known by their indices.
    private static func requireNone(_ failures: [Int: EvstoreError], isNumbered: Bool) throws(EvstoreError) {
        guard let (index, error) = failures.min(by: { $0.key < $1.key }) else { return }
        throw isNumbered ? .refusedLine(UInt64(index) + 1, file: nil, error) : error
    }

    /// Fewer events are checked faster than another thread starts.
    private static let sliceEventsMin = 512

    /// Takes validators that are all made for one state of the store.
    private func takeValidators(_ count: Int, isFresh: Bool) throws(EvstoreError) -> [AppendValidator] {
        var taken: [AppendValidator] = []
        while taken.count < count {
            let validator = try validators.take(isFresh: isFresh) { () throws(EvstoreError) in try self.validator(rules()) }
            // Validators of an earlier state are dropped.
            if let first = taken.first, first.stamp != validator.stamp { taken = [] }
            taken.append(validator)
        }
        return taken
    }

    private func rules() throws(EvstoreError) -> AppendRules {
        var rules = AppendRules(version: try workingVersion)
        if policy == .observe {
            rules.takesOld = true
            rules.ahead = schemas?.history
        }
        return rules
    }

    func validator(_ rules: AppendRules) throws(EvstoreError) -> AppendValidator {
        let evolution = try evolving.current()
        var rules = rules
        rules.gatesThroughTop = rules.gatesThroughTop || log.membership != nil
        return AppendValidator(history: evolution.history, stamp: evolution.state.stamp, rules: rules, options: options)
    }

    // MARK: Slices

    /// The events to store for a slice of an append, up to the first invalid one.
    private struct Slice: Sendable {
        var stored: [StoredEvent] = []
        var failure: (index: Int, error: EvstoreError)?

        init(_ events: [NewEvent], _ indices: Range<Int>, by validator: AppendValidator, at now: Timestamp, room: Int) {
            stored.reserveCapacity(room)
            let given = events.span
            for index in indices {
                do throws(EvstoreError) { try validator.admit(given[index], isJSON: false, at: now, into: &stored) } catch {
                    failure = (index, error)
                    return
                }
            }
        }
    }

    /// Checks one slice per validator; the calling thread checks the first slice itself.
    private nonisolated(nonsending) static func admit(
        _ events: [NewEvent], by validators: [AppendValidator], at now: Timestamp
    ) async -> Slice {
        let count = events.count
        if validators.count == 1 { return Slice(events, 0 ..< count, by: validators[0], at: now, room: count) }
        return await withTaskGroup(of: (index: Int, slice: Slice).self) { group in
            for index in 1 ..< validators.count {
                let indices = count * index / validators.count ..< count * (index + 1) / validators.count
                group.addTask { (index, Slice(events, indices, by: validators[index], at: now, room: indices.count)) }
            }
            // The capacity includes the other slices, which are appended to this one.
            var all = Slice(events, 0 ..< count / validators.count, by: validators[0], at: now, room: count)
            var others: [Int: Slice] = [:]
            for await (index, slice) in group { others[index] = slice }
            for index in 1 ..< validators.count where all.failure == nil {
                guard let slice = others.removeValue(forKey: index) else { continue }
                all.stored += slice.stored
                all.failure = slice.failure
            }
            return all
        }
    }
}

/// An append whose streams have the names that the log holds them by.
struct ResolvedAppend {
    var events: [StoredEvent]
    var conditions: [StreamCondition]
    /// Other names of streams that the append creates: no stream may be created under them meanwhile.
    var guarded: Set<StreamName> = []
    /// The names as the caller gave them, by those in the log.
    var given: [StreamName: StreamName] = [:]
    /// The errors of events whose streams can't be begun, by the events' indices.
    var refused: [Int: EvstoreError] = [:]
    private var found: [NameAtVersion: StreamName] = [:]

    init(events: [StoredEvent], conditions: [StreamCondition]) { (self.events, self.conditions) = (events, conditions) }

    /// Translates a failed condition to the caller's names. Nil where another program has just created the stream under another of its
    /// names: then the names have to be resolved again.
    func failure(_ error: EvstoreError) -> EvstoreError? {
        guard case .expectationFailed(let stream, let expected, let actual) = error else { return error }
        if guarded.contains(stream) { return nil }
        return .expectationFailed(stream: given[stream] ?? stream, expected: expected, actual: actual)
    }
}

extension EventStore {
    /// Resolves the streams of an append. A stream that exists keeps its name; a new one is created under its name at the event's birth
    /// version.
    func resolved(
        _ events: [StoredEvent], _ conditions: [StreamCondition] = [], at version: SchemaVersion, _ history: History
    ) throws(EvstoreError) -> ResolvedAppend {
        var result = ResolvedAppend(events: events, conditions: conditions)
        guard history.rekeysStreams else { return result }
        try log.reading { reader in
            for index in events.indices {
                do {
                    result.events[index].stream = try result.find(
                        events[index].stream, at: events[index].born, isMade: true, history, reader)
                } catch EvstoreError.noImage(let failure) { result.refused[index] = .noImage(failure) }
            }
            for index in conditions.indices {
                result.conditions[index].stream = try result.find(conditions[index].stream, at: version, isMade: false, history, reader)
            }
        }
        return result
    }
}

/// The name of a stream at a version.
struct NameAtVersion: Hashable {
    var name: StreamName
    var version: SchemaVersion
}

extension ResolvedAppend {
    fileprivate mutating func find(
        _ name: StreamName, at version: SchemaVersion, isMade: Bool, _ history: History, _ reader: borrowing LogReader
    ) throws -> StreamName {
        if let known = found[NameAtVersion(name: name, version: version)] { return known }
        let known = try history.storedName(of: name, at: version, reader)
        let stored = known ?? name
        given[stored] = name
        found[NameAtVersion(name: name, version: version)] = stored
        guard known == nil else { return stored }
        if try reader.head(of: name) != nil {
            guard isMade else { return stored }
            found[NameAtVersion(name: name, version: version)] = nil
            throw try Self.otherName(of: name, at: version, history, reader)
        }
        for spelling in history.spellings(of: name, at: version) {
            for other in spelling.versions { found[NameAtVersion(name: spelling.name, version: other)] = stored }
            guard spelling.name != name, try reader.head(of: spelling.name) == nil else { continue }
            guarded.insert(spelling.name)
            conditions.append(StreamCondition(spelling.name, .noStream))
        }
        return stored
    }

    /// The error for an event that would create a stream under a name that the log gives to another one.
    private static func otherName(
        of name: StreamName, at version: SchemaVersion, _ history: History, _ reader: borrowing LogReader
    ) throws -> EvstoreError {
        var found = quoted(name.text)
        if let born = try reader.birth(ofStream: name) {
            do { found += ", which is \(quoted(try history.streamName(name, from: born, to: version).text)) at \(version)" } catch {}
        }
        return .noImage(
            ImageFailure(
                type: "the stream", born: version, target: version, step: version, op: "rekey", pointer: ImageFailure.streamName,
                expected: "a name under which no other stream lies in the log", found: found))
    }
}

/// The append that begins at a position, prepared for a comparison with one that repeats its id.
struct StoredAppend {
    let position: Position
    /// The version at which an event is compared that names no birth version.
    let version: SchemaVersion
    let history: History
    /// Whether only the event at the position is compared, whatever was appended with it.
    var isAlone = false
}

extension EventStore {
    /// The receipt of the append that these events repeat; nil where the first event's id is not in the store.
    /// - Throws: `EvstoreError.idReused` where the stored events differ.
    func repeated(_ events: [NewEvent], _ sameID: SameID) throws(EvstoreError) -> AppendReceipt? {
        guard let id = events.first?.id else { return nil }
        return try log.reading { reader in
            guard let position = try reader.position(of: id) else { return nil }
            return try receipt(of: stored(at: position, reader), for: events, sameID, reader)
        }
    }

    /// The receipt of the append that these events repeat under ids that no index holds: those that the store generated, and those of the
    /// parts into which a step splits an event. A caller who has such an id has seen its event, so the event is found before anything is
    /// appended.
    ///
    /// A single event is compared with the one that has the id, whatever was appended with that one.
    /// - Throws: `EvstoreError.idReused`, also where the id belongs to an event that is not the first.
    func repeatedGenerated(_ events: [NewEvent], _ sameID: SameID) throws(EvstoreError) -> AppendReceipt? {
        guard events.contains(where: { $0.id.map(GeneratedIDs.mayHave) ?? false }) else { return nil }
        return try log.reading { reader in
            // The append is compared as a whole by the first id that an index has.
            if let first = events.first?.id, try reader.position(of: first) != nil { return nil }
            var made = GeneratedIDs()
            for (index, event) in events.enumerated() {
                guard let id = event.id, try reader.position(of: id) == nil, let position = try made.position(of: id, reader) else {
                    continue
                }
                var stored = try stored(at: position, reader)
                stored.isAlone = events.count == 1 || index > 0
                guard let receipt = try receipt(of: stored, for: index == 0 ? events : [event], sameID, reader) else { continue }
                guard index == 0 else { throw EvstoreError.idReused(id: id, position: position) }
                return receipt
            }
            return nil
        }
    }

    /// Returns the receipt of the append whose first event has an id that a caller gave; nil where it is not in the store. For a command
    /// that must run once: check before anything is decided. The receipt covers the events behind that one which have no ids of their own.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func receipt(ofAppend id: EventID) throws(EvstoreError) -> AppendReceipt? {
        try log.reading { reader in
            guard let position = try reader.position(of: id) else { return nil }
            let stored = try stored(at: position, reader)
            return try appended(stored, at: stored.version, count: 1, reader).receipt
        }
    }

    /// The append that begins at a position, for a comparison at the version that this handle works at.
    private func stored(at position: Position, _ reader: borrowing LogReader) throws -> StoredAppend {
        let version = programVersion ?? reader.stamp.live
        return StoredAppend(position: position, version: version, history: try history(serving: version, evolving.history(reader)))
    }

    /// The receipt of an append that these events repeat; nil where they have the id of a part that the stored event has not at their
    /// version. Each event is compared as it is seen at the version of the request.
    /// - Throws: `EvstoreError.idReused` where the append differs.
    func receipt(
        of stored: StoredAppend, for events: [NewEvent], _ sameID: SameID, _ reader: borrowing LogReader
    ) throws -> AppendReceipt? {
        guard let (receipt, isSame) = try compare(stored, with: events, reader) else { return nil }
        guard isSame || sameID == .keepFirst else { throw EvstoreError.idReused(id: receipt.id, position: stored.position) }
        return receipt
    }

    /// The receipt of an append, and whether the events have the same content and no other ids; nil as for `receipt(of:for:_:_:)`. Each is compared as it is
    /// seen at the version of the request. Where a step splits a stored event, the request may have all parts or the first ones, or, by its
    /// id, begin with a later one.
    func compare(
        _ stored: StoredAppend, with events: [NewEvent], _ reader: borrowing LogReader
    ) throws -> (receipt: AppendReceipt, isSame: Bool)? {
        let asked = events.first?.version ?? stored.version
        let count = events.count { $0.id?.whole == nil }
        var (receipt, seen) = try appended(stored, at: asked, count: count, reader)
        if let id = events.first?.id, id.whole != nil, id != receipt.id {
            seen = Array(seen.drop { $0.event.id != id }.prefix(events.count))
            if seen.isEmpty { return nil }
            receipt.id = id
        } else if seen.count != events.count {
            seen.removeAll { !$0.isFirst }
        }
        let isSame =
            try seen.count == events.count
            && zip(seen, events).enumerated().allSatisfy { index, pair in
                let (seen, event) = pair
                let persons = seen.isForgotten ? stored.history.shape(of: event.type, at: asked) : nil
                // The append was found by the id of its first event.
                return try (index == 0 || seen.event.mayHave(event.id)) && seen.event.type.isSame(as: event.type)
                    && seen.event.stream == event.stream
                    && RecordedEvent.isSame(seen.event.payload, event.payload, redactedBy: persons)
            }
        return (receipt, isSame)
    }

    private struct Seen {
        var event: RecordedEvent
        var isForgotten: Bool
        /// Whether it is no later part of an event that a step splits.
        var isFirst: Bool
    }

    /// The append that begins at a position: its receipt, and its events as seen at a version. An event with an id of its own belongs to
    /// the append only while fewer than `count` events of the log were found.
    private func appended(
        _ stored: StoredAppend, at version: SchemaVersion, count: Int, _ reader: borrowing LogReader
    ) throws -> (receipt: AppendReceipt, events: [Seen]) {
        let position = stored.position
        let converter = try EventConverter(self, stored.history, at: version)
        var events: [Seen] = []
        var receipt: AppendReceipt?
        var next = position
        while stored.isAlone ? next == position : true {
            let belongs =
                try reader.record(at: next) { record in
                    guard next == position || record.continuesAppend && (!record.idGiven || next.events(after: position) < UInt64(count))
                    else { return false }
                    let name = try converter.stream(of: record, reader)
                    receipt = AppendReceipt(
                        positions: position.through(next), stream: name, revision: record.revision,
                        id: receipt?.id ?? record.id, epoch: record.epoch, duplicate: true)
                    // An event without an image at the version of the request differs from the request's event.
                    var seen: [RecordedEvent] = []
                    do { try converter.read(record, reader, into: &seen) } catch EvstoreError.noImage {}
                    let (id, isForgotten) = (record.id, record.isForgotten)
                    events += seen.map { Seen(event: $0, isForgotten: isForgotten, isFirst: $0.id == id) }
                    return true
                } ?? false
            if !belongs { break }
            next = next.next
        }
        guard let receipt else { throw EvstoreError.corruptBlock(position: position, reason: "an id leads to no event") }
        return (receipt, events)
    }
}

extension RecordedEvent {
    /// Whether a request that gives this id, or none, can mean the event, or the event of which it is a part.
    fileprivate func mayHave(_ given: EventID?) -> Bool { given.map { $0 == id || $0 == id.whole } ?? true }

    /// Whether two payloads have the same content, however their JSON is written. Without the personal data where `persons` is given.
    static func isSame(_ payload: [UInt8], _ other: [UInt8], redactedBy persons: EventShape?) throws -> Bool {
        if payload == other { return true }
        let (payload, other) = try (redacted(of: payload, persons), redacted(of: other, persons))
        return try Canonical.bytes(of: payload.lent) == Canonical.bytes(of: other.lent)
    }

    private static func redacted(of payload: [UInt8], _ persons: EventShape?) throws -> [UInt8] {
        guard let persons = persons.flatMap({ PersonalMembers($0) }) else { return payload }
        _ = try JSONScanner.validate(payload.lent, limits: .none)
        var rest = ByteBuffer()
        _ = persons.leaveOut(of: payload.lent, by: .emptiest, into: &rest)
        return rest.array()
    }
}
