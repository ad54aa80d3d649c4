internal import EventLog
internal import EventModel
internal import FoundationEssentials

extension EventStore {
    /// Closes a store that an import has made, and removes it where it holds no event and no other process has it open.
    package func discard() async throws(EvstoreError) {
        do { try log.takeAlone(what: "removes it") } catch {
            guard case .locked = EvstoreError(converting: error, at: path) else { throw EvstoreError(converting: error, at: path) }
            return try await close()
        }
        guard try last().position == .start else { return try await close() }
        // Order: the directory is renamed while this process holds the store alone, to a name that a later program removes where this
        // one is killed. A process that waits for the lock finds no store then.
        let leftover = "\(path).new-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16))"
        do { try FileManager.default.moveItem(atPath: path, toPath: leftover) } catch {
            throw .ioFailure(doing: "removing \(path)", reason: "\(error)")
        }
        do { try await close() } catch {
            // The store was renamed and is empty: a failure to close it loses nothing.
        }
        do { try FileManager.default.removeItem(atPath: leftover) } catch {
            // Another process that makes a store here removes leftovers too.
        }
    }
}
