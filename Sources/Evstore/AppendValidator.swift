internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The rules of an append: the birth version of events that name none, and how strict the validator is.
struct AppendRules: Sendable {
    var version: SchemaVersion
    /// Whether events born below the floor are allowed: they need images at newer versions only.
    var takesOld = false
    /// Whether an image is needed up to the top and not only up to the live version. True for a node of a cluster log, since another node
    /// may be live at the top.
    var gatesThroughTop = false
    /// Whether the stream must be the one that the type's template names.
    var enforcesStream = true
    /// The history of a program that is ahead of the store: its events are downcast to the live version.
    var ahead: History?
}

/// Checks events against their shapes, and checks that each event has a valid image at every version that needs one.
///
/// A validator is made for one state of the store and is used by one thread at a time.
final class AppendValidator: @unchecked Sendable {
    // Sound because `AppendValidatorPool` gives each to one caller at a time.
    let stamp: StateStamp
    let history: History
    let rules: AppendRules
    let options: Options
    private let limits: JSONLimits
    let viewer: PathRunner
    private let aheadViewer: PathRunner?
    /// Whether any step merges events of one append.
    let merges: Bool
    private var entries: [TypeAtVersion: Entry] = [:]
    var lastEntry: Entry?
    var scratch = PlainPayloadScratch()
    var streamName = ByteBuffer(capacity: 256)
    var rest = ByteBuffer()

    final class Entry {
        let type: String
        let birth: SchemaVersion
        /// Nil for data from before versions existed.
        let shape: EventShape?
        let plain: PlainPayloadValidator?
        /// The template of the shape's streams, which no other validator uses.
        let stream: StreamTemplate?
        /// The versions (floor … max(born, live), except born) that need an image, each with the path to it and the names of streams there.
        let targets: [(version: SchemaVersion, path: Path, names: StreamRenaming)]
        /// The versions up to the top at which an event of this type is seen together with others of its append. A pair that was split
        /// stays split: an event that can't be seen alone is refused alone, also after a rollback.
        let merging: [SchemaVersion]
        /// The versions whose images are stored with the event (shadows).
        let shadowed: [SchemaVersion]
        /// Determines what remains of an event when its personal data is forgotten; nil where the type has no personal data or the store
        /// has no keys.
        let persons: PersonalMembers?

        init(_ type: String, _ birth: SchemaVersion, _ shape: EventShape?, seenAt views: Views, sealed isSealed: Bool) {
            (self.type, self.birth, self.shape) = (type, birth, shape)
            (plain, stream) = (shape?.plain(), shape?.stream?.copy())
            (targets, merging, shadowed) = (views.targets, views.merging, views.shadowed)
            persons = isSealed ? shape.flatMap { PersonalMembers($0) } : nil
        }
    }

    /// The versions at which an event must be seen; the members are those of `Entry`.
    struct Views {
        var targets: [(version: SchemaVersion, path: Path, names: StreamRenaming)] = []
        var merging: [SchemaVersion] = []
        var shadowed: [SchemaVersion] = []
    }

    init(history: History, stamp: StateStamp, rules: AppendRules, options: Options) {
        (self.history, viewer, self.stamp) = (history, PathRunner(history), stamp)
        (self.rules, self.options) = (rules, options)
        merges = history.mergesEvents
        limits = JSONLimits(depth: options.jsonDepthMax, members: options.jsonMembersMax, bytes: options.eventBytesMax)
        aheadViewer = rules.ahead.map { PathRunner($0) }
    }

    /// Adds the events to store for one given event: the event itself, or its images at the live version where the program is ahead.
    /// `now` is the event's time if it names none.
    func admit(_ event: NewEvent, isJSON: Bool, at now: Timestamp, into stored: inout [StoredEvent]) throws(EvstoreError) {
        try checkSize(event)
        let birth = event.version ?? rules.version
        if let entry = known(event.type, birth), isPlainlyValid(event, entry) {
            if !isJSON { try checkMetadata(event) }
            try store(event, entry, at: now, in: &stored)
            return try checkImages(of: event, entry, at: now)
        }
        if !isJSON { try checkJSON(event) }
        if birth > stamp.top, let ahead = rules.ahead { return try downcast(event, from: birth, through: ahead, at: now, into: &stored) }
        try admit(event, bornAt: birth, at: now, into: &stored)
    }

    /// Returns the event to store for one whose payload and metadata are known to be JSON objects. The validator must not downcast.
    func admit(_ event: NewEvent, at now: Timestamp) throws(EvstoreError) -> StoredEvent {
        var stored: [StoredEvent] = []
        try admit(event, isJSON: true, at: now, into: &stored)
        return stored[0]
    }

