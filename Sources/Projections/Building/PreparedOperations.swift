internal import Bytes
internal import EventModel

/// The operations and rejections of one definition, from one thread.
final class PreparedOperations {
    private(set) var operations: OperationBuffer
    private(set) var rejections: [Rejection] = []
    /// Where the operations of each partition begin, in the order of the log, after `distribute`.
    private var offsets: [UInt32] = []
    private var starts: [Int] = []
    private var eventStart = 0
    private var isRejected = false

    init(keyBytesMax: Int) { operations = OperationBuffer(keyBytesMax: keyBytesMax) }

    func removeAll() {
        operations.removeAll()
        rejections.removeAll(keepingCapacity: true)
    }

    func beginEvent() {
        operations.beginEvent()
        eventStart = operations.bytes.count
        isRejected = false
    }

    func prepare(
        _ facts: EventFacts, rule: Int, payload: RawSpan, metadata: RawSpan, _ fold: any Fold, _ workspace: inout FoldWorkspace
    ) {
        if isRejected { return }
        do throws(FoldError) {
            try fold.prepare(facts, rule: rule, payload: payload, metadata: metadata, &workspace, into: &operations)
        } catch { reject(facts.position, .fold(error, key: nil)) }
    }

    /// Sorts the operations into partitions by the upper bits of their keys' hashes.
    func distribute(among partitions: Int) {
        let shift = UInt64(64 - partitions.trailingZeroBitCount)
        var counts = [Int](repeating: 0, count: partitions + 1)
        forEach { counts[partitions == 1 ? 1 : Int(Operation.hash($0) >> shift) + 1] += 1 }
        for index in 1 ... partitions { counts[index] += counts[index - 1] }
        starts = counts
        offsets = [UInt32](repeating: 0, count: counts[partitions])
        var offset = 0
        forEach { operation in
            let partition = partitions == 1 ? 0 : Int(Operation.hash(operation) >> shift)
            offsets[counts[partition]] = UInt32(offset)
            counts[partition] += 1
            offset += operation.byteCount
        }
    }

    /// Lends all operations, and says where those of one partition begin, in order.
    func lend(_ partition: Int, _ body: (RawSpan, ArraySlice<UInt32>) throws -> Void) rethrows {
        try Self.lend(operations, offsets[starts[partition] ..< starts[partition + 1]], body)
    }

    private static func lend(
        _ operations: borrowing OperationBuffer, _ offsets: ArraySlice<UInt32>, _ body: (RawSpan, ArraySlice<UInt32>) throws -> Void
    ) rethrows { try body(operations.bytes.bytes, offsets) }

    /// Lends the operations in order.
    func forEach(_ body: (RawSpan) throws -> Void) rethrows { try Self.forEach(operations, body) }

    private static func forEach(_ operations: borrowing OperationBuffer, _ body: (RawSpan) throws -> Void) rethrows {
        var offset = 0
        while offset < operations.bytes.count {
            let size = Operation.size(operations.bytes.bytes, at: offset)
            try body(operations.bytes.slice(offset, size))
            offset += size
        }
    }

    /// Takes back what the event would have done.
    func reject(_ position: Position, _ reason: Rejection.Reason) {
        operations.truncate(to: eventStart)
        if !isRejected { rejections.append(Rejection(position: position, ordinal: 0, reason: reason)) }
        isRejected = true
    }
}
