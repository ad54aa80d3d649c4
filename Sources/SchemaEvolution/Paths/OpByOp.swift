package import EventModel

/// Why events of a type don't become what they are at another version in one pass over their bytes: their ops are done one after the
/// other, which takes about three times as long.
package struct OpByOp: Hashable, Sendable {
    /// Whether all of them go that way; else those that some op treats otherwise than most.
    package let isForAll: Bool
    /// What has no form in one pass, in the order of the way.
    package let causes: [String]

    /// The same as a sentence about events of the type.
    package var words: String {
        "\(isForAll ? "every event goes" : "some events go") through the ops one by one, at about a third of the speed of one pass: "
            + causes.joined(separator: "; ")
    }
}

extension History {
    /// Nil where all events that can get through do so in one pass, or stay as they are.
    package func opByOp(_ type: String, born: SchemaVersion, to target: SchemaVersion) throws(EvstoreError) -> OpByOp? {
        let path = try path(type: type, born: born, to: target)
        if path.isUntouched { return nil }
        if born.number == 0 { return OpByOp(isForAll: true, causes: ["it is data from before versions existed"]) }
        if path.merges { return OpByOp(isForAll: true, causes: ["a step merges it with others of its append"]) }
        return FusedCompiler.opByOp(path.root, of: try requireShape(of: type, at: born).shape)
    }
}
