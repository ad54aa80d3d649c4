package import EventModel

/// One op of a step for one type and direction, and the number of events on which it was tried.
package struct StepCase: Hashable, Sendable, CustomStringConvertible {
    package let step: SchemaVersion
    package let type: String
    package let op: String
    package let direction: Direction
    package let count: UInt64

    package var description: String { "\(step) \(type): \(op) \(direction == .up ? "up" : "down")" }
}

/// A type before or behind a step that events crossed.
private struct CrossedType: Hashable {
    let step: SchemaVersion
    let direction: Direction
    let type: Name
}

extension History {
    /// Every op that an event can pass, in the order of the files, with the number of events that passed it.
    package func cases(_ crossings: [StepCrossing: UInt64]) -> [StepCase] {
        var counts: [CrossedType: UInt64] = [:]
        for (crossing, count) in crossings {
            let types = Set(of: [crossing.from] + (crossing.to.map { [$0] } ?? []))
            for type in types { counts[CrossedType(step: crossing.step, direction: crossing.direction, type: type), default: 0] += count }
        }
        return chain.steps.flatMap { step -> [StepCase] in
            let (before, after) = (types(at: step.version.previous), types(at: step.version))
            let fates = before.map { type in (type, step.step.fates(of: type, after: 0).map(\.type).filter(after.contains)) }
            let above = Set(before).union(fates.flatMap(\.1))
            let below = Set(after).union(fates.compactMap { $0.1.isEmpty ? nil : $0.0 })
            var found: [StepCase] = []
            func add(_ type: String, _ op: String, _ direction: Direction) {
                guard direction == .up ? above.contains(type) : below.contains(type) && !step.opClass.contains(.oneWay) else { return }
                let count = counts[CrossedType(step: step.version, direction: direction, type: Name(type))] ?? 0
                found.append(StepCase(step: step.version, type: type, op: op, direction: direction, count: count))
            }
            for stage in step.stages {
                switch stage {
                case .payload(let entries):
                    for type in entries.sortedNames {
                        for entry in entries[type] ?? [] {
                            add(type, entry.label, .up)
                            add(type, entry.label, .down)
                        }
                    }
                case .event(let event, let label, _):
                    for type in event.up.sortedNames { for name in event.up[type]?.names(for: type) ?? [] { add(name, label, .up) } }
                    for type in event.down.sortedNames {
                        for name in event.down[type]?.names(for: type) ?? [] { add(name, label, .down) }
                    }
                }
            }
            return found
        }
    }
}

extension EventChange {
    /// The types whose events the change affects; empty if no event has an image.
    fileprivate func names(for type: String) -> [String] {
        switch self {
        case .dispatch(_, let cases): cases.map(\.type)
        case .parts(let parts, _): parts.map(\.type)
        case .blocked: []
        case .becomes, .rejoin, .hidden, .dropped: [type]
        }
    }
}
