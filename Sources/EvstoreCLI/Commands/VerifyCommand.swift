internal import ArgumentParser
internal import Evstore
internal import Migration

struct VerifyCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks the log, its hash chain and its indexes.",
        discussion: """
            --deep also computes the digests of the read models anew; --laws also proves the steps, \
            up and down, on the whole log, on events made from the shapes and on changed events of \
            the log, and lists what no event went through. Lossy is what did not come back as it was \
            where a step declares that it may, or a value was not in its codec's own form. Changes \
            nothing; a store in use can be verified.

            Example: evstore verify --deep --laws
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Flag(help: "Also the read models, row by row.") var deep = false
    @Flag(help: "Also the laws of the steps, on the events of the log and on made ones.") var laws = false
    @Option(help: ArgumentHelp("Make the same events as the run that printed it.", valueName: "n")) var seed: UInt64?
    @Flag(help: "A warning, or an op that no event went through, is a failure too.") var strict = false

    func run(in session: Session) async throws {
        let (report, quarantined) = try await session.withStore(.reading) { store in
            let report = try await store.verify(
                deep: deep, laws: laws, seed: seed, cancellation: session.cancellation, progress: session.progress)
            return try (report, store.quarantine().count)
        }
        let errors = report.findings.filter { $0.severity == .error }
        let isStrict = report.findings.allSatisfy { $0.severity == .note } && report.notExercised.isEmpty
        let ok = errors.isEmpty && (!strict || isStrict)
        if !session.output.json {
            for law in report.laws {
                let what = ["L6", "L7"].contains(law.law) ? "read models" : "events"
                let lossy = law.lossy == 0 ? "" : ", \(grouped(law.lossy)) lossy"
                let count = law.tried == 0 ? "NOT EXERCISED" : "\(grouped(law.tried)) \(what)\(lossy), \(grouped(law.failed)) failed"
                try session.output.line("law \(law.law.padded(to: 7)) \(count)")
            }
            for op in report.exercised {
                try session.output.line("op  \(op.version) \(op.op.padded(to: 20)) up \(grouped(op.up)), down \(grouped(op.down))")
            }
            for op in report.notExercised { try session.output.line("NOT EXERCISED \(op)") }
            if let seed = report.seed { try session.output.line(words(report.cases, seed)) }
        }
        let checked = [deep ? "read models" : nil, laws ? "laws" : nil].compactMap(\.self)
        try session.output.findings(
            report.findings, ok: ok,
            extra: extra(report),
            checked: (["\(counted(report.events, "event")): structure, checksums, hash chain, indexes"] + checked).joined(separator: ", "))
        // A law that does not hold says that a step is wrong; the bytes are as they were written.
        if !errors.allSatisfy({ $0.id.hasPrefix("LAW") }) { throw Exit.integrity }
        if !ok { throw Exit.refused }
        if quarantined > 0 {
            session.output.note("note: \(counted(quarantined, "event")) quarantined; see: evstore quarantine list")
            throw Exit.quarantined
        }
    }

    private func words(_ cases: LawCases, _ seed: UInt64) -> String {
        let adopted = cases.adopted > 0 ? ", \(grouped(cases.adopted)) adopted from version 0" : ""
        return """
            cases \(grouped(cases.log)) of the log\(adopted), \(grouped(cases.generated)) generated, \(grouped(cases.mutated)) mutated \
            (seed \(seed)), \(grouped(cases.refused)) of these refused by steps that may; read models of the first \
            \(counted(cases.replayed, "event"))
            """
    }

    private func extra(_ report: VerifyReport) -> [(name: String, value: OutputValue)] {
        let (cases, laws) = (report.cases, !report.laws.isEmpty)
        let counts: [(String, UInt64)] = [
            ("log", cases.log), ("adopted", cases.adopted), ("generated", cases.generated), ("mutated", cases.mutated),
            ("refused", cases.refused), ("replayed", cases.replayed),
        ]
        return [
            (
                "laws",
                .list(
                    report.laws.map {
                        ["law": .text($0.law), "tried": .count($0.tried), "failed": .count($0.failed), "lossy": .count($0.lossy)]
                    })
            ),
            ("cases", laws ? .object(counts.map { (name: $0, value: .count($1)) }) : .null),
            (
                "exercised",
                .list(
                    report.exercised.map {
                        ["version": .text($0.version.description), "op": .text($0.op), "up": .count($0.up), "down": .count($0.down)]
                    })
            ),
            ("notExercised", .list(report.notExercised.map { .text($0) })), ("seed", .count(report.seed)),
        ]
    }
}
