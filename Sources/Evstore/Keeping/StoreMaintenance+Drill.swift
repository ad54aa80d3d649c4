internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Runs the program of another release, which rolls the store at a path back to a version.
public typealias OlderProgram = @Sendable (_ store: String, _ version: SchemaVersion) throws(EvstoreError) -> Void

extension StoreMaintenance {
    /// Rehearses a migration, its rollback and a restore on a copy, and compares digests after each. In the store itself it only writes the
    /// report, in `drills/`, and a row of the journal.
    ///
    /// Takes several times as long as a replay, on the store's own threads, and needs disk space for about six copies of the log.
    ///
    /// - Parameters:
    ///   - version: the version to migrate to. Where nil, the newest that the schemas given at opening or the store know.
    ///   - from: the version that the rehearsed rollback leads to, from the floor up to the live one. Where nil, the live version if a
    ///     newer one is rehearsed, else the one that a rollback would lead to.
    ///   - backups: a directory whose newest run is restored; where nil, the drill makes a backup of its own.
    ///   - olderProgram: rolls the copy back instead of this program.
    ///   - seed: the seed of the generated events: the same seed and store give the same events. Where nil, a random one, which the report
    ///     names.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: readOnly; unknownVersion, usage where `version` is below the live one or `from` is no way back from it,
    ///   belowFloor; interrupted. A failure of the rehearsal, also for lack of room, is a failed step in the report, not an error.
    public func drill(
        to version: SchemaVersion? = nil, from: SchemaVersion? = nil, backups: String? = nil, olderProgram: OlderProgram? = nil,
        seed: UInt64? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> DrillReport {
        if store.isReadOnly { throw .readOnly(path: path) }
        return try await working("rehearse", progress) { (job) async throws(EvstoreError) in
            try await rehearse(
                DrillRequest(
                    from: from, version: version, backups: backups, olderProgram: olderProgram,
                    seed: seed ?? .random(in: 0 ... UInt64(UInt32.max)), job: job), store.context(job))
        }
    }

    private func rehearse(_ request: DrillRequest, _ context: MigrationContext) async throws(EvstoreError) -> DrillReport {
        let began = Instant.now
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        let rehearsal = try Rehearsal(store, request, in: scratch.path)
        var report = try await rehearsal.run()
        report.report = try write(report)
        let (noted, last) = (report, report.position)
        let duration = began.duration(to: .now)
        try await log.changing { update in
            try Journal.append(
                .init(.drill, from: noted.from, to: noted.to, position: last, duration: duration, outcome: noted.outcome), to: &update)
        }
        return report
    }

    /// Writes the report below the store, completely or not at all; returns its path.
    private func write(_ report: DrillReport) throws(EvstoreError) -> String {
        if !log.isInPlace { throw .replaced(path: path) }
        return try converting(at: path) {
            let directory = try StoreFiles.directory("drills", of: path)
            try Directory.sync(path)
            let time = Timestamp.now.description.replacing(":", with: "-")
            let name = "\(directory)/\(time)\(report.to.map { "-\($0)" } ?? "").json"
            try WholeFile.write(Array((report.json(detailed: keys().isEmpty).text + "\n").utf8), to: name)
            return name
        }
    }
}

struct DrillRequest {
    let from: SchemaVersion?
    let version: SchemaVersion?
    let backups: String?
    let olderProgram: OlderProgram?
    let seed: UInt64
    let job: Job
}

extension DrillReport {
    fileprivate var outcome: String {
        if passed { return "passed" }
        return "failed: " + (steps.first { !$0.ok }?.name ?? laws.first { $0.failed > 0 }.map { "law \($0.law)" } ?? "nothing was shown")
    }

