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

extension History {
    /// Every op that an event can pass, in the order of the files, with the number of events that passed it.
    package func cases(_ crossings: [StepCrossing: UInt64]) -> [StepCase] {
        chain.steps.flatMap { step -> [StepCase] in
            let (before, after) = (types(at: step.version.previous), types(at: step.version))
            let fates = before.map { type in (type, step.step.fates(of: type, after: 0).map(\.type).filter(after.contains)) }
            let above = Set(before).union(fates.flatMap(\.1))
            let below = Set(after).union(fates.compactMap { $0.1.isEmpty ? nil : $0.0 })
            var found: [StepCase] = []
            func add(_ type: String, _ op: String, _ direction: Direction) {
                guard direction == .up ? above.contains(type) : below.contains(type) && !step.opClass.contains(.oneWay) else { return }
                let count = crossings.reduce(into: UInt64(0)) { sum, one in
                    let (crossing, count) = one
                    guard crossing.step == step.version, crossing.direction == direction else { return }
                    if crossing.from.isSame(as: type) || crossing.to?.isSame(as: type) ?? false { sum += count }
                }
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
