internal import EventLog
internal import EventModel
internal import FoundationEssentials

extension EventStore {
    /// Closes a store that an import made, and removes it where nothing came of it: it holds no event, and nobody else has it open.
    package func discard() async throws(EvstoreError) {
        do { try log.takeAlone(what: "removes it") } catch {
            guard case .locked = EvstoreError(converting: error, at: path) else { throw EvstoreError(converting: error, at: path) }
            return try await close()
        }
        guard try last().position == .start else { return try await close() }
        // Order: it goes from its place while nobody else is in, under a name that is swept where this process ends here. Who
        // waits for the lock meanwhile finds nothing behind it.
        let leftover = "\(path).new-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16))"
        do { try FileManager.default.moveItem(atPath: path, toPath: leftover) } catch {
            throw .ioFailure(doing: "removing \(path)", reason: "\(error)")
        }
        do { try await close() } catch {
            // The store is gone from its place, as it should be, and nothing in it has to be kept.
        }
        do { try FileManager.default.removeItem(atPath: leftover) } catch {
            // Another process that makes a store here sweeps leftovers, and may be doing so.
        }
    }
}