    /// The report as JSON, in the form that the store keeps.
    /// - Parameter isDetailed: false where events are sealed: details may quote an event's content.
    fileprivate func json(detailed isDetailed: Bool) -> JSONValue {
        func number(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }
        func seconds(_ value: Duration) -> JSONValue { .number(String((value.inSeconds * 1_000).rounded() / 1_000)) }
        func object(_ members: [(String, JSONValue)]) -> JSONValue { .object(members.map { .init(name: $0.0, value: $0.1) }) }
        func list<T>(_ values: [T], _ members: (T) -> [(String, JSONValue)]) -> JSONValue { .array(values.map { object(members($0)) }) }
        let steps = list(steps) { step in
            let detail = isDetailed ? step.detail : ""
            return [("name", .string(step.name)), ("ok", .bool(step.ok)), ("seconds", seconds(step.duration)), ("detail", .string(detail))]
        }
        let laws = list(laws) { law in
            [("law", .string(law.law)), ("tried", number(law.tried)), ("failed", number(law.failed)), ("lossy", number(law.lossy))]
        }
        let loss = list(loss) { loss in
            [
                ("version", number(loss.version.rawValue)), ("type", .string(loss.type)), ("what", .string(loss.what)),
                ("declared", .bool(loss.declared)), ("asks", .bool(loss.asks)), ("count", number(loss.count)),
                ("first", loss.first.map { number($0.rawValue) } ?? .null),
            ]
        }
        return object([
            ("passed", .bool(passed)), ("from", from.map { number($0.rawValue) } ?? .null), ("to", to.map { number($0.rawValue) } ?? .null),
            ("position", number(position.rawValue)), ("steps", steps), ("laws", laws),
            ("notExercised", .array(notExercised.map { .string($0) })), ("appended", number(appended)), ("refused", number(refused)),
            ("loss", loss), ("quarantined", number(quarantined)), ("seed", number(seed)),
            ("recoverySeconds", recovery.map(seconds) ?? .null),
            ("recoveryPointEvents", recoveryPointEvents.map { number($0) } ?? .null),
        ])
    }
}

/// Makes events of a version from events of a store, for a drill to append.
struct DrillEvents {
    private static let eventsMax: UInt64 = 2_000
    private static let atOnce: UInt64 = 100
    /// How many positions before and behind an event are searched for events of its append that a step merges with it.
    private static let reach = 8
    let store: EventStore
    let version: SchemaVersion
    /// Whether some of their values are changed; else the events are repeated as they are.
    let isChanged: Bool
    let seed: UInt64

    /// Makes appends from up to 2,000 events, spread evenly over the log, until `body` returns false; leaves out an event from which
    /// none can be made. Events that a later step merges are in one append, as a program would append them.
    func forEachAppend(_ body: ([NewEvent]) async throws -> Bool) async throws {
        let history = try store.evolving.history
        var generator = EventGenerator(history, seed: seed)
        let converter = try EventConverter(store, history, at: version)
        let last = try store.last().position.rawValue
        let distance = max(1, (last + Self.eventsMax - 1) / Self.eventsMax)
        var merged: [Name: Set<Name>] = [:]
        if history.mergesEvents {
            for type in history.types(at: version) { merged[type] = try history.types(mergedWith: type, at: version) }
        }
        for start in stride(from: 1, through: last, by: Int(distance * Self.atOnce)) {
            var seen: [[RecordedEvent]] = []
            try store.log.reading { reader in
                for position in stride(from: start, through: last, by: Int(distance)).prefix(Int(Self.atOnce)) {
                    try see(Position(position), converter, merged, &seen, reader)
                }
            }
            for events in seen {
                let made = events.compactMap { isChanged ? changed($0, &generator) : again($0, history) }
                let append = made.isEmpty ? [] : try together(made, merged, history)
                if !append.isEmpty, try await !body(append) { return }
            }
        }
    }

