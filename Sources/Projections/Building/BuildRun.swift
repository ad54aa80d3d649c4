internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import SchemaEvolution

final class BuildRun {
    private let build: BulkBuild
    private let job: Job
    private let log: EventLog
    private let end: Checkpoint
    private let history: History
    private let jobs: Int
    private let partitions: [[RowPartition]]
    private let rejectionHandler: RejectionHandler

    private static let partitionCount = 32

    init(_ build: BulkBuild, _ job: Job) throws {
        (self.build, self.job) = (build, job)
        let log = build.evolving.log
        self.log = log
        let evolution = try build.evolving.current()
        let through = min(build.through ?? evolution.last.position, evolution.last.position)
        end = Checkpoint(epoch: evolution.state.epoch, position: through)
        history = evolution.history
        jobs = Processors.threads(build.jobs)
        partitions = try build.targets.map { target in
            try (0 ..< Self.partitionCount).map {
                RowPartition(
                    try target.definition.makeFold(TagCodes(log)), keeping: build.onError == .stop ? target.definition.rowShape : nil,
                    of: target.generation, number: $0)
            }
        }
        rejectionHandler = RejectionHandler(build)
    }

    /// The memory for rows, in bytes. The rest is for prepared operations and for sorted runs, each of which is about as large as its rows;
    /// each thread makes one run at a time.
    private var rowBytes: Int { build.evolving.options.buildMemoryBytes / 4 * 3 }

    /// Returns the witnesses of all events.
    func passLog() throws -> [Position] {
        let definitions = build.targets.map(\.definition)
        let census = try log.read { try $0.census() }
        // One worker more than there are processors, so that no processor is idle while a worker waits for its turn.
        let workers = try (0 ..< (jobs == 1 ? 1 : jobs + 1)).map { _ in
            try ChunkWorker(log, EventPreparer(log, history, definitions, at: build.version, notingWitnesses: true), census)
        }
        let (job, report, total) = (job, reporter(), end.position.rawValue)
        let pass = BuildPass(
            partitions, rejectionHandler, within: .init(through: end.position, chunkEvents: build.chunkEvents, memory: rowBytes),
            check: { try job.check() }, report: { report("build", $0.rawValue, total) })
        try pass.run(workers)
        return Witnesses.List.merged(workers.map(\.preparer.witnessed))
    }

    /// Distributes units of work among the workers.
    private func shareOut(_ units: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        let rest = Monitor(0 ..< units)
        try inParallel(min(jobs, units)) { _ in
            while let unit = rest.withLock({ $0.popFirst() }) { try body(unit) }
        }
    }

    /// Loads the folded rows into the generations and marks these as ready.
    func complete() throws {
        try log.read { reader in try Follower.check(end, reader) }
        try log.makeDurable()
        for index in build.targets.indices { try load(index) }
    }

    private func load(_ index: Int) throws {
        let (definition, generation) = build.targets[index]
        let (readers, count, digest) = try sort(index)
        var merge = try RunMerge(readers)
        let report = reporter()
        defer { report("load", count, count) }
        var load = try GenerationLoad(generation, definition, indexBytes: rowBytes) { [job] in try job.check() }
        try merge.forEach { row in try load.append(row) }
        try load.finish(
            GenerationLoad.Sums(rows: count, digest: digest, quarantined: rejectionHandler.quarantined[index]), at: end)
    }

    /// Makes sorted runs of a target's rows, including rows that were set aside.
    private func sort(_ index: Int) throws -> RunList.Runs {
        let list = partitions[index]
        let name = build.targets[index].definition.name
        let runs = RunList()
        let toFile = list.contains { $0.hasSpilled }
        try shareOut(list.count) { number in runs.add(try list[number].takeRun(of: name, toFile: toFile)) }
        let spilled = list.indices.filter { list[$0].hasSpilled }
        let (memory, job, rejections) = (rowBytes / max(1, min(jobs, spilled.count)), job, Monitor<[Int: [Rejection]]>([:]))
        try shareOut(spilled.count) { unit in
            let number = spilled[unit]
            while list[number].hasSpilled {
                try job.check()
                try list[number].foldSpilled(memory: memory)
                let rejected = list[number].takeRejections()
                rejections.withLock { $0[number, default: []] += rejected }
                runs.add(try list[number].takeRun(of: name, toFile: true))
            }
        }
        // Rejections are handled in a fixed order, regardless of which thread finished first.
        for (_, rejected) in rejections.withLock({ $0.sorted { $0.key < $1.key } }) {
            try rejectionHandler.handle(rejected.map { (index, $0) })
        }
        return runs.finish()
    }

    private func reporter() -> @Sendable (_ step: String, _ done: UInt64, _ total: UInt64) -> Void {
        let (job, rejectionHandler, note) = (job, rejectionHandler, build.targets.map(\.definition.name).joined(separator: ", "))
        return { step, done, total in
            job.report(step, done: done, total: total, quarantined: rejectionHandler.events, note)
        }
    }
}

/// The runs of one target, from all threads.
private final class RunList: Sendable {
    typealias Runs = (readers: [RunReader], count: UInt64, digest: SetDigest)

    // The thread sanitizer recognizes the lock of a monitor, but not that of the standard library's mutex.
    private let state = Monitor<Runs>(([], 0, SetDigest()))

    func add(_ run: consuming SortedRun) {
        let (count, digest) = (run.count, run.digest)
        let reader = run.reader()
        state.withLock { state in
            state.count += count
            state.digest.formUnion(digest)
            state.readers.append(reader)
        }
    }

    func finish() -> Runs { state.withLock { $0 } }
}
