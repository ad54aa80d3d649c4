internal import ArgumentParser
internal import Evstore
internal import Migration

struct PlanCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "What a replay would do, how long it would take and what it would lose. Changes nothing.",
        discussion: """
            Example: evstore plan --to v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to plan for.", valueName: "vN")) var to: String

    @Flag(help: "Exit with 4 where a replay has something to do.") var exitCode = false

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.plan(to: store.version(named: to), cancellation: session.cancellation)
        }
        try session.output.json ? session.output.object(report.object) : report.write(to: session.output)
        if exitCode && report.pending { throw Exit.pending }
    }
}

extension PlanReport {
    var object: OutputValue {
        let object: OutputValue = [
            "from": .version(from), "to": .version(to), "events": .count(events), "rebuild": .list(rebuild.map { .text($0) }),
            "carry": .list(carry.map { .text($0) }),
            "loss": .list(
                loss.map {
                    [
                        "version": .version($0.version), "type": .text($0.type), "what": .text($0.what), "declared": .bool($0.declared),
                        "count": .count($0.count),
                    ]
                }),
            "oneWay": .list(oneWay.map { .text($0) }), "seconds": .measure(seconds), "bytes": .count(bytes),
        ]
        return object.adding("adoption", adoption?.object)
            .adding("needs", needs.isEmpty ? nil : .list(needs.map { .text($0) }))
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
        try output.line("projections  " + projectionWords)
        for line in loss {
            let seen = line.count > 0 ? ", \(grouped(line.count)) in the sample" : ""
            try output.line(
                "loss         \(line.version) \(line.type): \(line.what) (\(line.declared ? "declared" : "not declared")\(seen))"
            )
        }
        if let adoption { try output.line("adopted      \(adoption.words) (of the sample)") }
        for step in oneWay { try output.line("one way      \(step) (needs --yes)") }
        for step in needs { try output.line("needs        \(step), which is written in Swift: run the application's own command line") }
        try output.line("estimate     " + estimate)
        try output.line("rollback     " + (oneWay.isEmpty ? "possible until finalize" : "not across the one-way steps"))
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
