internal import Bytes
internal import EventLog
internal import EventModel
internal import Platform

/// One pass over the log by several workers.
///
/// The log is cut into chunks, numbered in its order. A worker prepares the next chunk, then runs it through all stages:
/// each folds the operations of some of the partitions, and the last handles rejections. A stage takes the chunks
/// in their order, so that every row gets its operations in the order of the log, and no worker waits for a whole chunk.
final class BuildPass: Sendable {
    private struct State {
        /// Up to where chunks were given out, and how many.
        var taken: UInt64 = 0
        var chunks = 0
        /// Events of the next chunk.
        var chunkEvents: UInt64
        /// For each stage the chunk that it serves next.
        var turns = [Int](repeating: 0, count: BuildPass.stageCount + 1)
        /// Of the first chunk that failed.
        var failure: (chunk: Int, error: any Error)?
        /// Bytes of rows in memory.
        var bytes = 0
        var folded: UInt64 = 0
    }

    /// How far a pass goes, and in what.
    struct Limits {
        let through: Position
        /// Of the first chunk.
        let chunkEvents: Int
        /// Bytes of rows above which no new ones are made.
        let memory: Int
    }

    private struct Chunk {
        var number: Int
        var after, through: Position
    }

    /// For each target, its partitions.
    private let partitions: [[RowPartition]]
    private let rejectionHandler: RejectionHandler
    private let limits: Limits
    private let check: @Sendable () throws -> Void
    private let report: @Sendable (Position) -> Void
    private let state: Monitor<State>

    /// Operations that a chunk may leave waiting; a chunk that holds more passes the stages in pieces.
    private static let chunkBytes = 8 << 20
    private static let stageCount = 8

    /// - Parameter check: asked before each chunk; throws where the build is to end.
    /// - Parameter report: called by one thread at a time, in the order of the log.
    init(
        _ partitions: [[RowPartition]], _ rejectionHandler: RejectionHandler, within limits: Limits,
        check: @escaping @Sendable () throws -> Void, report: @escaping @Sendable (Position) -> Void
    ) {
        (self.partitions, self.rejectionHandler, self.limits) = (partitions, rejectionHandler, limits)
        (self.check, self.report) = (check, report)
        let bytes = partitions.sum { $0.sum(\.bytes) }
        state = Monitor(State(chunkEvents: UInt64(max(1, limits.chunkEvents)), bytes: bytes))
    }

    /// Runs the pass; returns how many events were folded.
    /// - Throws: what the first chunk that failed threw; all before it are folded.
    func run(_ workers: [ChunkWorker]) throws -> UInt64 {
        try inParallel(workers.count) { self.work(workers[$0]) }
        return try state.withLock { state in
            if let failure = state.failure { throw failure.error }
            return state.folded
        }
    }

    private func work(_ worker: ChunkWorker) {
        while let chunk = take() {
            do { try pass(chunk, worker) } catch {
                // Chunks before this one are completed, later ones are not.
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
            adapt(to: worker.bytes)
            var rejections = worker.rejections
            for stage in 0 ..< Self.stageCount {
                guard let isFull = enter(stage, chunk) else { return }
                let more = try fold(worker, stage, isFull, &rejections)
                leave(stage, worker) { $0.bytes += more }
            }
            guard enter(Self.stageCount, chunk) != nil else { return }
            try rejectionHandler.handle(rejections)
            report(worker.reached)
            leave(Self.stageCount, worker) { $0.folded += worker.folded }
        } while worker.hasMore
    }

    /// Adapts the size of chunks so that each fills a buffer well.
    private func adapt(to bytes: Int) {
        state.withLock { state in
            if bytes > Self.chunkBytes / 2 { state.chunkEvents = max(1, state.chunkEvents / 2) }
            if bytes < Self.chunkBytes / 16, state.chunkEvents < 1 << 15 { state.chunkEvents *= 2 }
        }
    }

    /// Waits for a chunk's turn at a stage; says whether memory is full, and nil where an earlier chunk has failed.
    private func enter(_ stage: Int, _ chunk: Chunk) -> Bool? {
        let hasFailed = { (state: inout State) in state.failure.map { $0.chunk < chunk.number } ?? false }
        return state.wait(until: { $0.turns[stage] == chunk.number || hasFailed(&$0) }) { state in
            hasFailed(&state) ? nil : state.bytes > limits.memory
        }
    }

    /// Passes the stage on to the next chunk, unless this one comes with another piece.
    private func leave(_ stage: Int, _ worker: ChunkWorker, _ note: (inout State) -> Void) {
        state.change { state in
            note(&state)
            if !worker.hasMore { state.turns[stage] += 1 }
        }
    }

    /// Folds what a chunk has for the partitions of a stage; returns by how many bytes they grew.
    private func fold(
        _ worker: ChunkWorker, _ stage: Int, _ isFull: Bool, _ rejections: inout [(target: Int, rejection: Rejection)]
    ) throws -> Int {
        var more = 0
        for (target, list) in partitions.enumerated() {
            for number in stride(from: stage, to: list.count, by: Self.stageCount) {
                let partition = list[number]
                if isFull { partition.isFrozen = true }
                more -= partition.bytes
                try worker.lend(target, number) { try partition.apply($0, $1, $2) }
                more += partition.bytes
                rejections += partition.takeRejections().map { (target, $0) }
            }
        }
        return more
    }
}
