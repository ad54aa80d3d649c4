internal import Bytes

/// Rows in memory, and what folding operations into them leaves over: a value, so that the inner loop of a build works on memory
/// to which no other thread refers.
struct FoldedRows: ~Copyable {
    let fold: any Fold
    var rows = RowStore()
    var rejections: [Rejection] = []
    /// Where the operations of the last `apply` begin whose row is not in memory and may not be made there.
    private(set) var aside = Slots<UInt32>()
    /// Whether no new rows are made.
    var isFrozen = false
    private var workspace = FoldWorkspace()

    /// Operations whose rows are looked up together.
    private static let groupSize = 32

    init(_ fold: any Fold) { self.fold = fold }

    /// Applies the operations that begin at some of the offsets, in this order.
    mutating func apply(_ operations: RawSpan, _ offsets: borrowing Slots<UInt32>, _ range: Range<Int>) {
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

    /// Applies one operation; false where its row is not in memory and may not be made there.
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
