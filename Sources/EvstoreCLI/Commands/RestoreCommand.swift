internal import ArgumentParser
internal import Evstore

struct RestoreCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Makes a store from a backup, up to any position or time.",
        discussion: """
            Every frame, block, link and index is checked before the store appears at --into; it is \
            there whole or not at all. An append is restored whole or not at all, too: within one, --to \
            ends the store before it, and a note and "leftOut" say so. Read models are built when they are asked for, or by `replay`. \
            The restored store is in a new epoch: readers that had seen more are told, and begin anew.

            Example: evstore restore /mnt/other/orders --into orders.restored
            An older run, as `evstore backup DIR --list` numbers them: evstore restore DIR --run 3 --into before
            Before a mistake: evstore restore /mnt/other/orders --into before --to 2026-11-20T14:00:00Z
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A backup's directory (its newest run), a file, or -.", valueName: "dir|file|-")) var source: String
    @Option(name: .customLong("run"), help: ArgumentHelp("Which run of the directory; the newest where it is not given.", valueName: "n"))
    var number: UInt64?
    @Option(help: ArgumentHelp("Where the store is made: nothing is there, or an empty directory.", valueName: "dir")) var into: String
    @Option(help: ArgumentHelp("The last position, or the time of the last commit (RFC 3339).", valueName: "position|time"))
    var to: String?

    func run(in session: Session) async throws {
        let target = try to.map { text in
            guard let target = RestoreTarget(text) else {
                throw EvstoreError.usage("--to \(quoted(text)) is neither a position nor a time such as 2026-11-20T14:00:00Z")
            }
            return target
        }
        let report: RestoreReport
        if Input.isFile(source) {
            if number != nil { throw EvstoreError.usage("--run is for a directory of backups: \(source) is one backup") }
            let input = try Input.pieces(source, session.interrupts)
            report = try await StoreMaintenance.restore(
                named: source == "-" ? "on standard input" : source, into: into, to: target, options: session.options(),
                progress: session.progress, from: input)
        } else {
            report = try await StoreMaintenance.restore(
                from: source, run: number, into: into, to: target, options: session.options(),
                progress: session.progress)
        }
        session.bar.finish()
        let object: Members = [
            "position": report.position, "content": report.content, "bytes": report.bytes, "seconds": report.duration,
            "leftOut": report.leftOut.map { ["from": $0.lowerBound, "to": $0.upperBound] as Members },
        ]
        try session.output.print(object) {
            let left = report.backupPosition.events(after: report.position)
            let rest = left == 0 ? "" : ", \(counted(left, "event")) of the backup left out"
            "restored   \(into) up to position \(grouped(report.position.rawValue))\(rest); checked in full"
        }
        if let append = report.leftOut, case .position(let position) = target {
            session.output.note(
                "note: position \(grouped(position.rawValue)) lies within one append, \(grouped(append.lowerBound)) to "
                    + "\(grouped(append.upperBound)), which is restored whole or not at all: --to \(append.upperBound) takes it in")
        }
    }
}
