internal import ArgumentParser
internal import Evstore

struct SalvageCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Makes a store of what a damaged one still holds.",
        discussion: """
            For a store that does not open, when no backup is near. It reads the files without \
            opening them and changes nothing there: keep them. It looks for the log's blocks by their \
            checksums and takes those that later ones link to. The new store appears at --into, \
            checked, whole or not at all; read models are built when they are asked for.

            Nothing missing: the new store goes on as the old one. Positions missing between others: \
            they are reported, and the rest is appended anew with new positions and a new store id; so it \
            is where a person's slot holds another key than the one an event was sealed under. A stream \
            whose name is lost is called lost:<position of its first event>. Where the key of a stream's \
            personal data is damaged, its events come without that data. What nobody can say was \
            committed comes to unconfirmed.jsonl in the new store, as lines that import takes.

            --store may also name a data.mdb that lies alone. --schemas is asked for where the store \
            has lost its version files too. Exit codes: 0 nothing is known to be lost, 8 something is \
            lost or in doubt, 7 no event was found.

            Example: evstore --store orders salvage --into orders.salvaged
            Before:  evstore --store orders verify      what is wrong, and what would come back
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("Where the new store is made: nothing is there, or an empty directory.", valueName: "dir")) var into: String

    func run(in session: Session) async throws {
        let report = try await StoreMaintenance.salvage(
            session.global.storePath(), into: into, schemas: session.schemas(), options: session.options(),
            progress: session.progress)
        session.bar.finish()
        try session.output.print(report.members) { lines(report) }
        if !report.isComplete { throw Exit.quarantined }
    }

    @TextLines
    private func lines(_ report: SalvageReport) -> [String] {
        "salvaged   \(into): \(counted(report.events, "event")), \(size(bytes: report.bytesScanned)) looked through; checked in full"
        shown("lost", report.gaps.map { "positions \(grouped($0.lowerBound)) to \(grouped($0.upperBound))" }, "range")
        if report.renumbered { "renumbered the events have new positions, and the store a new id" }
        shown("unnamed", report.lostNames, "stream")
        shown("key lost", report.lostKeys.map { "\($0.stream): \(counted($0.events, "event")) without what was personal" }, "stream")
        if report.unopened > 0 {
            let keys = report.dataKeys.map { "\($0)" }.joined(separator: ", ")
            let under = report.dataKeys.isEmpty ? "" : ": sealed under data keys that the store does not have (\(keys))"
            "unopened   \(counted(report.unopened, "event"))\(under)"
        }
        if report.unconfirmed > 0 {
            "in doubt   \(counted(report.unconfirmed, "event")): see \(into)/\(SalvageReport.unconfirmedName)"
        }
        if !report.lostRows.isEmpty {
            "rows       the newest ones may be missing of: \(report.lostRows.joined(separator: ", "))"
        }
        if !report.endKnown {
            "in doubt   nothing tells which commit was the newest: it may have cut events off, or added some"
        }
        if report.isComplete { "nothing is known to be lost" }
    }

    /// The first of what was lost, and how many more there are.
    @TextLines
    private func shown(_ what: String, _ all: [String], _ noun: String) -> [String] {
        let linesMax = 20
        for one in all.prefix(linesMax) { "\(what.padded(to: 10)) \(one)" }
        if all.count > linesMax { "\(what.padded(to: 10)) and \(counted(all.count - linesMax, noun)) more: see --json" }
    }
}

extension SalvageReport {
    fileprivate var members: Members {
        [
            "position": position, "events": events, "gaps": gaps.map { [$0.lowerBound, $0.upperBound] }, "unconfirmed": unconfirmed,
            "lostNames": lostNames, "lostRows": lostRows, "endKnown": endKnown, "renumbered": renumbered,
            "lostKeys": lostKeys.map { ["stream": $0.stream, "events": $0.events] as Members }, "unopened": unopened,
            "dataKeys": dataKeys, "bytesScanned": bytesScanned, "seconds": duration,
        ]
    }
}
