package import EventLog
package import EventModel
internal import Projections
internal import SchemaEvolution

/// The result of trying the laws.
package struct LawReport: Sendable {
    /// The counts of the laws, in the order of their names.
    package let laws: [LawCount]
    package let exercised: [OpCount]
    /// Ops that no event went through.
    package let notExercised: [String]
    package let cases: LawCases
    /// The seed of the events that were generated.
    package let seed: UInt64
    package let loss: [PlannedLoss]
    package let findings: [Finding]
}

extension Laws {
    /// Tries every law: first those of events, then those of read models.
    /// - Parameter quarantine: events of the log without an image at this version are not tried, but named as such.
    package static func prove(
        _ context: MigrationContext, _ state: StoreState, seed: UInt64, quarantine: SchemaVersion? = nil
    ) throws(EvstoreError) -> LawReport {
        let history = try context.evolving.current().history
        try history.requireSwiftSteps(through: history.head)
        var tally = try checkEvents(context, history, state, seed: seed, quarantine: quarantine)
        var models = try ReplayLaws(context)
        for version in Set([state.live, state.floor]).sorted() { try models.check(state, at: version) }
        try models.checkShared(state)
        tally.add(models.tally)
        let laws = all.map { law in
            let count = tally.counts[law]
            return LawCount(law: law, tried: count?.tried ?? 0, failed: count?.failed ?? 0, lossy: count?.lossy ?? 0)
        }
        let stepCases = history.cases(tally.crossings)
        let cases = LawCases(
            log: tally.cases[.log] ?? 0, adopted: tally.cases[.adopted] ?? 0, generated: tally.cases[.generated] ?? 0,
            mutated: tally.cases[.mutated] ?? 0, refused: tally.refused, replayed: models.events)
        var notExercised = stepCases.filter { $0.count == 0 }.map(\.description)
        if let quarantine, tally.quarantined > 0 {
            notExercised.append("the laws of \(counted(tally.quarantined, "event")) without an image at \(quarantine)")
        }
        return LawReport(
            laws: laws, exercised: exercised(stepCases), notExercised: notExercised, cases: cases,
            seed: seed, loss: tally.losses.planned(history, from: SchemaVersion(1), to: state.live),
            findings: tally.failures.map { finding($0, history) } + models.findings)
    }

    static let all = ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"]

    /// The cases of all types together, in the order of the version files.
    static func exercised(_ cases: [StepCase]) -> [OpCount] {
        var found: [OpCount] = []
        for one in cases {
            let index = found.firstIndex { $0.version == one.step && $0.op == one.op } ?? found.count
            if index == found.count { found.append(OpCount(version: one.step, op: one.op, up: 0, down: 0)) }
            if one.direction == .up { found[index].up += one.count } else { found[index].down += one.count }
        }
        return found
    }

    /// A finding that shows why a law does not hold: it names the smallest payload that breaks it.
    static func finding(_ failure: LawFailure, _ history: History) -> Finding {
        let small = failure.shrunk(history)
        let event = small.event
        var what = "\(failure.verdict.law): \(event.type) born at \(event.born) "
        what += "\(sentence(failure.verdict.law)) \(failure.target): \(event.origin.rawValue) \(small.example(history))"
        if case .noImage(let image)? = failure.verdict.error {
            what += "; \(image.op) of \(image.step) at \(image.pointer.isEmpty ? "the payload" : image.pointer) takes \(image.expected)"
        }
        let isRequired = failure.verdict.weight == .required
        return Finding(
            id: failure.verdict.law == "L1" ? "LAW102" : "LAW101", severity: isRequired ? .error : .note, position: event.position,
            message: what,
            advice: isRequired ? "see what the steps do with: \(.explainSteps)" : nil)
    }

    private static func sentence(_ law: String) -> String {
        switch law {
        case "L1": "does not come back as it was from"
        case "L3": "is not the same again after going back and forth, at"
        case "L4": "is not the same when seen step by step, at"
        case "L5": "has its parts out of order, or a stream that is not led back to or that its template does not name, at"
        default: "has no image at"
        }
    }
}