    /// Adds the images, at the version, of the event at a position and of the events that a later step merges with it.
    private func see(
        _ position: Position, _ converter: EventConverter, _ merged: [Name: Set<Name>], _ seen: inout [[RecordedEvent]],
        _ reader: borrowing LogReader
    ) throws {
        var events: [RecordedEvent] = []
        _ = try reader.record(at: position) { record in try see(record, converter, reader, &events) }
        guard events.contains(where: { merged[$0.type]?.isEmpty == false }) else { return seen += events.map { [$0] } }
        var (first, next) = (position, position.next)
        var before: [RecordedEvent] = []
        while position.events(after: first) < Self.reach, try reader.closedRecord(at: first, { $0.continuesAppend }) == true {
            first = first.previous
            var found: [RecordedEvent] = []
            _ = try reader.record(at: first) { record in try see(record, converter, reader, &found) }
            before = found + before
        }
        events = before + events
        while next.events(after: position) <= Self.reach, try reader.closedRecord(at: next, { $0.continuesAppend }) == true {
            _ = try reader.record(at: next) { record in try see(record, converter, reader, &events) }
            next = next.next
        }
        seen.append(events.filter { merged[$0.type]?.isEmpty == false })
    }

    /// Adds the images of one event; skips an event without an image at the version.
    private func see(
        _ record: borrowing RecordView, _ converter: EventConverter, _ reader: borrowing LogReader, _ events: inout [RecordedEvent]
    ) throws {
        do { try converter.read(record, reader, into: &events) } catch EvstoreError.noImage { return }
    }

    /// Returns those of the events that have an image at every later version when they are appended together.
    private func together(
        _ events: [NewEvent], _ merged: [Name: Set<Name>], _ history: History
    ) throws(EvstoreError) -> [NewEvent] {
        guard events.contains(where: { merged[$0.type]?.isEmpty == false }) else { return events }
        var (left, target) = (events, version.next)
        let viewer = PathRunner(history)
        while target <= history.head {
            var lone: Set<Int> = []
            for (stream, indices) in Dictionary(grouping: left.indices, by: { left[$0].stream }) {
                let appended = indices.map { index in
                    AppendedEvent(
                        type: left[index].type, payload: left[index].payload, metadata: left[index].metadata ?? [], time: .now,
                        stream: stream.text)
                }
                try converting(at: store.path) {
                    try viewer.view(appended: appended, born: version, at: target, failed: { at, _ in lone.insert(indices[at]) }) { _, _ in
                    }
                }
            }
            left = left.indices.filter { !lone.contains($0) }.map { left[$0] }
            // The check repeats, since another event may now lack the event that it is merged with.
            if lone.isEmpty { target = target.next }
        }
        return left
    }

    /// Repeats an event in the stream that a program of the version would append to; the event may lie in another one, where streams were
    /// merged since.
    private func again(_ event: RecordedEvent, _ history: History) -> NewEvent? {
        let name: String?
        do { name = try history.shape(of: event.type, at: version)?.stream?.name(for: event.payload.lent) } catch { return nil }
        return made(event, in: name ?? event.stream.text, event.payload)
    }

    private func made(_ event: RecordedEvent, in stream: String, _ payload: [UInt8]) -> NewEvent? {
        do {
            return NewEvent(
                stream: try StreamName(stream), type: event.type, payload: payload,
                metadata: event.metadata.isEmpty ? nil : event.metadata, version: version)
        } catch { return nil }
    }

    private func changed(_ event: RecordedEvent, _ generator: inout EventGenerator) -> NewEvent? {
        let like = LawEvent(
            origin: .log, stream: event.stream.text, type: event.type, born: version, time: event.time, payload: event.payload,
            metadata: event.metadata)
        return generator.mutation(of: like).flatMap { made(event, in: $0.stream, $0.payload) }
    }
}

extension AppendValidator {
    /// Whether generated events have images at every version that was ever live: a replay would stop at others.
    func shows(_ events: [NewEvent]) -> Bool {
        do { return try mergeFailures(of: events.map { try admit($0, at: .now) }).isEmpty } catch { return false }
    }
}

extension EventStore {
    /// Appends generated events; returns false where the validator refuses them, which is allowed.
    func takes(_ events: [NewEvent]) async throws(EvstoreError) -> Bool {
        do {
            _ = try await append(events)
            return true
        } catch {
            switch error {
            case .noImage, .invalidEvent, .invalidStreamName, .streamMismatch, .eventTooLarge, .appendTooLarge: return false
            default: throw error
            }
        }
    }
}
