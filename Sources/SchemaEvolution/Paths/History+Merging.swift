package import EventModel

extension History {
    /// Whether any step merges events of one append.
    package var mergesEvents: Bool {
        chain.steps.contains { step in
            step.step.items.contains { item in
                guard case .event(let op, _) = item.action else { return false }
                return op is MergeEvents
            }
        }
    }

    /// The types at a version whose events a later step merges with those of the given type, including that type; empty if no step does.
    package func types(mergedWith type: String, at version: SchemaVersion) throws(EvstoreError) -> Set<Name> {
        var found: Set<Name> = []
        var target = version.next
        while target <= head {
            let images = try Set(of: merging(type, version, target)?.types ?? [])
            for other in types(at: version) where !images.isEmpty && !found.contains(other) {
                if let path = try merging(other, version, target), !images.isDisjoint(with: Set(of: path.types)) { found.insert(other) }
            }
            target = target.next
        }
        return found
    }

    private func merging(_ type: String, _ version: SchemaVersion, _ target: SchemaVersion) throws(EvstoreError) -> Path? {
        let path = try path(type: type, born: version, to: target)
        return path.merges ? path : nil
    }
}
