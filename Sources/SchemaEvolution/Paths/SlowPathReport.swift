package import EventModel

/// Why events of a type can't be converted to another version in one pass over their bytes: their ops are applied one after the other,
/// which takes about three times as long.
package struct SlowPathReport: Hashable, Sendable {
    /// Whether this applies to all events; otherwise only to those that some op treats differently from most.
    package let isForAll: Bool
    /// The ops that have no single-pass form, in the order of the path.
    package let causes: [String]

    /// The explanation as a sentence about events of the type.
    package var words: String {
        "\(isForAll ? "every event goes" : "some events go") through the ops one by one, at about a third of the speed of one pass: "
            + causes.joined(separator: "; ")
    }
}

extension History {
    /// Nil if all events that can be converted are converted in one pass, or stay unchanged.
    package func opByOp(_ type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> SlowPathReport? {
        let path = try path(type: type, born: born, to: target)
        if path.isUntouched { return nil }
        if born.number == 0 { return SlowPathReport(isForAll: true, causes: ["it is data from before versions existed"]) }
        if path.merges { return SlowPathReport(isForAll: true, causes: ["a step merges it with others of its append"]) }
        return FusedCompiler.opByOp(path.root, of: try requireShape(of: type, at: born).shape)
    }
}
