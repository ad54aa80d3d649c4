internal import ArgumentParser
internal import Evstore
internal import Migration

struct PlanCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "What a replay would do, how long it would take and what it would lose. Changes nothing.",
        discussion: """
            Example: evstore plan --to v5 --schemas Schemas/shop

            Where the replay would be refused, it says why and exits with the code that the replay would exit \
            with: 3 where events have no image, 10 where it asks for --yes, 6 where it needs the application.
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to plan for.", valueName: "vN")) var to: String

    @Flag(help: "Exit with 4 where a replay has something to do.") var exitCode = false

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.plan(to: store.version(named: to), cancellation: session.cancellation)
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
            "carry": .list(carry.map { .text($0) }),
            "loss": .list(loss.map(\.object)),
            "oneWay": .list(oneWay.map { .text($0) }), "seconds": .measure(seconds), "bytes": .count(bytes),
            "types": .list(
                types.map {
                    [
                        "type": .text($0.type), "born": .version($0.born), "count": .count($0.count),
                        "becomes": .list($0.becomes.map { .text($0) }), "changes": .text($0.changes), "noImage": .count($0.failures),
                        "opByOp": .optional($0.opByOp),
                    ]
                }),
            "refused": .list(
                refused.map {
                    [
                        "code": .text($0.code), "exit": .count($0.error.exit), "message": .text($0.message),
                        "fix": .optional($0.error.command),
                    ]
                }),
            "adoption": adoption?.object ?? nil, "needs": .list(needs.map { .text($0) }),
            "appendsRefused": .list(appendsRefused.map(\.object)), "quarantined": .count(quarantined), "notSeen": .count(notSeen),
        ]
    }

    func write(to output: Output) throws {
        let steps = to >= from ? to.number - from.number : from.number - to.number
        try output.line("\(from) -> \(to)   \(counted(steps, "step"))" + (opClass.isEmpty || steps == 0 ? "" : ", class \(opClass)"))
        let names = types.map { $0.type + (isMixed ? " (\($0.born))" : "") }
        let (width, digits) = (names.map(\.count).max() ?? 0, types.map { grouped($0.count).count }.max() ?? 0)
        for (type, name) in zip(types, names) {
            try output.line(
                "  \(name.padded(to: width))   \(grouped(type.count).aligned(to: digits)) events   \(type.changes)"
                    + (type.failures > 0 ? ", no image for \(grouped(type.failures)) of the sample" : ""))
        }
        for (type, name) in zip(types, names) {
            if let opByOp = type.opByOp { try output.line("op by op     \(name): \(opByOp)") }
        }
        try output.line("projections  " + projectionWords)
        for line in loss {
            let seen = line.count > 0 ? ", \(grouped(line.count)) in the sample" : ""
            try output.line("loss         \(line.version) \(line.type): \(line.what) (\(line.standing)\(seen))")
        }
        if let adoption { try output.line("adopted      \(adoption.words) (of the sample)") }
        for step in oneWay { try output.line("one way      \(step) (needs --yes)") }
        for step in needs { try output.line("needs        \(step), which is written in Swift: run the application's own command line") }
        for refused in appendsRefused {
            let types = refused.types.joined(separator: ", ")
            try output.line("appends      once \(to) is live, a program without \(refused.step) can't append \(types) (needs --yes)")
        }
        if quarantined > 0 {
            try output.line("quarantined  \(counted(quarantined, "event")) of read models that are kept: the replay exits with 8")
        }
        if notSeen > 0 {
            try output.line("not seen     \(counted(notSeen, "event")) that may have no image: only the replay looks at them")
        }
        try output.line("estimate     " + estimate)
        try output.line("rollback     " + (oneWay.isEmpty ? "possible until finalize" : "not across the one-way steps"))
        for line in refused { try output.line("refused      \(line.message)" + (line.error.command.map { "; \($0)" } ?? "")) }
        try output.line("nothing was changed")
    }

    /// Whether one type has events of several births, so that its lines need telling apart.
    private var isMixed: Bool { Set(types.map(\.type)).count < types.count }

    private var projectionWords: String {
        let all = rebuild.count + carry.count
        if all == 0 { return "none" }
        let names = rebuild.map { new.contains($0) ? $0 + "*" : $0 }.joined(separator: ", ")
        var words = rebuild.isEmpty ? "nothing to rebuild" : "rebuild \(rebuild.count) of \(all) (\(names))"
        if !carry.isEmpty { words += "; \(carry.joined(separator: ", ")) \(carry.count == 1 ? "is" : "are") unaffected, kept" }
        return words + (new.isEmpty ? "" : "    * new")
    }

    private var estimate: String {
        let measured = sample > 0 ? " (measured on a sample of \(counted(sample, "event")))" : ""
        return "\(counted(events, "event")), about \(duration(seconds: seconds)) and \(size(bytes: bytes)) of extra disk\(measured)"
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

    /// What a person has to do about it.
    var standing: String { declared ? "declared" : asks ? "not declared, needs --yes" : "told, not asked for" }
}
