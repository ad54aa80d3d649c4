internal import Bytes
package import EventModel
internal import JSONText

extension LawTrial {
    /// Tries all laws on generated events of a type, each at every version in which it must have an image. Stops after `count` events that
    /// no step refused, or after five times as many in total.
    package mutating func check(_ kind: TypeAtVersion, generated count: Int, seed: UInt64) {
        var generator = generator(seed)
        var accepted = 0
        for _ in 0 ..< 5 * count where accepted < count {
            guard let event = generator.event(type: kind.type, born: kind.version) else { continue }
            let before = noted.refused
            check(everywhere: [event])
            if noted.refused == before { accepted += 1 }
        }
    }

    /// Tries all laws on `count` generated appends whose events the step to a version merges, as if born at each version below it.
    package mutating func check(mergesTo version: SchemaVersion, generated count: Int, seed: UInt64) {
        guard let step = history.chain.step(to: version) else { return }
        var generator = generator(seed)
        for item in step.step.items {
            guard case .event(let entry) = item.action, let op = entry.op as? MergeEvents else { continue }
            for _ in 0 ..< count {
                let events = append(op, at: version.previous, &generator)
                check(everywhere: events)
                for number in (1 ..< max(version.previous.number, 1)).reversed() {
                    let born = SchemaVersion(number)
                    let older = events.map { images(of: $0, at: born) }
                    if older.allSatisfy({ !$0.isEmpty }) { check(everywhere: older.flatMap(\.self)) }
                }
            }
        }
    }

    /// Tries all laws on a mutation of each image that an event of the log has at the newest version.
    package mutating func check(mutationsOf event: LawEvent, seed: UInt64) {
        var generator = generator(seed)
        for image in images(of: event, at: history.head) {
            if let made = generator.mutation(of: image) { check(everywhere: [made]) }
        }
    }

    private mutating func generator(_ seed: UInt64) -> EventGenerator {
        var generator = madeGenerator ?? EventGenerator(history, seed: seed)
        generator.restart(seed: seed)
        madeGenerator = generator
        return generator
    }

    private mutating func check(everywhere events: [LawEvent]) {
        guard let born = events.first?.born else { return }
        var walks: [StepWalk.Key: StepWalk] = [:]
        for number in 1 ..< history.head.number + 1 {
            let target = SchemaVersion(number)
            guard Self.requiresImage(history, from: born, to: target) else { continue }
            let merged = events.indices.filter { isMerged(events[$0], target) }
            let alone = events.indices.filter { !merged.contains($0) }.map { [$0] }
            for group in merged.isEmpty ? alone : [merged] + alone {
                let key = StepWalk.Key(events: group, areMerged: group == merged, direction: born < target ? .up : .down)
                check(all: group.map { events[$0] }, at: target, along: &walks[key, default: StepWalk()])
            }
        }
        for walk in walks.values { noted.count(walk) }
    }

    /// One event of each type that the op merges; all have equal values in the members that they share.
    private func append(_ op: MergeEvents, at version: SchemaVersion, _ generator: inout EventGenerator) -> [LawEvent] {
        var events: [LawEvent] = []
        for type in history.types(at: version) {
            do {
                let path = try viewer.path(type: type, born: version, to: version.next)
                guard path.merges, path.types.contains(op.into), var event = generator.event(type: type, born: version) else { continue }
                if let first = events.first {
                    event.payload = try op.on.reduce(event.payload) { payload, key in
                        guard let name = key.last else { return payload }
                        return try JSONValue(parsing: payload.lent).replacing(name, from: JSONValue(parsing: first.payload.lent))
                    }
                    (event.stream, event.time) = (first.stream, first.time)
                }
                events.append(event)
            } catch { continue }
        }
        return events
    }
}

extension JSONValue {
    /// The text of the object in which a member has the value that it has in another object.
    fileprivate func replacing(_ name: MemberName, from other: JSONValue) -> [UInt8] {
        guard case .object(var members) = self, let value = other.member(name.text) else { return Array(text.utf8) }
        if let index = members.firstIndex(where: { $0.name.isSame(as: name.text) }) { members[index].value = value }
        return Array(JSONValue.object(members).text.utf8)
    }
}
