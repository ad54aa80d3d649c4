internal import Bytes
internal import EventLog
internal import EventModel
internal import Glibc
internal import Hashing
internal import LMDB
internal import Synchronization

/// One run of a bulk build.
final class BuildRun {
    private let build: BulkBuild
    private let cancellation: Cancellation?
    private let progress: Progress?
    private let log: EventLog
    private let end: Checkpoint
    private let workers: [ChunkWorker]
    /// For each target, its partitions.
    private let partitions: [[RowPartition]]
    private var position = Position.start
    private var folded: UInt64 = 0
    private var quarantined: [UInt64]
    private var chunkEvents: UInt64

    private static let partitionCount = 32
    /// Operations that a chunk may leave waiting; a chunk that holds more ends early.
    private static let chunkBytes = 16 << 20
    /// Bytes of rows that one transaction loads.
    private static let loadBytes = 8 << 20

    init(_ build: BulkBuild, _ cancellation: Cancellation?, _ progress: Progress?) throws {
        (self.build, self.cancellation, self.progress) = (build, cancellation, progress)
        let log = build.evolving.log
        self.log = log
        let evolution = try build.evolving.current()
        let through = min(build.through ?? evolution.last.position, evolution.last.position)
        end = Checkpoint(epoch: evolution.state.epoch, position: through)
        let definitions = build.targets.map(\.definition)
        let jobs = max(1, build.jobs ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let census = try log.read { try $0.census() }
        workers = try (0 ..< jobs).map { _ in
            try ChunkWorker(build.evolving.log, EventPreparer(log, evolution.history, definitions, at: build.version), census)
        }
        partitions = try build.targets.map { target in
            let fold = try target.definition.requireFold()
            return (0 ..< Self.partitionCount).map {
                RowPartition(target.definition, fold, directory: target.generation.directory, number: $0)
            }
        }
        quarantined = build.targets.map { _ in 0 }
        chunkEvents = UInt64(max(1, build.chunkEvents))
    }

    func passLog() throws {
        while position < end.position {
            try checkCancelled()
            let applied = try prepareRound()
            try apply(applied)
            try settle(applied.flatMap(\.rejections))
            for worker in applied { folded += worker.folded }
            position = applied.last?.reached ?? end.position
            freezeIfFull()
            report("build", done: position.rawValue, total: end.position.rawValue)
        }
    }

    /// Prepares a chunk on each worker; returns the workers whose chunks follow on each other without a gap.
    private func prepareRound() throws -> [ChunkWorker] {
        var (used, start): ([ChunkWorker], UInt64) = ([], position.rawValue)
        for worker in workers where start < end.position.rawValue {
            let last = min(start + chunkEvents, end.position.rawValue)
            worker.assign(after: Position(start), through: Position(last))
            used.append(worker)
            start = last
        }
        let round = used
        try inParallel(round.count) { try round[$0].prepare(bytesMax: Self.chunkBytes, partitions: Self.partitionCount) }
        // What comes after a chunk that ended early is prepared again.
        let applied = Array(round.prefix((round.firstIndex { $0.endedEarly } ?? round.count - 1) + 1))
        let bytes = applied.map(\.bytes).max() ?? 0
        if bytes > Self.chunkBytes / 2 { chunkEvents = max(1, chunkEvents / 2) }
        if bytes < Self.chunkBytes / 8, chunkEvents < 1 << 15 { chunkEvents *= 2 }
        return applied
    }

    private func apply(_ chunks: [ChunkWorker]) throws {
        let partitions = partitions
        try shareOut(partitions.count * Self.partitionCount) { unit in
            let (target, number) = unit.quotientAndRemainder(dividingBy: Self.partitionCount)
            let partition = partitions[target][number]
            for chunk in chunks { try chunk.lend(target, number) { try partition.apply($0, $1) } }
        }
    }

    /// Has the workers take units of work one after the other.
    private func shareOut(_ units: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let next = Counter()
        try inParallel(workers.count) { _ in
            while let unit = next.take(below: units) { try body(unit) }
        }
    }

    private final class Counter: Sendable {
        private let value = Atomic<Int>(0)

        func take(below limit: Int) -> Int? {
            let taken = value.wrappingAdd(1, ordering: .relaxed).oldValue
            return taken < limit ? taken : nil
        }
    }

    /// Stops at the first rejection that no file declares, or writes them all down.
    private func settle(_ prepared: [(target: Int, rejection: Rejection)]) throws {
        var all = prepared
        for (target, list) in partitions.enumerated() { for partition in list { all += partition.takeRejections().map { (target, $0) } } }
        if build.onError == .stop, let first = all.filter({ !$0.rejection.isDeclared }).min(by: Self.isBefore) {
            throw EvstoreError.buildStopped(
                projection: build.targets[first.target].definition.name, position: first.rejection.position,
                reason: first.rejection.message)
        }
        for (index, target) in build.targets.enumerated() {
            let rows = try QuarantineRow.rows(all.filter { $0.target == index }.map(\.rejection), log)
            if rows.isEmpty { continue }
            let generation = target.generation
            quarantined[index] += try generation.environment.write { transaction in
                var new: UInt64 = 0
                for row in rows where try generation.put(row, &transaction) { new += 1 }
                return new
            }
        }
    }

    private static func isBefore(_ a: (target: Int, rejection: Rejection), _ b: (target: Int, rejection: Rejection)) -> Bool {
        (a.rejection.position, a.rejection.ordinal) < (b.rejection.position, b.rejection.ordinal)
    }

    private func freezeIfFull() {
        let all = partitions.joined()
        // A run takes about as much as the rows it is made of.
        guard all.reduce(0, { $0 + $1.bytes }) > build.evolving.options.buildMemoryBytes / 2 else { return }
        for partition in all { partition.isFrozen = true }
    }

    /// Loads what was folded, and marks the generations ready.
    func complete() throws -> BulkBuild.Report {
        try log.read { reader in try Follower.check(end, reader) }
        var built: [BulkBuild.Built] = []
        for index in build.targets.indices {
            built.append(.init(projection: build.targets[index].definition.name, header: try load(index)))
        }
        return BulkBuild.Report(checkpoint: end, scanned: end.position.rawValue, folded: folded, built: built)
    }

    private func load(_ index: Int) throws -> GenerationHeader {
        let (definition, generation) = build.targets[index]
        let (readers, count, digest) = try sort(index)
        var merge = try RunMerge(readers)
        try generation.environment.setSyncing(false)
        defer { report("load", done: count, total: count) }
        var batch = LoadBatch()
        try merge.forEach { key, value in
            batch.append(key, value)
            if batch.bytes >= Self.loadBytes {
                try checkCancelled()
                try batch.load(into: generation)
            }
        }
        try batch.load(into: generation)
        // Order: the rows are on the disk before the header that calls them ready.
        try generation.environment.sync()
        try generation.environment.setSyncing(true)
        var header = try generation.header
        header.version = definition.version
        (header.checkpoint, header.rows, header.digest) = (end, count, digest.digest)
        (header.quarantined, header.isReady) = (quarantined[index], true)
        let ready = header
        try generation.environment.write { transaction in try generation.put(ready, &transaction) }
        return ready
    }

    /// Makes sorted runs of a target's rows, those that were put aside included.
    private func sort(_ index: Int) throws -> (readers: [RunReader], count: UInt64, digest: SetDigest) {
        let list = partitions[index]
        let name = build.targets[index].definition.name
        let runs = RunList()
        let toFile = list.contains { $0.hasSpilled }
        try shareOut(list.count) { number in runs.add(number, try list[number].takeRun(of: name, toFile: toFile)) }
        for (number, partition) in list.enumerated() {
            while partition.hasSpilled {
                try checkCancelled()
                try partition.foldSpilled(memory: build.evolving.options.buildMemoryBytes / 2)
                try settle([])
                runs.add(number, try partition.takeRun(of: name, toFile: true))
            }
        }
        return runs.finish()
    }

    private func checkCancelled() throws {
        if cancellation?.isCancelled == true { throw EvstoreError.interrupted(again: "run the replay again; what is ready is kept") }
    }

    private func report(_ step: String, done: UInt64, total: UInt64) {
        progress?(
            ProgressEvent(
                step: step, done: done, total: total, quarantined: quarantined.reduce(0, +),
                note: build.targets.map(\.definition.name).joined(separator: ", ")))
    }
}

/// The runs of one target, from all threads.
private final class RunList: Sendable {
    private struct State {
        var readers: [(number: Int, reader: RunReader)] = []
        var count: UInt64 = 0
        var digest = SetDigest()
    }

