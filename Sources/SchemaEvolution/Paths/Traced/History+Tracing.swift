package import EventModel

/// What becomes of a type's images between two versions.
package enum Trace: Sendable {
    /// Each takes one of these ways, and each has an image at its end but where the way has none.
    case ways([TracedWay])
    /// An image may have none at the later version, or what it is made of can't be told; why, as a clause.
    case untold(String)
}

extension History {
    /// Follows the images that a type has at a version to a later one, all at once: what is told holds for every image that fits its shape.
    package func trace(_ type: String, from older: SchemaVersion, to newer: SchemaVersion) throws(EvstoreError) -> Trace {
        let path = try path(type: type, born: older, to: newer)
        if !path.rekeys.isEmpty { return .untold("\(path.rekeys[0])") }
        if path.merges { return .untold("several events become one") }
        if let cause = path.root.untraced { return .untold(cause) }
        let shape = try requireShape(of: type, at: older).shape
        guard let drafts = FusedCompiler.drafts(path.root, of: shape) else {
            return .untold("an op decides about each event by itself, or there are too many ways")
        }
        let ways = drafts.map { TracedWay($0, of: shape) }
        if let refusal = ways.lazy.compactMap(\.refusal).first { return .untold(refusal) }
        return .ways(ways)
    }
}

extension PathSegment {
    /// What stands on the way that is not followed; nil where all is.
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
