internal import Bytes
package import EventModel
internal import JSONText

/// The result of adopting data from before versions existed.
package struct AdoptionResult: Sendable {
    /// The stream to which it belongs; nil if its case names none.
    package let stream: StreamName?
    package let counts: PathCounts
}

extension PathRunner {
    /// How often adoption dropped each member, by pointer, since `listLeftBehind` was called.
    package var leftBehind: [String: Int] { workspace.leftBehind ?? [:] }

    /// Starts listing the members that adoption drops.
    package func listLeftBehind() { workspace.leftBehind = [:] }

    /// Converts data from before versions existed to version 1.
    /// - Throws: `EvstoreError.noImage` if no case matches the data, or if the result does not fit its shape.
    package func adopt(type: String, payload: RawSpan, time: Timestamp, metadata: RawSpan) throws -> AdoptionResult {
        let before = counts
        var image = GroupPart(type: type, payload: [])
        try view(
            SourceEvent(payload: payload, time: time, metadata: metadata), of: TypeAtVersion(type: type, version: SchemaVersion(0)),
            stream: "", at: SchemaVersion(1), validating: true
        ) { image = GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)) }
        let name =
            if let template = workspace.adopted?.stream {
                try template.name(for: payload)
            } else {
                try history.requireShape(of: image.type, at: SchemaVersion(1)).stream?.name(for: image.payload.lent)
            }
        return AdoptionResult(stream: try name.map { name throws(EvstoreError) in try StreamName(name) }, counts: counts - before)
    }
}