    // The thread sanitizer sees the lock of a monitor, and not that of the standard library's mutex.
    private let state = Monitor(State())

    func add(_ number: Int, _ run: consuming SortedRun) {
        let (count, digest) = (run.count, run.digest)
        let reader = run.reader()
        state.withLock { state in
            state.count += count
            state.digest.formUnion(digest)
            state.readers.append((number, reader))
        }
    }

    func finish() -> (readers: [RunReader], count: UInt64, digest: SetDigest) {
        state.withLock { ($0.readers.map(\.reader), $0.count, $0.digest) }
    }
}

/// Rows on their way into a generation.
private struct LoadBatch {
    private var rows: [(key: [UInt8], value: [UInt8])] = []
    private(set) var bytes = 0

    mutating func append(_ key: [UInt8], _ value: [UInt8]) {
        rows.append((key, value))
        bytes += key.count + value.count
    }

    /// LMDB may run a transaction again with a larger map, so it loads what is there already.
    mutating func load(into generation: Generation) throws {
        let loaded = rows
        if loaded.isEmpty { return }
        try generation.environment.write { transaction in
            for row in loaded { try transaction.append(generation.rows, row.key.lent, row.value.lent) }
        }
        rows.removeAll(keepingCapacity: true)
        bytes = 0
    }
}
