package import EventModel

/// The symbolic conversion of a type's images from one version to a later one.
package enum TraceResult: Sendable {
    /// Each image takes one of these branches, and has an image at its end unless the branch has none.
    case branches([TracedBranch])
    /// An image may have no counterpart at the later version, or its composition can't be determined; the reason, as a clause.
    case undetermined(String)
}

extension History {
    /// Converts the images that a type has at a version to a later one, symbolically: the result holds for every image that fits its shape.
    package func trace(_ type: String, from older: SchemaVersion, to newer: SchemaVersion) throws(EvstoreError) -> TraceResult {
        let path = try path(type: type, born: older, to: newer)
        if !path.rekeys.isEmpty { return .undetermined("\(path.rekeys[0])") }
        if path.merges { return .undetermined("several events become one") }
        if let cause = path.root.untraced { return .undetermined(cause) }
        let shape = try requireShape(of: type, at: older).shape
        guard let drafts = FusedCompiler.drafts(path.root, of: shape) else {
            return .undetermined("an op decides about each event by itself, or there are too many ways")
        }
        let branches = drafts.map { TracedBranch($0, of: shape) }
        if let refusal = branches.lazy.compactMap(\.refusal).first { return .undetermined(refusal) }
        return .branches(branches)
    }
}

extension PathSegment {
    /// The part of the path that can't be traced; nil if all of it can.
    fileprivate var untraced: String? {
        var cause: String?
        visit { segment in
            switch segment.next {
            case .fan: cause = "one event becomes several"
            case .junction: cause = "several events become one"
            case .adoption: cause = "it is data from before versions existed"
            case .blocked: cause = "it has no image"
            case .end, .dispatch, .hidden, .dropped: break
            }
        }
        return cause
    }
}
