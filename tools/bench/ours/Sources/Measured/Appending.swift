import EventModel
public import Evstore

/// How long single appends took, and all of them together.
public struct AppendTimes: Sendable {
    public var seconds: Double
    /// Microseconds of each append, in order of size.
    public var latencies: [Double]

    public func latency(_ share: Double) -> Double {
        latencies.isEmpty ? 0 : latencies[min(Int(Double(latencies.count) * share), latencies.count - 1)]
    }
}

extension EventStore {
    /// `writers` tasks that each append one event after the other, each when the one before is durable.
    public func appendSingly(_ events: [NewEvent], writers: Int) async throws -> AppendTimes {
        let clock = ContinuousClock()
        let begin = clock.now
        let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
            for writer in 0 ..< writers {
                group.addTask {
                    var latencies: [Double] = []
                    latencies.reserveCapacity(events.count / writers + 1)
                    for index in stride(from: writer, to: events.count, by: writers) {
                        let asked = clock.now
                        _ = try await self.append(events[index], expecting: .any)
                        latencies.append((clock.now - asked).seconds * 1e6)
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return AppendTimes(seconds: (clock.now - begin).seconds, latencies: latencies.sorted())
    }

    /// One caller that appends many events at once, again and again; the time without that of reading and making them.
    public func appendTogether(_ reader: consuming FrameReader, events: Int, batch: Int) async throws -> (times: AppendTimes, events: Int) {
        let clock = ContinuousClock()
        var latencies: [Double] = []
        var done = 0
        while done < events {
            let frames = try reader.next(min(batch, events - done))
            if frames.isEmpty { break }
            let events = try frames.map { try $0.event }
            let asked = clock.now
            _ = try await append(events)
            latencies.append((clock.now - asked).seconds * 1e6)
            done += events.count
        }
        return (AppendTimes(seconds: latencies.reduce(0, +) / 1e6, latencies: latencies.sorted()), done)
    }
}

extension Duration {
    public var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
