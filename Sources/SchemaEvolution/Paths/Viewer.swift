package import Bytes
package import EventModel
package import JSONText

/// An event as it is seen at one version; its payload is lent for the call that hands it over.
package struct Image: ~Escapable {
    package let type: String
    /// The type's index in `history.types(at: target)`.
    package let typeIndex: Int
    package let payload: RawSpan
    /// 0, 1 … where one event is seen as several.
    package let part: Int
    /// Whether the payload is the event's. Else it is made of the values that were asked for.
    package let isWhole: Bool
    /// Where in the payload each value stands that was asked for.
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

/// What the images of an event are made from, but for the name of its stream; lent for one call.
package struct SourceEvent: ~Escapable {
    package let payload: RawSpan
    package let time: Timestamp
    /// Empty where the event has none.
    package let metadata: RawSpan

    @_lifetime(copy payload, copy metadata)
    package init(payload: RawSpan, time: Timestamp, metadata: RawSpan) {
        (self.payload, self.time, self.metadata) = (payload, time, metadata)
    }

    /// - Parameter stream: nil where the path does not read it.
    @_lifetime(copy self)
    func context(stream: String?) -> EventContext { EventContext(time: time, stream: stream, metadata: metadata) }
}

/// Runs compiled paths: the one function that decodes an event. One per thread, reused; once warm it
/// allocates nothing for an event.
package final class Viewer {
    package let history: History
    var workspace = Workspace()
    private var paths: [Key: Path] = [:]
    private var groups: [GroupKey: PathGroup] = [:]

    private struct Key: Hashable {
        let type: Name
        let born, target: SchemaVersion
    }

    private struct GroupKey: Hashable {
        let types: [Name]
        let born, target: SchemaVersion
    }

    /// More kinds of appends than this are compiled each time: of lists of any length there may be any number.
    private static let groupsMax = 256

    package init(_ history: History) { self.history = history }

    /// What images have cost since this viewer was made.
    package var counts: PathCounts { workspace.counts }

    /// Which way the last event took that was led along a path: a hash of what its program decided; 0 where its ops were followed.
    package var way: UInt64 { workspace.way ?? 0 }

    /// The path of a type, compiled once.
    package func path(type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> Path {
        let key = Key(type: Name(type), born: born, target: target)
        if let path = paths[key] { return path }
        var path = try history.path(type: type, born: born, to: target)
        // Data from before versions existed has no shape to rely on.
        if born.number > 0 { path = path.fused(for: try history.requireShape(of: type, at: born)) }
        paths[key] = path
        return path
    }

    /// The paths of events that are seen together.
    func group(of types: [String], born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> PathGroup {
        let key = GroupKey(types: types.map { Name($0) }, born: born, target: target)
        if let group = groups[key] { return group }
        let group = try PathCompiler.compile(history, group: types, born: born, to: target)
        if groups.count < Self.groupsMax { groups[key] = group }
        return group
    }

    /// The path for one who does not need whole images: `reading` gives, for a type, pointers to all that is looked at, and
    /// nil where that is the whole payload. Where it can be done, images come without what nobody looks at.
    package func path(
        type: String, born: SchemaVersion, to target: SchemaVersion, reading: @escaping (String) -> [JSONPointer]?
    ) throws(EvstoreError) -> Path {
        let path = try path(type: type, born: born, to: target)
        if path.fused == nil { return path }
        return path.fused(for: try history.requireShape(of: type, at: born), reading: reading)
    }

    /// Calls the body once for each image of an event at a version, in order: none where a step hides or drops it.
    ///
    /// - Parameters:
    ///   - kind: the event's type and birth version.
    ///   - stream: the stream's name; evaluated only where the path reads it.
    ///   - validating: whether every image is checked against its shape, also where the steps prove that it fits.
    /// - Throws: `EvstoreError.noImage`, without a position, or what the body throws.
    package func view(
        _ event: borrowing SourceEvent, of kind: TypeAtVersion, stream: @autoclosure () throws -> String, at target: SchemaVersion,
        validating: Bool = false, _ body: (borrowing Image) throws -> Void
    ) throws {
        let path = try path(type: kind.type, born: kind.version, to: target)
        try run(path, event, stream: try stream(), validating: validating, body)
    }

    /// Calls the body once for each image of the parts of one event: where the way down leads through their split, they are joined
    /// again.
    /// - Throws: as for one event.
    package func view(
        group: [GroupPart], born: SchemaVersion, _ context: borrowing EventContext, at target: SchemaVersion, validating: Bool = false,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        let paths = try self.group(of: group.map(\.type), born: born, to: target)
        try workspace.run(paths, group, context, validating: validating, body)
    }

    /// Calls the body once for each image along a path that the caller keeps.
    /// - Throws: as for one event.
    package func run(
        _ path: Path, _ event: borrowing SourceEvent, stream: @autoclosure () throws -> String, validating: Bool = false,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        try Self.run(path, event, stream: try stream(), validating: validating, in: &workspace, body)
    }

    /// Calls the body once for each image along a path, with the buffers that the caller reuses from event to event.
    /// - Throws: as for one event.
    package static func run(
        _ path: Path, _ event: borrowing SourceEvent, stream: @autoclosure () throws -> String, validating: Bool = false,
        in workspace: inout Workspace, _ body: (borrowing Image) throws -> Void
    ) throws {
        let checked = CheckedPath(path: path, checksAll: validating)
        if let end = path.unchanged {
            workspace.way = 0
            try checked.check(end, event.payload)
            try body(Image(type: end.type, typeIndex: end.typeIndex, payload: event.payload, part: 0))
            return
        }
        try workspace.run(checked, event.payload, event.context(stream: path.readsStream ? try stream() : nil), body)
    }
}