    /// Returns the event to store for one that was admitted before.
    func stored(_ event: NewEvent, at now: Timestamp) throws(EvstoreError) -> StoredEvent {
        var stored: [StoredEvent] = []
        try store(event, entry(event.type, event.version ?? rules.version), at: now, in: &stored)
        return stored[0]
    }

    /// Whether an event's stream is the one that its type's template names; true where there is no template.
    func isInItsStream(_ event: StoredEvent) throws(EvstoreError) -> Bool {
        guard let template = try entry(event.type, event.born).stream else { return true }
        do { return try template.name(for: event.payload.lent) == event.stream.text } catch { return false }
    }

    func allows(_ birth: SchemaVersion) -> Bool { birth <= stamp.top && (birth >= stamp.floor || rules.takesOld) }

    /// Whether one pass proves that the event fits its shape and stream; false where the full check must decide and name the reason.
    private func isPlainlyValid(_ event: NewEvent, _ entry: Entry) -> Bool {
        guard let plain = entry.plain, allows(entry.birth), plain.accepts(event.payload.lent, limits, &scratch) else { return false }
        guard rules.enforcesStream, let template = entry.stream else { return true }
        return template.names(event.stream, for: event.payload.lent, using: &streamName)
    }

    private func admit(
        _ event: NewEvent, bornAt birth: SchemaVersion, at now: Timestamp, into stored: inout [StoredEvent]
    ) throws(EvstoreError) {
        guard allows(birth) else { throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top) }
        let entry = try entry(event.type, birth)
        if let shape = entry.shape {
            try shape.check(event.payload.lent, type: event.type, at: birth)
            if rules.enforcesStream, let template = entry.stream { try checkStream(event, template, at: birth) }
        }
        try store(event, entry, at: now, in: &stored)
        // Data from before versions existed that does not fit the adoption is stored unchanged.
        if birth.rawValue > 0 { try checkImages(of: event, entry, at: now) }
    }

    private func store(_ event: NewEvent, _ entry: Entry, at now: Timestamp, in stored: inout [StoredEvent]) throws(EvstoreError) {
        stored.append(
            StoredEvent(
                stream: event.stream, type: event.type, born: entry.birth, payload: event.payload, metadata: event.metadata ?? [],
                id: event.id, time: event.time ?? now))
        try addRest(to: &stored[stored.count - 1], entry)
        if entry.shadowed.isEmpty { return }
        let metadata = event.metadata ?? []
        do {
            stored[stored.count - 1].shadow = try viewer.shadow(
                of: SourceEvent(payload: event.payload.lent, time: event.time ?? now, metadata: metadata.lent),
                TypeAtVersion(type: event.type, version: entry.birth), stream: event.stream.text, for: entry.shadowed)
        } catch { throw EvstoreError(converting: error) }
    }

    private func checkSize(_ event: NewEvent) throws(EvstoreError) {
        if let time = event.time, !time.isWritable {
            throw .invalidLine(reason: "lies outside the years 0 to 9999, which RFC 3339 can write", pointer: "/time")
        }
        try options.checkEvent(payloadBytes: event.payload.count, metadataBytes: event.metadata?.count ?? 0)
        if event.type.utf8.count > options.typeNameBytesMax {
            throw .invalidLine(reason: "is longer than \(options.typeNameBytesMax) bytes", pointer: "/type")
        }
    }

    private func checkJSON(_ event: NewEvent) throws(EvstoreError) {
        try checkObject(event.payload, "a payload is a JSON object")
        try checkMetadata(event)
    }

    private func checkMetadata(_ event: NewEvent) throws(EvstoreError) {
        if let metadata = event.metadata { try checkObject(metadata, "metadata is a JSON object") }
    }

    private func checkObject(_ text: [UInt8], _ rule: String) throws(EvstoreError) {
        let kind: JSONKind
        do { kind = try JSONScanner.validate(text.lent, limits: limits) } catch { throw EvstoreError(converting: error) }
        guard kind == .object else { throw .invalidJSON(reason: rule, offset: 0) }
    }

    private func checkStream(_ event: NewEvent, _ template: StreamTemplate, at birth: SchemaVersion) throws(EvstoreError) {
        do { if try template.name(for: event.payload.lent) == event.stream.text { return } } catch {}
        throw streamMismatch(given: event.stream.text, event.payload.lent, template, event.type, at: birth)
    }

    /// The error for an event whose type belongs to another stream, or whose payload gives no stream name.
    func streamMismatch(
        given: String, _ payload: RawSpan, _ template: StreamTemplate, _ type: String, at birth: SchemaVersion
    ) -> EvstoreError {
        do {
            return .streamMismatch(given: given, expected: try template.name(for: payload), type: type, version: birth)
        } catch { return .invalidEvent(type: type, version: birth, pointer: error.pointer, reason: error.reason) }
    }

    private func checkImages(of event: NewEvent, _ entry: Entry, at now: Timestamp) throws(EvstoreError) {
        if entry.targets.isEmpty { return }
        let metadata = event.metadata ?? []
        try checkImages(entry, payload: event.payload.lent, stream: event.stream, metadata: metadata.lent, time: event.time ?? now)
    }

    /// Checks that there is an image at every version that needs one; with `version`, only at the versions above it.
    func checkImages(
        _ entry: Entry, payload: RawSpan, stream: StreamName, metadata: RawSpan, time: Timestamp, above version: SchemaVersion? = nil
    ) throws(EvstoreError) {
        do {
            let source = SourceEvent(payload: payload, time: time, metadata: metadata)
            for (target, path, names) in entry.targets where version.map({ target > $0 }) ?? true {
                if !names.isEmpty { _ = try names.name(of: stream) }
                try viewer.interpreter.run(path, source, stream: stream.text, validating: true) { _ in }
            }
        } catch { throw EvstoreError(converting: error) }
    }

    /// Downcasts an event of a program that is ahead to the live version; refuses an event without an image there.
    private func downcast(
        _ event: NewEvent, from birth: SchemaVersion, through ahead: History, at now: Timestamp, into images: inout [StoredEvent]
    ) throws(EvstoreError) {
        guard let aheadViewer, ahead.head >= birth else { throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top) }
        let shape = try ahead.requireShape(of: event.type, at: birth)
        try shape.check(event.payload.lent, type: event.type, at: birth)
        let metadata = event.metadata ?? []
        let count = images.count
        do {
            try aheadViewer.view(
                SourceEvent(payload: event.payload.lent, time: event.time ?? now, metadata: metadata.lent),
                of: TypeAtVersion(type: event.type, version: birth), stream: event.stream.text, at: stamp.live
            ) { image in
                var down = event
                (down.type, down.payload, down.version) = (image.type, [UInt8](copying: image.payload), stamp.live)
                down.stream = try ahead.streamName(event.stream, from: birth, to: stamp.live)
                if image.part > 0, let id = event.id { down.id = try EventID(id.ofPart(image.part).text) }
                try admit(down, bornAt: stamp.live, at: now, into: &images)
            }
        } catch { throw EvstoreError(converting: error) }
        if images.count == count {
            throw .noImage(
                ImageFailure(
                    type: event.type, born: birth, target: stamp.live, step: birth, op: "hide", pointer: "",
                    expected: "an event that \(stamp.live) can hold", found: "one that is hidden from it"))
        }
    }

    func merging(_ type: String, _ birth: SchemaVersion) throws(EvstoreError) -> [SchemaVersion] { try entry(type, birth).merging }

    private func known(_ type: String, _ birth: SchemaVersion) -> Entry? {
        if let lastEntry, lastEntry.birth == birth, lastEntry.type.isSame(as: type) { return lastEntry }
        guard let entry = entries[TypeAtVersion(type: type, version: birth)] else { return nil }
        lastEntry = entry
        return entry
    }

    func entry(_ type: String, _ birth: SchemaVersion) throws(EvstoreError) -> Entry {
        if let known = known(type, birth) { return known }
        let shape = birth.rawValue == 0 ? nil : try history.requireShape(of: type, at: birth)
        let last = max(birth, rules.gatesThroughTop ? stamp.top : stamp.live)
        var views = Views()
        var target = stamp.floor
        while target <= (merges ? max(last, stamp.top) : last) {
            if target != birth {
                let path = try viewer.path(type: type, born: birth, to: target)
                if path.merges {
                    views.merging.append(target)
                } else if target <= last {
                    views.targets.append((target, path, history.renaming(from: birth, to: target)))
                }
            }
            target = target.next
        }
        if birth.rawValue > 0 { views.shadowed = try viewer.shadowVersions(type: type, born: birth, floor: stamp.floor) }
        let entry = Entry(type, birth, shape, seenAt: views, sealed: options.secret != nil)
        entries[TypeAtVersion(type: type, version: birth)] = entry
        return entry
    }

    // MARK: Personal data

    /// Adds the payload that remains when the event's personal data is forgotten: the first candidate that has an image at every version
    /// that needs one, else the last.
    func addRest(to event: inout StoredEvent, _ entry: Entry) throws(EvstoreError) {
        guard let persons = entry.persons else { return }
        for substitute in PersonalMembers.Substitute.allCases {
            rest.removeAll()
            // Where the second candidate equals the payload, nothing has to be added: the payload itself remains.
            guard persons.leaveOut(of: event.payload.lent, by: substitute, into: &rest) || !event.forgotten.isEmpty else { return }
            event.forgotten = rest.array()
            do throws(EvstoreError) {
                return try checkImages(
                    entry, payload: event.forgotten.lent, stream: event.stream, metadata: event.metadata.lent, time: event.time)
            } catch {
                guard case .noImage = error else { throw error }
            }
        }
    }

    // MARK: Merged events

    private struct Group: Hashable {
        var stream: StreamName
        var born: SchemaVersion
        var target: SchemaVersion
    }

    /// Returns the errors of events in one append that steps merge with each other and that have no image, by the events' indices.
    func mergeFailures(of events: [StoredEvent]) throws(EvstoreError) -> [Int: EvstoreError] {
        guard merges else { return [:] }
        var groups: [Group: [Int]] = [:]
        for (index, event) in events.enumerated() where event.born.rawValue > 0 {
            for target in try merging(event.type, event.born) {
                groups[Group(stream: event.stream, born: event.born, target: target), default: []].append(index)
            }
        }
        var failures: [Int: EvstoreError] = [:]
        for (group, indices) in groups {
            let appended = indices.map { index in
                AppendedEvent(
                    type: events[index].type, payload: events[index].payload, metadata: events[index].metadata,
                    time: events[index].time, stream: group.stream.text)
            }
            do {
                try viewer.view(
                    appended: appended, born: group.born, at: group.target, failed: { failures[indices[$0]] = .noImage($1) }
                ) { _, _ in }
            } catch {
                // Above the live version a program that lacks a step can't decide: it goes on as before that version was live.
                if case .programNeeded = EvstoreError(converting: error), group.target > max(group.born, stamp.live) { continue }
                throw EvstoreError(converting: error)
            }
        }
        return failures
    }
}

