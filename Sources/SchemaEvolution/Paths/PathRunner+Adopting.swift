internal import Bytes
package import EventModel
internal import JSONText

/// The result of adopting data from before versions existed.
package struct AdoptionResult: Sendable {
    /// The type of the event that it becomes.
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
        workspace.leftBehind = [:]
        defer { workspace.leftBehind = nil }
        var image = GroupPart(type: type, payload: [])
        try view(
            SourceEvent(payload: payload, time: time, metadata: metadata), of: TypeAtVersion(type: type, version: SchemaVersion(0)),
            stream: "", at: SchemaVersion(1), validating: true
        ) { image = GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)) }
        let own = try history.requireShape(of: image.type, at: SchemaVersion(1)).stream
        var (name, unnamed): (String?, ShapeError?)
        do throws(ShapeError) {
            name =
                if let template = workspace.adopted?.stream {
                    try template.name(for: payload)
                } else {
                    try own?.name(for: image.payload.lent)
                }
        } catch { unnamed = error }
        return AdoptionResult(
            type: image.type, stream: try name.map { name throws(EvstoreError) in try StreamName(name) }, unnamed: unnamed,
            counts: counts - before, leftBehind: workspace.leftBehind ?? [:])
    }
}
