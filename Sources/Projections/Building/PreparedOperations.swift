internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// The operations and rejections of one definition, from one thread.
final class PreparedOperations {
    /// What an event adds to; one value, so that a thread asks for it once for each event.
    private struct Written: ~Copyable {
        var operations: OperationBuffer
        var rejections: [Rejection] = []
        /// The last event, where its operations begin, and whether it was rejected.
        var position: Position?
        var eventStart = 0
        var isRejected = false

        mutating func begin(_ event: Position) {
            if position == event { return }
            position = event
            operations.beginEvent()
            eventStart = operations.bytes.count
            isRejected = false
        }

        mutating func prepare(
            _ facts: borrowing EventFacts, rule: Int, image: borrowing Image, values: Int, metadata: RawSpan, _ fold: any Fold,
            _ workspace: inout FoldWorkspace
        ) {
            begin(facts.position)
            if isRejected { return }
            do throws(FoldError) {
                try fold.prepare(facts, rule: rule, image: image, values: values, metadata: metadata, &workspace, into: &operations)
            } catch { reject(facts.position, .fold(error, key: nil)) }
        }

        /// Takes back what the event would have done.
        mutating func reject(_ event: Position, _ reason: Rejection.Reason) {
            begin(event)
            operations.truncate(to: eventStart)
            if !isRejected { rejections.append(Rejection(position: event, ordinal: 0, reason: reason)) }
            isRejected = true
        }
    }

    private let fold: any Fold
    private var written: Written
    /// Where the operations of each partition begin, in the order of the log, after `distribute`.
    private var offsets = Slots<UInt32>()
    private var starts: [Int] = []

    init(_ fold: any Fold, keyBytesMax: Int) {
        self.fold = fold
        written = Written(operations: OperationBuffer(keyBytesMax: keyBytesMax))
    }

    var rejections: [Rejection] { written.rejections }
    /// Of operations that are waiting to be applied.
    var bytes: Int { written.operations.bytes.count }

    func removeAll() {
        written.operations.removeAll()
        written.rejections.removeAll(keepingCapacity: true)
        written.position = nil
    }

    func prepare(
        _ facts: borrowing EventFacts, rule: Int, image: borrowing Image, values: Int, metadata: RawSpan,
        _ workspace: inout FoldWorkspace
    ) {
        written.prepare(facts, rule: rule, image: image, values: values, metadata: metadata, fold, &workspace)
    }

    /// Sorts the operations into partitions, at least two, by the upper bits of their keys' hashes.
    func distribute(among partitions: Int) {
        let shift = UInt64(64 - partitions.trailingZeroBitCount)
        var ends = Slots<Int>(repeating: 0, count: partitions + 1)
        var total = 0
        forEach { operation in
            ends[Int(Operation.hash(operation) >> shift) + 1] += 1
            total += 1
        }
        for index in 1 ... partitions { ends[index] += ends[index - 1] }
        starts = (0 ... partitions).map { ends[$0] }
        offsets.removeAll()
        offsets.fill(0 ..< total, with: 0)
        Self.place(written.operations, partitions, shift, &ends, &offsets)
    }

    private static func place(
        _ operations: borrowing OperationBuffer, _ partitions: Int, _ shift: UInt64, _ ends: inout Slots<Int>,
        _ offsets: inout Slots<UInt32>
    ) {
        var offset = 0
        while offset < operations.bytes.count {
            let partition = Int(Operation.hash(operations.bytes.bytes, at: offset) >> shift)
            offsets[ends[partition]] = UInt32(offset)
            ends[partition] += 1
            offset += Operation.size(operations.bytes.bytes, at: offset)
        }
    }

    /// Lends all operations, where each begins, and which of them are those of one partition, in order.
    func lend(_ partition: Int, _ body: (RawSpan, borrowing Slots<UInt32>, Range<Int>) throws -> Void) rethrows {
        try Self.lend(written.operations, offsets, starts[partition] ..< starts[partition + 1], body)
    }

    private static func lend(
        _ operations: borrowing OperationBuffer, _ offsets: borrowing Slots<UInt32>, _ range: Range<Int>,
        _ body: (RawSpan, borrowing Slots<UInt32>, Range<Int>) throws -> Void
    ) rethrows { try body(operations.bytes.bytes, offsets, range) }

    /// Lends the operations in order.
    func forEach(_ body: (RawSpan) throws -> Void) rethrows { try Self.forEach(written.operations, body) }

    private static func forEach(_ operations: borrowing OperationBuffer, _ body: (RawSpan) throws -> Void) rethrows {
        var offset = 0
        while offset < operations.bytes.count {
            let size = Operation.size(operations.bytes.bytes, at: offset)
            try body(operations.bytes.slice(offset, size))
            offset += size
        }
    }

    /// Takes back what the event would have done.
    func reject(_ position: Position, _ reason: Rejection.Reason) { written.reject(position, reason) }
}