extension EventShape {
    /// Requires that a payload fits the shape of its type at a version.
    /// - Throws: `EvstoreError.invalidEvent`.
    func check(_ payload: RawSpan, type: String, at version: SchemaVersion) throws(EvstoreError) {
        do { try validate(payload) } catch {
            throw .invalidEvent(type: type, version: version, pointer: error.pointer, reason: error.reason)
        }
    }
}

/// Keeps validators between appends. Where a validator is of an earlier state of the store, the log notices and asks for a new check.
final class AppendValidatorPool: Sendable {
    private let idle = Monitor<[AppendValidator]>([])

    /// Returns a kept validator. Makes one where none is kept or a fresh one is asked for; a new one replaces those of earlier states.
    func take(isFresh: Bool, or make: () throws(EvstoreError) -> AppendValidator) throws(EvstoreError) -> AppendValidator {
        if !isFresh, let validator = idle.withLock({ $0.popLast() }) { return validator }
        let validator = try make()
        idle.withLock { $0.removeAll { $0.stamp != validator.stamp } }
        return validator
    }

    func give(_ validator: AppendValidator) {
        idle.withLock { validators in
            if validators.count < Self.keptMax, validators.allSatisfy({ $0.stamp == validator.stamp }) { validators.append(validator) }
        }
    }

