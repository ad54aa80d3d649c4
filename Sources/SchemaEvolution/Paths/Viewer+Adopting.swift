internal import Bytes
package import EventModel
internal import JSONText

/// What adoption makes of data from before versions existed.
package struct Adopted: Sendable {
    /// The stream that it belongs in; nil where its case names none.
    package let stream: StreamName?
    package let counts: PathCounts
}

extension Viewer {
    /// How often adoption left each member behind, by pointer, since `listLeftBehind`.
    package var leftBehind: [String: Int] { workspace.leftBehind ?? [:] }

    /// Has the members that adoption leaves behind listed from now on.
    package func listLeftBehind() { workspace.leftBehind = [:] }

    /// What data from before versions existed is at version 1.
    /// - Throws: `EvstoreError.noImage` where no case takes it, or where what a case makes of it does not fit.
    package func adopt(type: String, payload: RawSpan, time: Timestamp, metadata: RawSpan) throws -> Adopted {
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
        return Adopted(stream: try name.map { name throws(EvstoreError) in try StreamName(name) }, counts: counts - before)
    }
}
