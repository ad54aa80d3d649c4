/// Where the pages of a `data.mdb` break a rule of `StructuralCheck`, and which one.
package struct StructureDamage: Error, Hashable, Sendable, CustomStringConvertible {
    package let page: UInt64
    /// The tree that leads there: a table's name, "main" or "free".
    package let tree: String
    package let rule: Int
    package let reason: String

    package var description: String { "page \(page), in the tree \(tree): \(reason) (rule \(rule))" }
}

/// The result of a walk over all pages.
package struct StructureReport: Hashable, Sendable {
    package internal(set) var branchPages: UInt64 = 0
    package internal(set) var leafPages: UInt64 = 0
    package internal(set) var overflowPages: UInt64 = 0
    /// Pages of the free list, which later commits reuse.
    package internal(set) var freePages: UInt64 = 0
    /// Pages that nothing leads to: leaked space, and no damage.
    package internal(set) var lostPages: UInt64 = 0
    /// How many entries each table has.
    package internal(set) var entries: [String: UInt64] = [:]
    /// The commit that was walked.
    package internal(set) var transaction: UInt64
}
