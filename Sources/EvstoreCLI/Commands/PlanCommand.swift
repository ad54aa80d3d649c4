internal import ArgumentParser
internal import Evstore
internal import Migration

struct PlanCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "What a replay or a rollback would do, how long it would take and what it would lose. Changes nothing.",
        discussion: """
            Example: evstore plan --to v5 --schemas Schemas/shop
            Going back: evstore plan --to v4

            Below the live version it says what `evstore rollback --to` would do. Where the replay or the rollback \
            would be refused, it says why and exits with the code that it would exit with: 3 where events have no \
            image, 10 where it asks for --yes, 6 where it needs the application.
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to plan for.", valueName: "vN")) var to: String

    @Flag(help: "Exit with 4 where a replay, or a rollback, has something to do.") var exitCode = false

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.plan(to: store.version(named: to))
        }
        try session.output.print(report)
        if let refusal = report.refused.first { throw Exit(code: refusal.error.exit) }
        if exitCode && report.pending { throw Exit.pending }
    }
}

extension PlanReport: Report {
    var members: Members {
        [
            "from": from, "to": to, "events": events, "rebuild": rebuild, "ways": ways, "carry": carry, "loss": loss, "oneWay": oneWay,
            "seconds": duration, "bytes": bytes, "types": types, "refused": refused, "adoption": adoption, "needs": needs,
            "appendsRefused": appendsRefused, "quarantined": quarantined, "notSeen": notSeen, "tail": tail, "bornAbove": bornAbove,
            "sample": sample, "rows": rows, "gone": gone, "rollback": rollback,
        ]
    }

    var lines: [String] {
        let steps = max(from, to).number - min(from, to).number
        "\(from) -> \(to)   \(counted(steps, "step"))" + (opClass.isEmpty || steps == 0 ? "" : ", class \(opClass)")
        typeLines
        if isRollback {
            "tail         \(counted(tail, "event")) since the flip, all kept; \(grouped(bornAbove)) born above \(to)"
        }
        "projections  " + projectionWords
        for way in ways { if let line = way.line { line } }
        for line in loss {
            if isRollback { "hidden       " + line.words(of: sample, all: bornAbove) } else { line.line }
        }
        if isRollback, bornAbove > 0, loss.isEmpty { "hidden       nothing of \(looked(of: bornAbove))" }
        if !gone.isEmpty { "not there    \(to) has no \(gone.joined(separator: ", "))" }
        if let adoption { "adopted      \(adoption.words) (of the sample)" }
        for step in oneWay { "one way      \(step) (needs --yes)" }
        for step in needs { "needs        \(step), which is written in Swift: run the application's own command line" }
        for refused in appendsRefused {
            let types = refused.types.joined(separator: ", ")
            "appends      once \(to) is live, a program without \(refused.step) can't append \(types) (needs --yes)"
        }
        if quarantined > 0 {
            let then = isRollback ? "" : ": the replay exits with 8"
            "quarantined  \(counted(quarantined, "event")) of read models that are kept\(then)"
        }
        if notSeen > 0 {
            "not seen     \(counted(notSeen, "event")) that may have no image: only the replay looks at them"
        }
        "estimate     " + estimate
        rollback.lines(isPlanned: isRollback)
        if isRollback { "forward      evstore replay --to \(from)" }
        for refusal in refused { "refused      \(refusal.words)" }
        "nothing was changed"
    }

    @TextLines private var typeLines: [String] {
        let names = types.map { $0.type + (isMixed ? " (\($0.born))" : "") }
        let (width, digits) = (names.map(\.count).max() ?? 0, types.map { grouped($0.count).count }.max() ?? 0)
        for (type, name) in zip(types, names) {
            "  \(name.padded(to: width))   \(grouped(type.count).aligned(to: digits)) \(type.count == 1 ? "event " : "events")   \(type.changes)"
                + (type.failures > 0 ? ", no image for \(grouped(type.failures)) of the sample" : "")
        }
        for (type, name) in zip(types, names) {
            if let opByOp = type.opByOp { "op by op     \(name): \(opByOp)" }
        }
    }

    private func looked(of all: UInt64) -> String {
        sample >= all ? counted(all, "event") : "\(grouped(sample)) of \(counted(all, "event")) that were looked at"
    }

    /// Whether a type has events of several birth versions, so that its lines must be told apart.
    private var isMixed: Bool { Set(types.map(\.type)).count < types.count }

    private var projectionWords: String {
        let all = rebuild.count + carry.count
        if all == 0 { return "none" }
        let names = rebuild.map { new.contains($0) ? $0 + "*" : $0 }.joined(separator: ", ")
        var words = rebuild.isEmpty ? "nothing to rebuild" : "rebuild \(rebuild.count) of \(all) (\(names))"
        let verb = carry.count == 1 ? "is" : "are"
        if !carry.isEmpty { words += "; \(carry.joined(separator: ", ")) \(verb) \(isRollback ? "there" : "unaffected, kept")" }
        return words + (new.isEmpty ? "" : "    * new")
    }

    private var estimate: String {
        let measured = sample > 0 && !isRollback ? " (measured on a sample of \(counted(sample, "event")))" : ""
        let mapped = ways.compactMap(\.rows).reduce(0, +)
        let what =
            isRollback
            ? "\(counted(events, "event")) to fold, \(counted(rows, "row")) there"
            : [events > 0 || mapped == 0 ? counted(events, "event") : nil, mapped > 0 ? counted(mapped, "row") : nil]
                .compactMap(\.self).joined(separator: " and ")
        return "\(what), about \(duration.inWords) and \(size(bytes: bytes)) of extra disk\(measured)"
    }
}

extension PlannedType: PrintableObject {
    var members: Members {
        [
            "type": type, "born": born, "count": count, "becomes": becomes, "changes": changes, "noImage": failures, "opByOp": opByOp,
        ]
    }
}

extension PlannedWay: PrintableObject {
    var members: Members { ["projection": projection, "rows": rows, "because": because] }

    fileprivate var line: String? {
        if let rows { return "from rows    \(projection): \(counted(rows, "row")) of the live version" }
        return because.map { "from events  \(projection): \($0)" }
    }
}

extension PlannedRefusal: PrintableObject {
    var members: Members { ["code": code, "exit": error.exit, "message": message, "fix": error.command] }

    fileprivate var words: String { error.words }
}

extension PlannedRollback: PrintableObject {
    var members: Members {
        [
            "to": to, "refused": refused, "without": without,
            "readsRefused": readsRefused.map { ["step": $0.step, "types": $0.types, "events": $0.events] as Members },
        ]
    }

    /// - Parameter isPlanned: whether this rollback is the plan itself, and not one that is possible after the planned replay.
    @TextLines
    fileprivate func lines(isPlanned: Bool) -> [String] {
        if !isPlanned {
            let words = to.map { refused == nil ? "possible until finalize, to \($0)" : "to \($0), and not as it is" }
            "rollback     " + [words ?? "not possible", refused?.words].compactMap(\.self).joined(separator: ": ")
        }
        if let to {
            if isPlanned, !without.isEmpty {
                "without      \(without.joined(separator: ", ")), in Swift, which this program does not have"
            }
            for reads in readsRefused {
                let now = reads.events == 0 ? "" : " (\(counted(reads.events, "event")) now)"
                "reads        at \(to) a program without \(reads.step) can't read \(reads.types.joined(separator: ", ")) born above it\(now): bring it the step first, or declare `down: shadow` before the version is released"
            }
        }
    }
}

extension RefusedAppends: PrintableObject {
    var members: Members { ["step": step, "types": types] }
}

extension PlannedLoss: PrintableObject {
    var members: Members {
        [
            "version": version, "type": type, "what": what, "declared": declared, "asks": asks, "count": count, "first": first,
        ]
    }

    fileprivate var line: String {
        let seen = count > 0 ? ", \(grouped(count)) in the sample" : ""
        return "loss         \(version) \(type): \(what) (\(standing)\(seen))"
    }

    /// The loss in words, for events born above an older version.
    /// - Parameters:
    ///   - sample: the number of events that were examined.
    ///   - all: the number of all such events.
    func words(of sample: UInt64, all: UInt64) -> String {
        let looked = sample >= all ? counted(count, "event") : "\(grouped(count)) of the \(grouped(sample)) events that were looked at"
        return "\(version) \(type): \(what), \(looked)\(declared ? " (declared)" : "")"
    }

    /// What a person has to do about the loss.
    var standing: String { declared ? "declared" : asks ? "not declared, needs --yes" : "told, not asked for" }
}