    private static let keptMax = 16
}

final class AdoptedLine: Sendable {
    let report: AdoptionReport
    /// Why the event has no image at a version that needs one; nil where it has all.
    let failure: EvstoreError?

    init(_ report: AdoptionReport, failure: EvstoreError?) { (self.report, self.failure) = (report, failure) }
}

extension AppendValidator {
    /// Adopts data from before versions existed: sets the event's stream, where the input names none, and reports which members are kept.
    /// Nil for an event that has a birth version.
    ///
    /// Data that no case of `adopt` fits is not refused: it is stored as it came.
    func adopt(_ event: inout NewEvent, line: UInt64, at now: Timestamp) throws(EvstoreError) -> AdoptedLine? {
        let birth = SchemaVersion(0)
        guard (event.version ?? rules.version) == birth else { return nil }
        guard history.adopts else { throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top) }
        let metadata = event.metadata ?? []
        var report = AdoptionReport(events: 1)
        do {
            let adopted = try viewer.adopt(
                type: event.type, payload: event.payload.lent, time: event.time ?? now, metadata: metadata.lent)
            report = AdoptionReport(adopted)
            if event.stream == .unknown { event.stream = adopted.stream ?? .unknown }
            if event.stream == .unknown {
                report.unnamed = 1
                if let why = adopted.unnamed {
                    report.unnamedLines = [UnnamedLine(line: line, type: adopted.type, pointer: why.pointer, reason: why.reason)]
                }
            }
            try checkImages(
                entry(event.type, birth), payload: event.payload.lent, stream: event.stream, metadata: metadata.lent,
                time: event.time ?? now, above: SchemaVersion(1))
            return AdoptedLine(report, failure: nil)
        } catch {
            // A missing Swift step is a fault of this program and not of the data.
            if case .programNeeded = EvstoreError(converting: error) { throw EvstoreError(converting: error) }
            report = AdoptionReport(events: 1)
            report.quarantined = 1
            return AdoptedLine(report, failure: EvstoreError(converting: error))
        }
    }
}
