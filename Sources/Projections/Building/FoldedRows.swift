internal import Bytes

/// Rows in memory, and the state of folding operations into them. A value type, so that a build's inner loop works on unshared memory.
struct FoldedRows: ~Copyable {
    let fold: any Fold
    var rows = RowStore()
    var rejections: [Rejection] = []
    /// The offsets of the last `apply`'s operations whose row is not in memory and must not be created there.
    private(set) var aside = UniqueArray<UInt32>()
    var isFrozen = false
    private var workspace = FoldWorkspace()

    /// The number of operations whose rows are looked up together.
    private static let groupSize = 32

    init(_ fold: any Fold) { self.fold = fold }

    mutating func apply(_ operations: RawSpan, _ offsets: borrowing UniqueArray<UInt32>, _ range: Range<Int>) {
        aside.removeAll()
        var start = range.lowerBound
        while start < range.upperBound {
            let group = start ..< min(start + Self.groupSize, range.upperBound)
            workspace.touched &+= rows.touch(operations, offsets, group, &workspace.places)
            for index in group {
                let offset = Int(offsets[index])
                if !apply(operations.slice(offset, Operation.size(operations, at: offset))) { aside.append(offsets[index]) }
            }
            start = group.upperBound
        }
    }

    /// Applies one operation. Returns false if its row is not in memory and must not be created there.
    @inline(__always)
    mutating func apply(_ operation: RawSpan) -> Bool {
        let (key, hash) = (operation.slice(Operation.headerBytes, Operation.keyCount(operation)), Operation.hash(operation))
        var entry = rows.find(key, hash: hash)
        if entry < 0 {
            if isFrozen { return false }
            entry = rows.insert(key, hash: hash)
        }
        do throws(FoldError) { try rows.apply(operation, to: entry, fold, &workspace) } catch {
            rejections.append(Rejection(operation, error))
        }
        return true
    }
}
