internal import EventModel

extension LawTrial {
    /// Whether the images of several parts after a step are those of each part alone, in the same order. Parts that the step joins to one
    /// event count as one, at the position of the first of them.
    func keepsOrder(
        _ before: [GroupPart], _ after: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion
    ) -> Bool {
        if before.count < 2 { return true }
        let alone = before.map { part in seen([part], of: event, from: from, to: to) }
        if let all = Self.concatenation(alone), Self.isSame(all, after) { return true }
        // Finds the groups of parts that the step joins: a part belongs to the first group whose images it changes.
        var groups: [(parts: [GroupPart], seen: [GroupPart]?)] = []
        for (part, own) in zip(before, alone) {
            var isJoined = false
            for index in groups.indices where !isJoined {
                let together = groups[index].parts + [part]
                guard let all = seen(together, of: event, from: from, to: to) else { continue }
                let apart = Self.concatenation([groups[index].seen, own])
                isJoined = apart.map { !Self.isSame(Self.sorted($0), Self.sorted(all)) } ?? true
                if isJoined { groups[index] = (together, all) }
            }
            if !isJoined { groups.append(([part], own)) }
        }
        var joined: [JoinedParts] = []
        for group in groups {
            // Other laws report whether each part has an image.
            guard let seen = group.seen else { return true }
            joined.append(JoinedParts(parts: group.parts, seen: seen))
        }
        return match(joined[...], after[...]) { part in seen(part, of: event, from: from, to: to) }
    }

    /// Parts that the step joins to one event, and their images.
    private struct JoinedParts {
        var parts: [GroupPart]
        var seen: [GroupPart]
    }

    /// Whether the images are those of the groups, in order. A group without an image may belong to a later group whose images do not
    /// change without it; the later group then takes its position.
    private func match(
        _ groups: ArraySlice<JoinedParts>, _ after: ArraySlice<GroupPart>, seeing see: ([GroupPart]) -> [GroupPart]?
    ) -> Bool {
        guard let first = groups.first else { return after.isEmpty }
        let rest = groups.dropFirst()
        if Self.isSame(first.seen, Array(after.prefix(first.seen.count))),
            match(rest, after.dropFirst(first.seen.count), seeing: see)
        {
            return true
        }
        guard first.seen.isEmpty else { return false }
        return rest.indices.contains { index in
            let other = rest[index]
            guard !other.seen.isEmpty, Self.isSame(other.seen, Array(after.prefix(other.seen.count))),
                see(first.parts + other.parts).map({ Self.isSame($0, other.seen) }) == true
            else { return false }
            return match(rest[..<index] + rest[(index + 1)...], after.dropFirst(other.seen.count), seeing: see)
        }
    }

    private func seen(_ parts: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion) -> [GroupPart]? {
        do { return try see(parts, of: event, from: from, to: to) } catch { return nil }
    }

    private static func concatenation(_ lists: [[GroupPart]?]) -> [GroupPart]? {
        lists.contains { $0 == nil } ? nil : lists.flatMap { $0 ?? [] }
    }
}
