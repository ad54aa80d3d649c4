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
        try session.output.json ? session.output.object(report.object) : report.write(to: session.output)
        if let refusal = report.refused.first { throw Exit(code: refusal.error.exit) }
        if exitCode && report.pending { throw Exit.pending }
    }
}

extension PlanReport {
    var object: OutputValue {
        [
            "from": .version(from), "to": .version(to), "events": .count(events), "rebuild": .list(rebuild.map { .text($0) }),
            "ways": .list(ways.map(\.object)), "carry": .list(carry.map { .text($0) }),
            "loss": .list(loss.map(\.object)),
            "oneWay": .list(oneWay.map { .text($0) }), "seconds": .measure(duration), "bytes": .count(bytes),
            "types": .list(
                types.map {
                    [
                        "type": .text($0.type), "born": .version($0.born), "count": .count($0.count),
                        "becomes": .list($0.becomes.map { .text($0) }), "changes": .text($0.changes), "noImage": .count($0.failures),
                        "opByOp": .optional($0.opByOp),
                    ]
                }),
            "refused": .list(refused.map(\.object)),
            "adoption": adoption?.object ?? nil, "needs": .list(needs.map { .text($0) }),
            "appendsRefused": .list(appendsRefused.map(\.object)), "quarantined": .count(quarantined), "notSeen": .count(notSeen),
            "tail": .count(tail), "bornAbove": .count(bornAbove), "sample": .count(sample), "rows": .count(rows),
            "gone": .list(gone.map { .text($0) }), "rollback": rollback.object,
        ]
    }

    func write(to output: Output) throws {
        let steps = max(from, to).number - min(from, to).number
        try output.line("\(from) -> \(to)   \(counted(steps, "step"))" + (opClass.isEmpty || steps == 0 ? "" : ", class \(opClass)"))
        try writeTypes(to: output)
        if isRollback {
            try output.line("tail         \(counted(tail, "event")) since the flip, all kept; \(grouped(bornAbove)) born above \(to)")
        }
        try output.line("projections  " + projectionWords)
        for way in ways { if let line = way.line { try output.line(line) } }
        for line in loss {
            if isRollback { try output.line("hidden       " + line.words(of: sample, all: bornAbove)) } else { try line.write(to: output) }
        }
        if isRollback, bornAbove > 0, loss.isEmpty { try output.line("hidden       nothing of \(looked(of: bornAbove))") }
        if !gone.isEmpty { try output.line("not there    \(to) has no \(gone.joined(separator: ", "))") }
        if let adoption { try output.line("adopted      \(adoption.words) (of the sample)") }
        for step in oneWay { try output.line("one way      \(step) (needs --yes)") }
        for step in needs { try output.line("needs        \(step), which is written in Swift: run the application's own command line") }
        for refused in appendsRefused {
            let types = refused.types.joined(separator: ", ")
            try output.line("appends      once \(to) is live, a program without \(refused.step) can't append \(types) (needs --yes)")
        }
        if quarantined > 0 {
            let then = isRollback ? "" : ": the replay exits with 8"
            try output.line("quarantined  \(counted(quarantined, "event")) of read models that are kept\(then)")
        }
        if notSeen > 0 {
            try output.line("not seen     \(counted(notSeen, "event")) that may have no image: only the replay looks at them")
        }
        try output.line("estimate     " + estimate)
        try rollback.write(to: output, isPlanned: isRollback)
        if isRollback { try output.line("forward      evstore replay --to \(from)") }
        for line in refused { try output.line("refused      \(line.message)" + (line.error.command.map { "; \($0)" } ?? "")) }
        try output.line("nothing was changed")
    }

    private func writeTypes(to output: Output) throws {
        let names = types.map { $0.type + (isMixed ? " (\($0.born))" : "") }
        let (width, digits) = (names.map(\.count).max() ?? 0, types.map { grouped($0.count).count }.max() ?? 0)
        for (type, name) in zip(types, names) {
            try output.line(
                "  \(name.padded(to: width))   \(grouped(type.count).aligned(to: digits)) \(type.count == 1 ? "event " : "events")   \(type.changes)"
                    + (type.failures > 0 ? ", no image for \(grouped(type.failures)) of the sample" : ""))
        }
        for (type, name) in zip(types, names) {
            if let opByOp = type.opByOp { try output.line("op by op     \(name): \(opByOp)") }
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

extension PlannedWay {
    fileprivate var object: OutputValue {
        ["projection": .text(projection), "rows": rows.map { .count($0) } ?? .null, "because": .optional(because)]
    }

    fileprivate var line: String? {
        if let rows { return "from rows    \(projection): \(counted(rows, "row")) of the live version" }
        return because.map { "from events  \(projection): \($0)" }
    }
}

extension PlannedRefusal {
    fileprivate var object: OutputValue {
        ["code": .text(code), "exit": .count(error.exit), "message": .text(message), "fix": .optional(error.command)]
    }
}

extension PlannedRollback {
    fileprivate var object: OutputValue {
        [
            "to": to.map { .version($0) } ?? .null, "refused": refused?.object ?? .null, "without": .list(without.map { .text($0) }),
            "readsRefused": .list(
                readsRefused.map {
                    ["step": .text($0.step), "types": .list($0.types.map { .text($0) }), "events": .count($0.events)]
                }),
        ]
    }

    /// - Parameter isPlanned: whether this rollback is the plan itself, and not one that is possible after the planned replay.
    fileprivate func write(to output: Output, isPlanned: Bool) throws {
        if !isPlanned {
            let words = to.map { refused == nil ? "possible until finalize, to \($0)" : "to \($0), and not as it is" }
            let why = refused.map { "\($0.message)" + ($0.error.command.map { "; \($0)" } ?? "") }
            try output.line("rollback     " + [words ?? "not possible", why].compactMap(\.self).joined(separator: ": "))
        }
        guard let to else { return }
        if isPlanned, !without.isEmpty {
            try output.line("without      \(without.joined(separator: ", ")), in Swift, which this program does not have")
        }
        for reads in readsRefused {
            let now = reads.events == 0 ? "" : " (\(counted(reads.events, "event")) now)"
            try output.line(
                "reads        at \(to) a program without \(reads.step) can't read \(reads.types.joined(separator: ", ")) born above it\(now): bring it the step first, or declare `down: shadow` before the version is released"
            )
        }
    }
}

extension RefusedAppends {
    var object: OutputValue { ["step": .text(step), "types": .list(types.map { .text($0) })] }
}

extension PlannedLoss {
    var object: OutputValue {
        [
            "version": .version(version), "type": .text(type), "what": .text(what), "declared": .bool(declared), "asks": .bool(asks),
            "count": .count(count), "first": first.map { .position($0) } ?? .null,
        ]
    }

    fileprivate func write(to output: Output) throws {
        let seen = count > 0 ? ", \(grouped(count)) in the sample" : ""
        try output.line("loss         \(version) \(type): \(what) (\(standing)\(seen))")
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
