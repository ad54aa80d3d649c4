internal import EventModel

extension LawTrial {
    /// Whether the parts of an event are after a step what each is by itself, in their order: but for those that are one event
    /// there, which stands where the first of them stood.
    func keepsOrder(
        _ before: [GroupPart], _ after: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion
    ) -> Bool {
        if before.count < 2 { return true }
        let alone = before.map { part in seen([part], of: event, from: from, to: to) }
        if let all = Self.joined(alone), Self.isSame(all, after) { return true }
        // Parts that are one event, each with what they are together: each joins the first that it makes something else of.
        var groups: [(parts: [GroupPart], seen: [GroupPart]?)] = []
        for (part, own) in zip(before, alone) {
            var isTaken = false
            for index in groups.indices where !isTaken {
                let together = groups[index].parts + [part]
                guard let all = seen(together, of: event, from: from, to: to) else { continue }
                let apart = Self.joined([groups[index].seen, own])
                isTaken = apart.map { !Self.isSame(Self.sorted($0), Self.sorted(all)) } ?? true
                if isTaken { groups[index] = (together, all) }
            }
            if !isTaken { groups.append(([part], own)) }
        }
        var stands: [Stand] = []
        for group in groups {
            // That a part has no image other laws say.
            guard let seen = group.seen else { return true }
            stands.append(Stand(parts: group.parts, seen: seen))
        }
        return stand(stands[...], as: after[...]) { part in seen(part, of: event, from: from, to: to) }
    }

    /// Parts that are one event, and what they are together.
    private struct Stand {
        var parts: [GroupPart]
        var seen: [GroupPart]
    }

    /// Whether all stand in their order. Parts that are hidden may be the first of an event that is the same without them,
    /// which then stands in their place.
    private func stand(_ groups: ArraySlice<Stand>, as after: ArraySlice<GroupPart>, seeing see: ([GroupPart]) -> [GroupPart]?) -> Bool {
        guard let first = groups.first else { return after.isEmpty }
        let rest = groups.dropFirst()
        if Self.isSame(first.seen, Array(after.prefix(first.seen.count))),
            stand(rest, as: after.dropFirst(first.seen.count), seeing: see)
        {
            return true
        }
        guard first.seen.isEmpty else { return false }
        return rest.indices.contains { index in
            let other = rest[index]
            guard !other.seen.isEmpty, Self.isSame(other.seen, Array(after.prefix(other.seen.count))),
                see(first.parts + other.parts).map({ Self.isSame($0, other.seen) }) == true
            else { return false }
            return stand(rest[..<index] + rest[(index + 1)...], as: after.dropFirst(other.seen.count), seeing: see)
        }
    }

    private func seen(_ parts: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion) -> [GroupPart]? {
        do { return try see(parts, of: event, from: from, to: to) } catch { return nil }
    }

    private static func joined(_ lists: [[GroupPart]?]) -> [GroupPart]? {
        lists.contains { $0 == nil } ? nil : lists.flatMap { $0 ?? [] }
    }
}
