internal import ArgumentParser
internal import Evstore
internal import Migration

struct VerifyCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks the log, its hash chain and its indexes.",
        discussion: """
            --deep also computes the digests of the read models anew; --laws also proves the steps \
            on the log's own events, up and down. Changes nothing; a store in use can be verified.

            Example: evstore verify --deep --laws
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Flag(help: "Also the read models, row by row.") var deep = false
    @Flag(help: "Also the laws of the steps, on the events of the log.") var laws = false
    @Flag(help: "A warning, or a law that nothing exercised, is a failure too.") var strict = false

    func run(in session: Session) async throws {
        let (report, quarantined) = try await session.withStore(.reading) { store in
            let report = try await store.verify(deep: deep, laws: laws, cancellation: session.cancellation, progress: session.progress)
            return try (report, store.quarantine().count)
        }
        let errors = report.findings.filter { $0.severity == .error }
        let isStrict = report.findings.allSatisfy { $0.severity == .note } && report.laws.allSatisfy { $0.tried > 0 }
        let ok = errors.isEmpty && (!strict || isStrict)
        if !session.output.json {
            for law in report.laws {
                let count = law.tried == 0 ? "NOT EXERCISED" : "\(grouped(law.tried)) tried, \(grouped(law.failed)) failed"
                try session.output.line("law \(law.law.padded(to: 7)) \(count)")
            }
        }
        let checked = [deep ? "read models" : nil, laws ? "laws" : nil].compactMap(\.self)
        try session.output.findings(
            report.findings, ok: ok,
            checked: (["\(counted(report.events, "event")): structure, checksums, hash chain, indexes"] + checked).joined(separator: ", "))
        // A law that does not hold says that a step is wrong; the bytes are as they were written.
        if !errors.allSatisfy({ $0.id.hasPrefix("LAW") }) { throw Exit.integrity }
        if !ok { throw Exit.refused }
        if quarantined > 0 {
            session.output.note("note: \(counted(quarantined, "event")) quarantined; see: evstore quarantine list")
            throw Exit.quarantined
        }
    }
}
