internal import Bytes
internal import EventLog
public import EventModel
internal import JSONText
public import LogKeeping
internal import Platform
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Makes the personal data of streams unreadable for good: at every version, members that a version file marks as `personal` have the
    /// plainest value of their shape from now on (null, or an empty text). The events stay, with all other members.
    ///
    /// Only a sealed store can forget: each stream has its own key for its personal members, and this call overwrites it. It also removes
    /// the read models, which are rebuilt when they are needed, and rewrites archives without the data. Earlier backups hold the key until
    /// they are pruned. Where one stream can't be forgotten, the streams before it in the list are forgotten, and the journal counts them;
    /// a repeated call reports them as forgotten before.
    ///
    /// Waits for a transaction, then for the rewriting of archives, whose cost grows with their size.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, migrationInProgress, interrupted before the first key is
    ///   overwritten; storeDamaged and corruptBlock where damage hides which keys belong to a stream.
    public func forget(_ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        let name = "forget \(streams.map(\.text).joined(separator: ", "))"
        return try await working(name) { (context) async throws(EvstoreError) in
            let evolution = try evolving.current()
            let version = try effective(nil)
            var persons = try PersonStreams(streams, at: version, evolution.history, context)
            var forgotten: [ForgottenStream] = []
            for person in persons.streams {
                forgotten.append(ForgottenStream(name: person.name, keyNames: try persons.keyNames(of: person)))
            }
            let redaction = LineRedactor(persons.streams, try validator(AppendRules(version: version, takesOld: true)), options)
            let last = try self.last().position
            try context.job.check()
            // Order: in a task and a job of its own. Nobody stops it once a key is overwritten, since read models and archives still show
            // the data.
            let work = Task { [whole = self.context(Job(name)), forgotten] in
                try await StoreThreads.run {
                    try await Forget.run(whole, forgotten) { line throws(EvstoreError) in try redaction.redacted(line) }
                }
            }
            var report = try await awaiting(at: path) { try await work.value }
            for stored in Set(persons.streams.compactMap(\.stored)).sorted() { try look(at: stored, through: last, &report) }
            return report
        }
    }
}

/// Removes the personal members, as the shapes mark them, from event lines of some streams.
private struct LineRedactor: Sendable {
    private let versions: [StreamName: Set<SchemaVersion>]
    private let validator: AppendValidator
    private let options: Options

    init(_ streams: [PersonStream], _ validator: AppendValidator, _ options: Options) {
        versions = streams.flatMap(\.aliases).reduce(into: [:]) { $0[$1.name, default: []].formUnion($1.versions) }
        (self.validator, self.options) = (validator, options)
    }

    /// Returns the line without its personal members; nil where it has none, or belongs to another stream. A line has its stream's name at
    /// the event's birth version. Data from before versions existed becomes the event of version 1 that readers see, since no version says
    /// which of its own members are personal.
    /// - Throws: `EvstoreError` where the line can't be read, or does not fit the shape that its version has now.
    func redacted(_ line: RawSpan) throws(EvstoreError) -> [UInt8]? {
        var parser = EventLineParser(LineForm(options: options, source: ""))
        let event = try parser.parse(line).event
        guard let born = event.version else { return nil }
        // Steps that are not registered any more may have renamed any stream.
        guard born <= validator.history.head else {
            throw .unknownVersion("\(born)", known: validator.history.versions.map { "\($0.number)" })
        }
        guard versions[event.stream]?.contains(born) == true else { return nil }
        let shown = born.rawValue == 0 ? try adopted(event) : event
        let shape = try validator.entry(shown.type, shown.version ?? born).shape
        try shape?.check(shown.payload.lent, type: shown.type, at: shown.version ?? born)
        let payload = try validator.stored(shown, at: .now).forgotten
        if payload.isEmpty { return nil }
        do {
            guard case .object(let members) = try JSONValue(parsing: line) else { return nil }
            var values = ["data": try JSONValue(parsing: payload.lent)]
            if born.rawValue == 0 {
                values["type"] = .string(shown.type)
                for name in ["version", "born"] { values[name] = .number("1") }
            }
            return Array(JSONValue.object(members.map { .init(name: $0.name, value: values[$0.name] ?? $0.value) }).text.utf8)
        } catch { throw EvstoreError(converting: error) }
    }

    /// The event of version 1 that readers see of data from before versions existed.
    /// - Throws: `EvstoreError` where there is none, or its stream is another one than its template names.
    private func adopted(_ event: NewEvent) throws(EvstoreError) -> NewEvent {
        var adopted = event
        adopted.version = SchemaVersion(1)
        do {
            let metadata = event.metadata ?? []
            let source = SourceEvent(payload: event.payload.lent, time: event.time ?? .now, metadata: metadata.lent)
            try validator.viewer.view(
                source, of: TypeAtVersion(type: event.type, version: SchemaVersion(0)), stream: event.stream.text, at: SchemaVersion(1),
                validating: true
            ) { (adopted.type, adopted.payload) = ($0.type, [UInt8](copying: $0.payload)) }
        } catch { throw EvstoreError(converting: error) }
        guard try validator.isInItsStream(validator.stored(adopted, at: .now)) else {
            throw .invalidLine(reason: "has data from before versions existed in another stream than version 1 names", pointer: "/stream")
        }
        return adopted
    }
}

