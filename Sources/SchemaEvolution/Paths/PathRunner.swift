package import Bytes
package import EventModel
package import JSONText

/// An event as seen at one version. Its payload is borrowed for the duration of the call that receives the image.
package struct Image: ~Escapable {
    package let type: String
    /// The index of the type in `history.types(at: target)`.
    package let typeIndex: Int
    package let payload: RawSpan
    /// The index of this image if one event is seen as several: 0, 1 …
    package let part: Int
    /// Whether the payload is the complete payload; otherwise it contains only the requested values.
    package let isWhole: Bool
    /// The ranges of the requested values in the payload.
    package let places: Span<ByteSlice>

    @_lifetime(copy payload)
    package init(type: String, typeIndex: Int, payload: RawSpan, part: Int) {
        (self.type, self.typeIndex, self.payload, self.part) = (type, typeIndex, payload, part)
        (isWhole, places) = (true, Span())
    }

    @_lifetime(copy values, copy places)
    init(_ end: PathEnd, values: RawSpan, at places: Span<ByteSlice>, part: Int) {
        (type, typeIndex, payload, self.part) = (end.type, end.typeIndex, values, part)
        (isWhole, self.places) = (false, places)
    }
}

/// The input from which an event's images are made, except for the name of its stream; borrowed for one call.
package struct SourceEvent: ~Escapable {
    package let payload: RawSpan
    package let time: Timestamp
    /// Empty if the event has no metadata.
    package let metadata: RawSpan
    /// Whether other values stand in the place of its personal ones, which were not read.
    package let isImpersonal: Bool

    @_lifetime(copy payload, copy metadata)
    package init(payload: RawSpan, time: Timestamp, metadata: RawSpan, isImpersonal: Bool = false) {
        (self.payload, self.time, self.metadata, self.isImpersonal) = (payload, time, metadata, isImpersonal)
    }

    /// - Parameter stream: the name of the event's stream; nil if the path does not read it.
    @_lifetime(copy self)
    func context(stream: String?) -> EventContext { EventContext(time: time, stream: stream, metadata: metadata) }
}

struct PathKey: Hashable {
    let type: Name
    let born, target: SchemaVersion
}

/// Compiles and keeps the paths of a history's events, and runs them. Each thread has its own and reuses it; once warm, it allocates
/// nothing for an event.
package final class PathRunner {
    package let history: History
    package var interpreter = PathInterpreter()
    private var paths: [PathKey: Path] = [:]
    private var groups: [GroupKey: PathGroup] = [:]
    /// The group that was used last: most appends consist of the types of the one before.
    private var recent: (key: GroupKey, group: PathGroup)?
    /// The number of ops of the cached paths, and one for each path.
    private var ops = 0
    private let opsMax: Int

    private struct GroupKey: Hashable {
        let types: [Name]
        let born, target: SchemaVersion
    }

    /// The maximum number of cached groups. Appends may consist of any number of type combinations; further ones are compiled each time.
    private static let groupsMax = 256

    /// - Parameter opsMax: how many ops the cached paths may have together. The paths between all pairs of versions grow with the third
    ///   power of the number of versions, so a caller that needs each only for a while limits them.
    package init(_ history: History, opsMax: Int = .max) { (self.history, self.opsMax) = (history, opsMax) }

    /// The counts over all images since this object was created.
    package var counts: PathCounts { interpreter.counts }

    /// A hash of the decisions that the program made for the last event that took a path; 0 if its ops ran one by one.
    package var trace: UInt64 { interpreter.trace ?? 0 }

    /// The path of a type, compiled once unless it had to make room.
    package func path(type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        let key = PathKey(type: Name(type), born: born, target: target)
        if let path = paths[key] { return path }
        var path = try history.path(type: type, born: born, to: target)
        // Data from before versions existed has no shape that a fused program could rely on.
        if born.number > 0 { path = path.fused(for: try history.requireShape(of: type, at: born)) }
        var size = 1
        path.root.visit { size += $0.ops.count }
        if ops > opsMax - size {
            paths.removeAll()
            ops = 0
        }
        ops += size
        paths[key] = path
        return path
    }

    private func group<Event>(
        of events: [Event], born: SchemaVersion, to target: SchemaVersion, type: (Event) -> String
    ) throws(EvstoreError) -> PathGroup {
        if let (key, group) = recent, key.born == born, key.target == target, key.types.count == events.count,
            events.indices.allSatisfy({ key.types[$0] == Name(type(events[$0])) })
        {
            return group
        }
        let key = GroupKey(types: events.map { Name(type($0)) }, born: born, target: target)
        let group =
            if let known = groups[key] { known } else { try PathCompiler.compile(history, group: events.map(type), born: born, to: target) }
        if groups.count < Self.groupsMax { groups[key] = group }
        recent = (key, group)
        return group
    }

    /// A path for callers that do not need complete images. For each type, `reading` returns the pointers that the caller reads; nil means
    /// the whole payload. If possible, images then contain only these values.
    package func path(
        type: String, born: SchemaVersion, to target: SchemaVersion, reading: @escaping (String) -> [JSONPointer]?
    ) throws(EvstoreError) -> Path {
        let path = try path(type: type, born: born, to: target)
        if path.fused == nil { return path }
        return path.fused(for: try history.requireShape(of: type, at: born), reading: reading)
    }

    /// As `PathInterpreter.run`, for an event of a type and birth version that is seen at a version.
    package func view(
        _ event: borrowing SourceEvent, of kind: TypeAtVersion, stream: @autoclosure () throws -> String, at target: SchemaVersion,
        validating: Bool = false, _ body: (borrowing Image) throws -> Void
    ) throws {
        let path = try path(type: kind.type, born: kind.version, to: target)
        try interpreter.run(path, event, stream: try stream(), validating: validating, body)
    }

    /// Calls the body once for each image of the parts of one event. Where the path crosses their split downwards, the parts are joined
    /// again.
    /// - Throws: as for one event.
    package func view(
        group: [GroupPart], born: SchemaVersion, _ context: borrowing EventContext, at target: SchemaVersion, validating: Bool = false,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        if group.isEmpty { return }
        let paths = try self.group(of: group, born: born, to: target) { $0.type }
        try interpreter.run(paths, group, context, validating: validating, body)
    }

    /// Whether a path that was compiled for what `reading` returns makes the same images of an event whose personal values were replaced by
    /// others of their shapes, unless its program leaves the event to the ops.
    package func ignoresPersons(_ path: Path, reading: (String) -> [JSONPointer]?) throws(EvstoreError) -> Bool {
        // A version before the event's own may be shown its shadow, which is personal.
        if path.merges || path.target < path.born || path.born.number == 0 { return false }
        if let program = path.fused { return !program.readsPersons }
        guard path.isUntouched, let end = path.unchanged, let pointers = reading(end.type) else { return false }
        let shape = try history.requireShape(of: path.type, at: path.born).shape
        return !pointers.contains { shape.isPersonal(at: $0) || (shape.shape(at: $0)?.hasPersons ?? true) }
    }
}

