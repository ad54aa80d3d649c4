internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// The operations on one row, with their offsets in the order of the log.
struct RowOperations: ~Escapable {
    let key: RawSpan
    let bytes: RawSpan
    let offsets: ArraySlice<Int>

    @_lifetime(copy key, copy bytes)
    init(key: RawSpan, bytes: RawSpan, offsets: ArraySlice<Int>) {
        (self.key, self.bytes, self.offsets) = (key, bytes, offsets)
    }
}

/// The operations and rejections of one definition, produced by one thread.
struct PreparedOperations: ~Copyable, Sendable {
    private let fold: any Fold
    private var operations: OperationBuffer
    private(set) var rejections: [Rejection] = []
    /// The last event, the offset of its first operation, and whether it was rejected.
    private var position: Position?
    private var eventStart = 0
    private var isRejected = false
    /// The offsets of each partition's operations in the order of the log, after `distribute`.
    private var offsets = UniqueArray<UInt32>()
    private var starts: [Int] = []

    init(_ fold: any Fold, keyBytesMax: Int) {
        self.fold = fold
        operations = OperationBuffer(keyBytesMax: keyBytesMax)
    }

    var bytes: Int { operations.bytes.count }

    mutating func removeAll() {
        operations.bytes.removeAll()
        rejections.removeAll(keepingCapacity: true)
        position = nil
    }

    mutating func prepare(
        _ facts: borrowing EventFacts, _ image: borrowing Image, _ call: borrowing RuleCall, _ workspace: inout FoldWorkspace
    ) {
        begin(facts.position)
        if isRejected { return }
        do throws(FoldError) {
            try fold.prepare(facts, image, call, &workspace, into: &operations)
        } catch { reject(facts.position, .fold(error, key: nil)) }
    }

    /// Rejects an event and removes its operations.
    mutating func reject(_ event: Position, _ reason: Rejection.Reason) {
        begin(event)
        operations.bytes.truncate(to: eventStart)
        if !isRejected { rejections.append(Rejection(position: event, ordinal: 0, reason: reason)) }
        isRejected = true
    }

    private mutating func begin(_ event: Position) {
        if position == event { return }
        position = event
        operations.ordinal = 0
        eventStart = operations.bytes.count
        isRejected = false
    }

    /// Distributes the operations among partitions, at least two, by the upper bits of their keys' hashes.
    mutating func distribute(among partitions: Int) {
        let shift = UInt64(64 - partitions.trailingZeroBitCount)
        var ends = UniqueArray<Int>(repeating: 0, count: partitions + 1)
        var total = 0
        forEach { operation in
            ends[Int(Operation.hash(operation) >> shift) + 1] += 1
            total += 1
        }
        for index in 1 ... partitions { ends[index] += ends[index - 1] }
        starts = (0 ... partitions).map { ends[$0] }
        offsets.removeAll()
        offsets.fill(0 ..< total, with: 0)
        Self.place(operations, shift, &ends, &offsets)
    }

    private static func place(
        _ operations: borrowing OperationBuffer, _ shift: UInt64, _ ends: inout UniqueArray<Int>,
        _ offsets: inout UniqueArray<UInt32>
    ) {
        var offset = 0
        while offset < operations.bytes.count {
            let partition = Int(Operation.hash(operations.bytes.bytes, at: offset) >> shift)
            offsets[ends[partition]] = UInt32(offset)
            ends[partition] += 1
            offset += Operation.size(operations.bytes.bytes, at: offset)
        }
    }

    /// Lends all operations, their offsets, and the range of offsets that belong to one partition, in order.
    func lend(_ partition: Int, _ body: (RawSpan, borrowing UniqueArray<UInt32>, Range<Int>) throws -> Void) rethrows {
        try body(operations.bytes.bytes, offsets, starts[partition] ..< starts[partition + 1])
    }

    /// Lends the operations of each row together; rows come in key order.
    func forEachRow(_ body: (borrowing RowOperations) throws -> Void) rethrows {
        let all = operations.bytes.bytes
        // Most comparisons are decided by the first eight bytes.
        var order: [(prefix: UInt64, offset: Int)] = []
        var offset = 0
        while offset < all.byteCount {
            order.append((Operation.key(all, at: offset).prefix, offset))
            offset += Operation.size(all, at: offset)
        }
        order.sort { a, b in
            if a.prefix != b.prefix { return a.prefix < b.prefix }
            let difference = Operation.key(all, at: a.offset).compare(Operation.key(all, at: b.offset))
            return difference == 0 ? a.offset < b.offset : difference < 0
        }
        let offsets = order.map(\.offset)
        var start = 0
        while start < offsets.count {
            let key = Operation.key(all, at: offsets[start])
            var end = start + 1
            while end < offsets.count, Operation.key(all, at: offsets[end]).equals(key) { end += 1 }
            try body(RowOperations(key: key, bytes: all, offsets: offsets[start ..< end]))
            start = end
        }
    }

    /// Lends the operations one by one, in order.
    func forEach(_ body: (RawSpan) throws -> Void) rethrows {
        var offset = 0
        while offset < operations.bytes.count {
            let size = Operation.size(operations.bytes.bytes, at: offset)
            try body(operations.bytes.slice(offset, size))
            offset += size
        }
    }
}
