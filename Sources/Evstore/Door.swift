internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// What may come in: the birth version where an event names none, and how strict the door is.
struct DoorRules: Sendable {
    var version: SchemaVersion
    /// Events born below the floor are taken too: they need only the way up.
    var takesOld = false
    /// The stream must be the one that the type's template names.
    var enforcesStream = true
    /// The chain of a program that is ahead of the store: its events are taken down to the live version.
    var ahead: History?
}

/// Checks events against their shapes, and that each has a valid image at every version it must have one at.
///
/// Made for one state of the store and used by one thread.
final class Door: @unchecked Sendable {
    // Sound because whoever has it has it alone: `DoorPool` hands each to one caller at a time.
    let stamp: StateStamp
    let history: History
    let rules: DoorRules
    let options: Options
    private let limits: JSONLimits
    let viewer: Viewer
    let rekeys: Bool
    private let aheadViewer: Viewer?
    /// Whether an event has come that steps merge with others.
    private(set) var merges = false
    private var entries: [TypeAtVersion: Entry] = [:]
    /// Of the line that was looked at last.
    var lastEntry: Entry?
    /// The name of a stream, to compare it; kept between lines.
    var streamName = ByteBuffer(capacity: 256)

    /// What there is to check of a type at a birth version.
    final class Entry {
        let type: String
        let birth: SchemaVersion
        /// Nil for data from before versions existed.
        let shape: EventShape?
        /// Where an image must be, floor … max(born, live) without born itself, and the path to it.
        let targets: [(version: SchemaVersion, path: Path)]
        /// The versions in that range at which it is seen together with others of its append.
        let merging: [SchemaVersion]
        /// The versions for which what they see is kept with the event.
        let shadowed: [SchemaVersion]

        init(
            _ type: String, _ birth: SchemaVersion, _ shape: EventShape?, targets: [(version: SchemaVersion, path: Path)],
            merging: [SchemaVersion], shadowed: [SchemaVersion]
        ) {
            (self.type, self.birth, self.shape, self.targets) = (type, birth, shape, targets)
            (self.merging, self.shadowed) = (merging, shadowed)
        }
    }

    init(history: History, stamp: StateStamp, rules: DoorRules, options: Options) {
        (self.history, viewer, self.stamp) = (history, Viewer(history), stamp)
        (self.rules, self.options) = (rules, options)
        rekeys = history.rekeysStreams
        limits = JSONLimits(depth: options.jsonDepthMax, members: options.jsonMembersMax, bytes: options.eventBytesMax)
        aheadViewer = rules.ahead.map { Viewer($0) }
    }

    /// The events to store for one given event: itself, or what it is at the live version where the program is ahead.
    func admit(_ event: NewEvent, isJSON: Bool = false) throws(EvstoreError) -> [StoredEvent] {
        try checkSize(event)
        if !isJSON { try checkJSON(event) }
        let birth = event.version ?? rules.version
        if birth > stamp.top, let ahead = rules.ahead { return try takeDown(event, from: birth, through: ahead) }
        return [try admit(event, bornAt: birth)]
    }

    /// The event to store, of one that was admitted before.
    func stored(_ event: NewEvent) throws(EvstoreError) -> StoredEvent { try stored(event, bornAt: event.version ?? rules.version) }

    /// Whether an event's stream is the one that its type's template names; true where there is no template.
    func isInItsStream(_ event: StoredEvent) throws(EvstoreError) -> Bool {
        guard let template = try entry(event.type, event.born).shape?.stream else { return true }
        do { return try template.name(for: event.payload.lent) == event.stream.text } catch { return false }
    }