// MARK: What is still shown

extension EventStore {
    /// Adds to the report the events of a forgotten stream that still show a personal member at a promised version, and those that have no
    /// image at the live one.
    fileprivate func look(at stream: StreamName, through last: Position, _ report: inout ForgetReport) throws(EvstoreError) {
        var shown: [Position] = []
        var hidden: [Position] = []
        var next: Revision? = .first
        while let from = next {
            next = nil
            try log.reading { reader in
                let history = try evolving.history(reader)
                let (stamp, viewer) = (reader.stamp, PathRunner(history))
                let converters = try stamp.floor.through(stamp.top).map { version in
                    (version, try EventConverter(self, history, at: version, in: .stream))
                }
                try reader.stream(stream, from: from, limit: options.pageEventsMax) { record in
                    guard record.position <= last else {
                        next = nil
                        return false
                    }
                    next = record.revision.next
                    let own = record.isForgotten ? try history.remaining(record, log.name(ofType: record.type)) : nil
                    var isShown = false
                    for (version, converter) in converters {
                        do {
                            try converter.view(record, reader) { image in
                                let given = own == nil ? viewer.given(record, log.name(ofType: record.type), at: version) : []
                                if try history.showsPersons(image, at: version, of: own, but: given) { isShown = true }
                            }
                        } catch EvstoreError.noImage {
                            if record.isForgotten, version == stamp.live { hidden.append(record.position) }
                        } catch EvstoreError.programNeeded where version != stamp.live {
                            // This program shows nobody an event at such a version.
                        }
                    }
                    if isShown { shown.append(record.position) }
                    return true
                }
            }
        }
        if let events = ForgetReport.EventsOfStream(stream, shown) { report.stillShown.append(events) }
        if let events = ForgetReport.EventsOfStream(stream, hidden) { report.withoutImage.append(events) }
    }
}

extension ForgetReport.EventsOfStream {
    fileprivate init?(_ stream: StreamName, _ positions: [Position]) {
        guard let first = positions.first else { return nil }
        self.init(stream, first: first)
        count = positions.count
    }
}

extension History {
    /// The values of a forgotten event at its birth version that were not separate from the rest of the payload.
    fileprivate func remaining(_ record: borrowing RecordView, _ type: String) throws -> Set<JSONValue> {
        let value = try JSONValue(parsing: record.payload)
        guard let shape = self[record.born]?.events[type]?.shape else { return [] }
        return Set(value.leaves).subtracting(shape.persons(in: value, withPlainest: true).flatMap(\.leaves))
    }

    /// Whether an image has a personal member with another value than the plainest.
    /// - Parameters:
    ///   - own: for an event whose personal members were forgotten, the other values: a plain value that steps have converted is none of them.
    ///   - given: values that steps give to every such event.
    fileprivate func showsPersons(
        _ image: borrowing Image, at version: SchemaVersion, of own: Set<JSONValue>?, but given: Set<JSONValue>
    ) throws -> Bool {
        guard let shape = self[version]?.events[image.type]?.shape else { return false }
        let values = shape.persons(in: try JSONValue(parsing: image.payload), withPlainest: false).flatMap(\.leaves)
        return values.contains { own?.contains($0) ?? !given.contains($0) }
    }
}

extension PathRunner {
    /// The values that steps give to an event at a version whatever it holds: those that its images have with two sets of other values. None
    /// if steps refuse such an event.
    fileprivate func given(_ record: borrowing RecordView, _ type: String, at version: SchemaVersion) -> Set<JSONValue> {
        do {
            let value = try JSONValue(parsing: record.payload)
            var images: [Set<JSONValue>] = [[], []]
            for (index, other) in [value.replacing("", 0, false), value.replacing("x", 1, true)].enumerated() {
                let payload = Array(other.text.utf8)
                try view(
                    SourceEvent(payload: payload.lent, time: record.time, metadata: record.metadata),
                    of: TypeAtVersion(type: type, version: record.born), stream: "", at: version
                ) { images[index].formUnion(try JSONValue(parsing: $0.payload).leaves) }
            }
            return images[0].intersection(images[1])
        } catch { return [] }
    }
}

extension JSONValue {
    /// The value with others in the place of all texts, numbers and truth values.
    fileprivate func replacing(_ text: String, _ number: Int, _ flag: Bool) -> JSONValue {
        switch self {
        case .null: .null
        case .bool: .bool(flag)
        case .number: .number("\(number)")
        case .string: .string(text)
        case .array(let elements): .array(elements.map { $0.replacing(text, number, flag) })
        case .object(let members): .object(members.map { .init(name: $0.name, value: $0.value.replacing(text, number, flag)) })
        }
    }

    /// The texts, numbers and truth values within a value.
    fileprivate var leaves: [JSONValue] {
        switch self {
        case .null: []
        case .bool, .number, .string: [self]
        case .array(let elements): elements.flatMap(\.leaves)
        case .object(let members): members.flatMap(\.value.leaves)
        }
    }
}
