/// Where the pages of a `data.mdb` are not what LMDB may follow, and by which rule of `StructuralCheck`.
package struct StructureDamage: Error, Hashable, Sendable, CustomStringConvertible {
    package let page: UInt64
    /// The tree that leads there: a table's name, "main" or "free".
    package let tree: String
    package let rule: Int
    package let reason: String

    package var description: String { "page \(page), in the tree \(tree): \(reason) (rule \(rule))" }
}

/// What a walk over all pages has found.
package struct StructureReport: Hashable, Sendable {
    package internal(set) var branchPages: UInt64 = 0
    package internal(set) var leafPages: UInt64 = 0
    package internal(set) var overflowPages: UInt64 = 0
    /// Pages of the free list, which the next commits use again.
    package internal(set) var freePages: UInt64 = 0
    /// Pages that nothing leads to: leaked room, and no damage.
    package internal(set) var lostPages: UInt64 = 0
    /// How many entries each table has.
    package internal(set) var entries: [String: UInt64] = [:]
    /// The commit whose pages these are.
    package internal(set) var transaction: UInt64
}