/// An event of an append whose events may be merged.
package struct AppendedEvent: Sendable {
    package var type: String
    package var payload: [UInt8]
    package var metadata: [UInt8]
    package var time: Timestamp
    package var stream: String
    /// For a part of one event among other parts in the list, the index of the first part.
    package var first: Int?

    package init(type: String, payload: [UInt8], metadata: [UInt8], time: Timestamp, stream: String, first: Int? = nil) {
        (self.type, self.payload, self.metadata, self.time, self.stream) = (type, payload, metadata, time, stream)
        self.first = first
    }
}

extension PathRunner {
    /// Calls the body with each image of events of one append, stream and birth version, and the index of the event to which it belongs:
    /// for merged events, the last of them.
    ///
    /// - Parameters:
    ///   - failed: called for each event that has no image.
    ///   - met: called with the events that a step merges, in order, and whether there was one of each type. Events that were merged before
    ///     are represented by the last of them.
    package func view(
        appended events: [AppendedEvent], born: SchemaVersion, at target: SchemaVersion, failed: (Int, ImageFailure) -> Void,
        met: ([Int], Bool) -> Void = { _, _ in }, _ body: (Int, borrowing Image) -> Void
    ) throws {
        if events.isEmpty { return }
        let group = try group(of: events, born: born, to: target) { $0.type }
        try interpreter.run(group, appended: events, failed: failed, met: met, body)
    }
}

/// The result of adopting data from before versions existed.
package struct AdoptionResult: Sendable {
    package let type: String
    /// The stream to which it belongs; nil if no template names one.
    package let stream: StreamName?
    /// Why the template of its case, or of its type, names no stream; nil if it names one, or if there is none.
    package let unnamed: ShapeError?
    package let counts: PathCounts
    /// How often each member was not kept, by pointer.
    package let leftBehind: [String: Int]
}

extension PathRunner {
    /// Converts data from before versions existed to version 1.
    /// - Throws: `EvstoreError.noImage` if no case matches the data, or if the result does not fit its shape. A template that names no stream
    ///   is no error, since reads do not ask it.
    package func adopt(type: String, payload: RawSpan, time: Timestamp, metadata: RawSpan) throws -> AdoptionResult {
        let before = counts
        interpreter.leftBehind = [:]
        defer { interpreter.leftBehind = nil }
        var image = GroupPart(type: type, payload: [])
        try view(
            SourceEvent(payload: payload, time: time, metadata: metadata), of: TypeAtVersion(type: type, version: SchemaVersion(0)),
            stream: "", at: SchemaVersion(1), validating: true
        ) { image = GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)) }
        let own = try history.requireShape(of: image.type, at: SchemaVersion(1)).stream
        var (name, unnamed): (String?, ShapeError?)
        do throws(ShapeError) {
            name =
                if let template = interpreter.adopted?.stream {
                    try template.name(for: payload)
                } else {
                    try own?.name(for: image.payload.lent)
                }
        } catch { unnamed = error }
        return AdoptionResult(
            type: image.type, stream: try name.map { name throws(EvstoreError) in try StreamName(name) }, unnamed: unnamed,
            counts: counts - before, leftBehind: interpreter.leftBehind ?? [:])
    }
}
