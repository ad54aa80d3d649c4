internal import Bytes
internal import EventModel
internal import Platform

/// One pass over the log by several workers.
///
/// The log is divided into chunks, numbered in log order. A worker prepares the next chunk and then runs it through all stages: each stage
/// folds the operations of some partitions, and the last one handles rejections. Each stage processes the chunks in order, so that every
/// row receives its operations in log order while no worker waits for a complete chunk.
final class BuildPass: Sendable {
    private struct State {
        /// The position up to which chunks were handed out, and the number of chunks.
        var taken: UInt64 = 0
        var chunks = 0
        var chunkEvents: UInt64
        /// For each stage, the number of the chunk that it serves next.
        var turns = [Int](repeating: 0, count: BuildPass.stageCount + 1)
        /// The failure of the first chunk that failed.
        var failure: (chunk: Int, error: any Error)?
        /// The size of the rows in memory, in bytes.
        var bytes = 0
    }

    struct Limits {
        let through: Position
        let chunkEvents: Int
        /// The size of the rows, in bytes, above which no new rows are added to memory.
        let memory: Int
    }

    private struct Chunk {
        var number: Int
        var after, through: Position
    }

    private let partitions: [[RowPartition]]
    private let rejectionHandler: RejectionHandler
    private let limits: Limits
    private let check: @Sendable () throws -> Void
    private let report: @Sendable (Position) -> Void
    private let state: Monitor<State>

    /// The size of operations that a chunk may leave pending; a larger chunk passes the stages in several pieces.
    private static let chunkBytes = 8 << 20
    private static let stageCount = 8

    /// - Parameters:
    ///   - check: called before each chunk; throws if the build must stop.
    ///   - report: called by one thread at a time, in the order of the log.
    init(
        _ partitions: [[RowPartition]], _ rejectionHandler: RejectionHandler, within limits: Limits,
        check: @escaping @Sendable () throws -> Void, report: @escaping @Sendable (Position) -> Void
    ) {
        (self.partitions, self.rejectionHandler, self.limits) = (partitions, rejectionHandler, limits)
        (self.check, self.report) = (check, report)
        let bytes = partitions.sum { $0.sum(\.bytes) }
        state = Monitor(State(chunkEvents: UInt64(max(1, limits.chunkEvents)), bytes: bytes))
    }

    /// - Throws: the error of the first chunk that failed; all chunks before it are folded.
    func run(_ workers: [ChunkWorker]) throws {
        try inParallel(workers.count) { self.work(workers[$0]) }
        if let failure = state.withLock({ $0.failure }) { throw failure.error }
    }

    private func work(_ worker: ChunkWorker) {
        while let chunk = take() {
            do { try pass(chunk, worker) } catch {
                // Chunks before this one are completed; later ones are not.
                state.change { state in
                    if state.failure.map({ chunk.number < $0.chunk }) ?? true { state.failure = (chunk.number, error) }
                }
            }
        }
    }

    private func take() -> Chunk? {
        state.withLock { state in
            guard state.failure == nil, state.taken < limits.through.rawValue else { return nil }
            let after = state.taken
            state.taken = min(after + state.chunkEvents, limits.through.rawValue)
            state.chunks += 1
            return Chunk(number: state.chunks - 1, after: Position(after), through: Position(state.taken))
        }
    }

    private func pass(_ chunk: Chunk, _ worker: ChunkWorker) throws {
        worker.begin(after: chunk.after, through: chunk.through)
        repeat {
            try check()
            try worker.prepare(bytesMax: Self.chunkBytes, partitions: partitions.first?.count ?? 1)
            let bytes = worker.preparer.bytes
            // Adapts the chunk size so that each chunk fills a buffer well.
            state.withLock { state in
                if bytes > Self.chunkBytes / 2 { state.chunkEvents = max(1, state.chunkEvents / 2) }
                if bytes < Self.chunkBytes / 16, state.chunkEvents < 1 << 15 { state.chunkEvents *= 2 }
            }
            var rejections = worker.rejections
            for stage in 0 ..< Self.stageCount {
                guard let isFull = enter(stage, chunk) else { return }
                let more = try fold(worker, stage, isFull, &rejections)
                leave(stage, worker, bytes: more)
            }
            guard enter(Self.stageCount, chunk) != nil else { return }
            try rejectionHandler.handle(rejections)
            report(worker.reached)
            leave(Self.stageCount, worker)
        } while worker.hasMore
    }

    /// Waits for a chunk's turn at a stage. Returns whether memory is full; nil if an earlier chunk has failed.
    private func enter(_ stage: Int, _ chunk: Chunk) -> Bool? {
        let hasFailed = { (state: inout State) in state.failure.map { $0.chunk < chunk.number } ?? false }
        return state.wait(until: { $0.turns[stage] == chunk.number || hasFailed(&$0) }) { state in
            hasFailed(&state) ? nil : state.bytes > limits.memory
        }
    }

    /// Passes the stage on to the next chunk, unless another piece of this chunk follows.
    /// - Parameter more: by how many bytes the rows grew.
    private func leave(_ stage: Int, _ worker: ChunkWorker, bytes more: Int = 0) {
        state.change { state in
            state.bytes += more
            if !worker.hasMore { state.turns[stage] += 1 }
        }
    }

    /// Folds a chunk's operations on the partitions of a stage. Returns by how many bytes the partitions grew.
    private func fold(
        _ worker: ChunkWorker, _ stage: Int, _ isFull: Bool, _ rejections: inout [(target: Int, rejection: Rejection)]
    ) throws -> Int {
        var more = 0
        for (target, list) in partitions.enumerated() {
            for number in stride(from: stage, to: list.count, by: Self.stageCount) {
                let partition = list[number]
                if isFull { partition.isFrozen = true }
                more -= partition.bytes
                try worker.preparer.outputs[target].lend(number) { try partition.apply($0, $1, $2) }
                more += partition.bytes
                rejections += partition.takeRejections().map { (target, $0) }
            }
        }
        return more
    }
}
