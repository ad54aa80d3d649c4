internal import EventLog
package import EventModel
internal import Hashing
internal import Projections

/// Deletes what interrupted or finished migrations left in `generations/`. Requires the migration lock.
package enum GenerationSweep {
    /// Keeps the generations in the store's map, and ready ones of `keepingReady` without a directory in it. Returns how many it deleted.
    @discardableResult
    package static func run(_ context: MigrationContext, keepingReady fingerprints: Set<String>? = nil) throws(EvstoreError) -> Int {
        let map = try context.state().generations
        let mapped = Set(map.values)
        var removed = 0
        for name in try Generation.names(in: context.store) where !mapped.contains(name) {
            if Generation.isName(name), try isWanted(name, map, fingerprints, context) { continue }
            try Generation.remove(named: name, in: context.store)
            removed += 1
        }
        return removed
    }

    private static func isWanted(
        _ name: String, _ map: [String: String], _ fingerprints: Set<String>?, _ context: MigrationContext
    ) throws(EvstoreError) -> Bool {
        guard let header = try Generation.header(ofGeneration: name, in: context.store, of: context.log) else { return false }
        if try Generation.isRetired(name, in: context.store) { return false }
        let fingerprint = header.fingerprint.hex
        return header.isReady && map[fingerprint] == nil && fingerprints?.contains(fingerprint) ?? true
    }

    /// The map without the generations that have gone beyond a position, no longer exist, or are damaged.
    static func mapped(
        _ context: MigrationContext, _ state: StoreState, through position: Position
    ) throws(EvstoreError) -> [String: String] {
        let names = Set(try Generation.names(in: context.store))
        var result: [String: String] = [:]
        for (fingerprint, name) in state.generations where names.contains(name) {
            let header = try Generation.header(ofGeneration: name, in: context.store, of: context.log)
            if let header, header.checkpoint.position <= position { result[fingerprint] = name }
        }
        return result
    }
}
