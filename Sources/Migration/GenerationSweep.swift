internal import EventLog
package import EventModel
internal import Hashing
internal import Projections

/// Deletes what interrupted or finished migrations left in `generations/`. Only under the migration lock.
package enum GenerationSweep {
    /// Keeps what the store's map names, and ready ones of `keepingReady` that it has no other directory for.
    /// Returns how many were deleted.
    @discardableResult
    package static func run(_ site: MigrationSite, keepingReady fingerprints: Set<String>? = nil) throws(EvstoreError) -> Int {
        let map = try site.state().generations
        let mapped = Set(map.values)
        var removed = 0
        for name in try Generation.names(in: site.store) where !mapped.contains(name) {
            if Generation.isName(name), try isWanted(name, map, fingerprints, site) { continue }
            try Generation.remove(named: name, in: site.store)
            removed += 1
        }
        return removed
    }

    private static func isWanted(
        _ name: String, _ map: [String: String], _ fingerprints: Set<String>?, _ site: MigrationSite
    ) throws(EvstoreError) -> Bool {
        let header: GenerationHeader
        do {
            header = try Generation.open(named: name, in: site.store, of: site.log).header
        } catch {
            // A directory without a whole generation inside.
            if case .storeDamaged = error { return false }
            throw error
        }
        let fingerprint = header.fingerprint.hex
        return header.isReady && map[fingerprint] == nil && fingerprints?.contains(fingerprint) ?? true
    }

    /// The map without the generations that have gone beyond a position, or that are no more or damaged.
    static func mapped(_ site: MigrationSite, _ state: StoreState, through position: Position) throws(EvstoreError) -> [String: String] {
        let names = Set(try Generation.names(in: site.store))
        var result: [String: String] = [:]
        for (fingerprint, name) in state.generations where names.contains(name) {
            do {
                let generation = try Generation.open(named: name, in: site.store, of: site.log)
                if try generation.header.checkpoint.position <= position { result[fingerprint] = name }
            } catch { guard case .storeDamaged = error else { throw error } }
        }
        return result
    }
}
