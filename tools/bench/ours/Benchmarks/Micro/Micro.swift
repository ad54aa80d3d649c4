import Benchmark
import Evstore
import Foundation
import Measured

// What one event costs, each time once and many times over: instructions where the machine counts them, and time.
// `tools/bench/micro` makes the data and says where it lies.

/// A store that is opened once for all runs of a benchmark.
final class Opened: Sendable {
    let store: EventStore

    init(_ path: String) async throws { store = try await EventStore.open(path) }
}

let benchmarks: @Sendable () -> Void = {
    let given = ProcessInfo.processInfo.environment
    let (frames, schemas) = (given["EVSTORE_MICRO_FRAMES"] ?? "", given["EVSTORE_MICRO_SCHEMAS"] ?? "")
    let (streams, long) = (given["EVSTORE_MICRO_STREAMS"] ?? "", given["EVSTORE_MICRO_LONG"] ?? "")
    let streamCount = Int(given["EVSTORE_MICRO_STREAM_COUNT"] ?? "") ?? 1

    let metrics: [BenchmarkMetric] = [.instructions, .wallClock, .cpuUser, .throughput]
    let once = Benchmark.Configuration(
        metrics: metrics, warmupIterations: 3, scalingFactor: .one, maxDuration: .seconds(3), maxIterations: 2_000)
    let often = Benchmark.Configuration(
        metrics: metrics, warmupIterations: 3, scalingFactor: .kilo, maxDuration: .seconds(3), maxIterations: 2_000)

    Benchmark("scan of a log", configuration: once) { benchmark, scan in
        benchmark.startMeasurement()
        blackHole(try scan.walk())
        benchmark.stopMeasurement()
    } setup: {
        try BlockScan(store: streams)
    }

    for version in 2 ... 5 {
        Benchmark("upcast from version 1 to \(version)", configuration: often) { benchmark, upcasting in
            blackHole(try upcasting.upcast(to: version, times: benchmark.scaledIterations.count))
        } setup: {
            try Upcasting(schemas: schemas, payload: Frame.read(frames, limit: 1)[0].payload)
        }
    }

    Benchmark("one strict pass over an event's bytes", configuration: often) { benchmark, upcasting in
        blackHole(try upcasting.scan(times: benchmark.scaledIterations.count))
    } setup: {
        try Upcasting(schemas: schemas, payload: Frame.read(frames, limit: 1)[0].payload)
    }

    Benchmark("read of a stream of 10 events", configuration: often) { benchmark, opened in
        for index in benchmark.scaledIterations {
            blackHole(try opened.store.read(StreamName(Frame.name(index &* 7_919 % streamCount))).count)
        }
    } setup: {
        try await Opened(streams)
    }

    Benchmark("the last 10 of a long stream", configuration: once) { benchmark, opened in
        blackHole(try opened.store.read(StreamName(Frame.name(0)), limit: 10, backwards: true).count)
    } setup: {
        try await Opened(long)
    }
}
