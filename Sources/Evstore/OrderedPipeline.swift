internal import Bytes
internal import Platform

/// Runs units of work on several threads, and gives their results (pieces) to one thread in the order of the units.
///
/// A unit produces any number of pieces. Pieces that come early wait in memory, up to a limit; the unit whose turn it is may always add
/// one.
final class OrderedPipeline<Piece: Sendable>: Sendable {
    private struct State {
        /// The next unit to start, and the unit whose pieces are taken now.
        var next = 0
        var turn = 0
        var waiting: [Int: [(piece: Piece, size: Int)]] = [:]
        var size = 0
        var ended: [Int: Result<Void, any Error>] = [:]
        var isStopped = false
    }

    /// Does a unit: hands over each piece with its size, and stops where `handOver` returns false.
    typealias Work<Worker> = @Sendable (_ unit: Int, Worker, _ handOver: (Piece, Int) throws -> Bool) throws -> Void

    private let units: Int
    private let waitingMax: Int
    private let state = Monitor(State())

    /// - Parameter waitingMax: the total size of waiting pieces at which the worker threads wait.
    init(units: Int, waitingMax: Int) { (self.units, self.waitingMax) = (units, waitingMax) }

    /// Gives the pieces to `body`, on the calling thread, until it returns false. An error of a unit is thrown after all pieces before it
    /// were given.
    ///
    /// - Parameter make: makes the worker that one thread uses.
    func run<Worker>(
        jobs: Int, make: @escaping @Sendable () throws -> Worker, work: @escaping Work<Worker>, _ body: (Piece) throws -> Bool
    ) throws {
        let threads = units > 1 && jobs > 1 ? start(min(jobs, units), make, work) : []
        if threads.isEmpty { return try runHere(make, work, body) }
        defer {
            state.change { $0.isStopped = true }
            for thread in threads { thread.join() }
        }
        while let pieces = try take() {
            if try !pieces.allSatisfy(body) { return }
        }
    }

    private func runHere<Worker>(_ make: () throws -> Worker, _ work: @escaping Work<Worker>, _ body: (Piece) throws -> Bool) throws {
        let worker = try make()
        var goesOn = true
        for unit in 0 ..< units where goesOn {
            try work(unit, worker) { piece, _ in
                goesOn = try body(piece)
                return goesOn
            }
        }
    }

    /// Starts as many of the threads as the system allows.
    private func start<Worker>(
        _ count: Int, _ make: @escaping @Sendable () throws -> Worker, _ work: @escaping Work<Worker>
    ) -> [WorkerThread] {
        var threads: [WorkerThread] = []
        do {
            while threads.count < count { threads.append(try WorkerThread.start("a worker in a line") { self.serve(make, work) }) }
        } catch {}
        return threads
    }

    private func serve<Worker>(_ make: () throws -> Worker, _ work: Work<Worker>) {
        var made: Worker?
        while let unit = begin() {
            do {
                let worker = try made ?? make()
                made = worker
                try work(unit, worker) { self.put($0, size: $1, of: unit) }
                state.change { $0.ended[unit] = .success(()) }
            } catch { state.change { $0.ended[unit] = .failure(error) } }
        }
    }

    private func begin() -> Int? {
        state.withLock { state in
            guard !state.isStopped, state.next < units else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    private func put(_ piece: Piece, size: Int, of unit: Int) -> Bool {
        // The unit whose turn it is may always hand over a piece, so that the work never stalls.
        state.wait(until: { $0.isStopped || $0.size < waitingMax || ($0.turn == unit && $0.waiting[unit] == nil) }) { _ in }
        return state.change { state in
            state.waiting[unit, default: []].append((piece, size))
            state.size += size
            return !state.isStopped
        }
    }

    /// The next pieces in order; nil at the end.
    private func take() throws -> [Piece]? {
        while true {
            state.wait(until: { $0.waiting[$0.turn] != nil || $0.ended[$0.turn] != nil || $0.turn == units }) { _ in }
            let (pieces, end) = state.change { state in
                if let waiting = state.waiting.removeValue(forKey: state.turn) {
                    state.size -= waiting.sum(\.size)
                    return (waiting.map(\.piece), Result<Void, any Error>?.none)
                }
                state.turn += 1
                return ([], state.ended.removeValue(forKey: state.turn - 1))
            }
            if !pieces.isEmpty { return pieces }
            // No result is left behind the last unit.
            guard let end else { return nil }
            try end.get()
        }
    }
}