    private func admit(_ event: NewEvent, bornAt birth: SchemaVersion) throws(EvstoreError) -> StoredEvent {
        guard birth <= stamp.top, birth >= stamp.floor || rules.takesOld else {
            throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top)
        }
        let entry = try entry(event.type, birth)
        if let shape = entry.shape {
            do { try shape.validate(event.payload.lent) } catch {
                throw .invalidEvent(type: event.type, version: birth, pointer: error.pointer, reason: error.reason)
            }
            if rules.enforcesStream, let template = shape.stream { try checkStream(event, template, at: birth) }
        }
        let stored = try stored(event, bornAt: birth)
        // What adoption does not take is kept as it came.
        if birth.rawValue > 0 { for target in entry.targets { try checkImages(of: stored, at: target.version) } }
        return stored
    }

    private func stored(_ event: NewEvent, bornAt birth: SchemaVersion) throws(EvstoreError) -> StoredEvent {
        var stored = StoredEvent(
            stream: event.stream, type: event.type, born: birth, payload: event.payload, metadata: event.metadata ?? [], id: event.id,
            time: event.time ?? .now)
        let shadowed = try entry(event.type, birth).shadowed
        if shadowed.isEmpty { return stored }
        do {
            stored.shadow = try viewer.shadow(
                type: stored.type, born: birth, payload: stored.payload.lent, time: stored.time, stream: stored.stream.text,
                metadata: stored.metadata.lent, for: shadowed)
        } catch { throw EvstoreError(converting: error) }
        return stored
    }

    private func checkSize(_ event: NewEvent) throws(EvstoreError) {
        let bytes = event.payload.count + (event.metadata?.count ?? 0)
        if bytes > options.eventBytesMax { throw .eventTooLarge(bytes: bytes, limit: options.eventBytesMax) }
        if event.type.utf8.count > options.typeNameBytesMax {
            throw .invalidLine(reason: "is longer than \(options.typeNameBytesMax) bytes", pointer: "/type")
        }
    }

    private func checkJSON(_ event: NewEvent) throws(EvstoreError) {
        do {
            guard try JSONScanner.validate(event.payload.lent, limits: limits) == .object else {
                throw EvstoreError.invalidJSON(reason: "a payload is a JSON object", offset: 0)
            }
            guard let metadata = event.metadata else { return }
            guard try JSONScanner.validate(metadata.lent, limits: limits) == .object else {
                throw EvstoreError.invalidJSON(reason: "metadata is a JSON object", offset: 0)
            }
        } catch { throw EvstoreError(converting: error) }
    }

    private func checkStream(_ event: NewEvent, _ template: StreamTemplate, at birth: SchemaVersion) throws(EvstoreError) {
        let expected: String
        do { expected = try template.name(for: event.payload.lent) } catch {
            throw .invalidEvent(type: event.type, version: birth, pointer: error.pointer, reason: error.reason)
        }
        guard expected == event.stream.text else {
            throw .streamMismatch(given: event.stream.text, expected: expected, type: event.type, version: birth)
        }
    }

    func checkImages(of event: StoredEvent, at target: SchemaVersion) throws(EvstoreError) {
        do {
            if rekeys { _ = try history.streamName(event.stream, from: event.born, to: target) }
            try viewer.view(
                type: event.type, born: event.born, payload: event.payload.lent, time: event.time, stream: event.stream.text,
                metadata: event.metadata.lent, at: target, validating: true
            ) { _ in }
        } catch { throw EvstoreError(converting: error) }
    }

    /// The images at the live version of an event of a program that is ahead; one that has none is refused.
    private func takeDown(_ event: NewEvent, from birth: SchemaVersion, through ahead: History) throws(EvstoreError) -> [StoredEvent] {
        guard let aheadViewer, ahead.head >= birth else { throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top) }
        let shape = try ahead.requireShape(of: event.type, at: birth)
        do { try shape.validate(event.payload.lent) } catch {
            throw .invalidEvent(type: event.type, version: birth, pointer: error.pointer, reason: error.reason)
        }
        let metadata = event.metadata ?? []
        var images: [StoredEvent] = []
        do {
            try aheadViewer.view(
                type: event.type, born: birth, payload: event.payload.lent, time: event.time ?? .now, stream: event.stream.text,
                metadata: metadata.lent, at: stamp.live
            ) { image in
                var down = event
                (down.type, down.payload, down.version) = (image.type, [UInt8](copying: image.payload), stamp.live)
                down.stream = try ahead.streamName(event.stream, from: birth, to: stamp.live)
                if image.part > 0, let id = event.id { down.id = try EventID("\(id)#\(image.part)") }
                images.append(try admit(down, bornAt: stamp.live))
            }
        } catch { throw EvstoreError(converting: error) }
        if images.isEmpty {
            throw .noImage(
                ImageFailure(
                    type: event.type, born: birth, target: stamp.live, step: birth, op: "hide", pointer: "",
                    expected: "an event that \(stamp.live) can hold", found: "one that is hidden from it"))
        }
        return images
    }

    /// Whether events that name no birth version are from before versions existed.
    var takesOldData: Bool { rules.version.rawValue == 0 }

    /// The versions at which an event must have an image.
    func targets(of type: String, bornAt birth: SchemaVersion) throws(EvstoreError) -> [SchemaVersion] {
        try entry(type, birth).targets.map(\.version)
    }

    func merging(_ type: String, _ birth: SchemaVersion) throws(EvstoreError) -> [SchemaVersion] { try entry(type, birth).merging }

    func entry(_ type: String, _ birth: SchemaVersion) throws(EvstoreError) -> Entry {
        let key = TypeAtVersion(type: type, version: birth)
        if let known = entries[key] { return known }
        let shape = birth.rawValue == 0 ? nil : try history.requireShape(of: type, at: birth)
        let last = max(birth, stamp.live)
        var targets: [(version: SchemaVersion, path: Path)] = []
        var merging: [SchemaVersion] = []
        var target = stamp.floor
        while target <= last {
            if target != birth {
                let path = try viewer.path(type: type, born: birth, to: target)
                if path.merges { merging.append(target) } else { targets.append((target, path)) }
            }
            target = target.next
        }
        let shadowed = birth.rawValue == 0 ? [] : try viewer.shadowed(type: type, born: birth, floor: stamp.floor)
        let entry = Entry(type, birth, shape, targets: targets, merging: merging, shadowed: shadowed)
        merges = merges || !merging.isEmpty
        entries[key] = entry
        return entry
    }
}
