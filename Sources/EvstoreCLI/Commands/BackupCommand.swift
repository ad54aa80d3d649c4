internal import ArgumentParser
internal import Evstore

struct BackupCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the store to a directory, or to standard output.",
        discussion: """
            Into a directory, each run adds what came since the one before; runs share their blocks. \
            What was written is read again. To - goes one whole backup, for a pipe to another machine. \
            The store can be in use; read models are not copied, since they are made from the events.

            --list prints a directory's runs, which `restore --run` takes by their numbers; --verify reads \
            their files again as well and says which can't be restored. Both need no store, no keys and \
            no room.

            Example: evstore backup /mnt/other/orders --keep 14
            Over a pipe: evstore backup - | ssh other 'cat > orders.evf'
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A directory for the backups of this store alone, or -.", valueName: "dir|-")) var target: String
    @Option(help: ArgumentHelp("Forget all runs but the newest ones.", valueName: "n")) var keep: Int?

    @Flag(help: "Print the runs of the directory, oldest first.") var list = false
    @Flag(help: "Read every file of the directory's runs again; exit with 7 where one is damaged.") var verify = false

    func validate() throws {
        if list && verify { throw ValidationError("--verify prints the runs that --list does: say one of them") }
        if (list || verify) && keep != nil { throw ValidationError("--keep is for making a backup") }
        if (list || verify) && target == "-" { throw ValidationError("--list and --verify are for a directory of backups") }
        if let keep, keep < 1 { throw ValidationError("--keep is 1 or more: a backup that was just made is never forgotten") }
        if target == "-" && keep != nil { throw ValidationError("--keep is for a directory: nothing is known of what went through a pipe") }
    }

    func run(in session: Session) async throws {
        if target == "-" && session.output.resultsOnTerminal {
            throw EvstoreError.usage("a backup is not for a terminal: evstore backup - > FILE, or | a program")
        }
        if list { return try StoreMaintenance.backups(in: target).forEach { try $0.write($0.damage, to: session.output) } }
        if verify { return try await check(session) }
        let report = try await session.withStore(.reading) { store in
            if target != "-" {
                return try await store.maintenance.backUp(into: target, keeping: keep, progress: session.progress)
            }
            return try await store.maintenance.backUp(progress: session.progress) { try session.output.put(raw: $0) }
        }
        // Standard output may be the backup itself.
        let isAside = target == "-"
        try session.output.print(report.members, isAside: isAside) {
            let forgotten = report.pruned == 0 ? "" : ", \(counted(report.pruned, "older run")) forgotten"
            let done = isAside ? "written" : "written and read again"
            "backup     up to position \(grouped(report.position.rawValue)), \(size(bytes: report.bytes)) \(done)\(forgotten)"
        }
    }
}

extension BackupCommand {
    private func check(_ session: Session) async throws {
        let verdicts = try await StoreMaintenance.verifyBackups(in: target, progress: session.progress)
        session.bar.finish()
        for verdict in verdicts { try verdict.run.write(verdict.damage ?? "ok", to: session.output) }
        if verdicts.contains(where: { $0.damage != nil }) { throw Exit.integrity }
    }
}

extension BackupRun {
    /// - Parameter verdict: the run's damage, or "ok"; nil where it was not checked.
    fileprivate func write(_ verdict: String?, to output: Output) throws {
        let known = damage == nil ? self : nil
        let object: Members = [
            "number": number, "time": known?.time, "position": known?.position, "epoch": known?.epoch, "content": known?.content,
            "bytes": known?.bytes, "verdict": verdict,
        ]
        try output.print(object) {
            [
                "run \(number)".padded(to: 8), known?.time.description,
                known.map { "at \(grouped($0.position.rawValue).aligned(to: 13))" }, known.map { size(bytes: $0.bytes) },
                known.flatMap { $0.epoch > .first ? "epoch \($0.epoch)" : nil }, verdict,
            ].compactMap(\.self).joined(separator: "   ")
        }
    }
}

extension BackupReport {
    fileprivate var members: Members { ["position": position, "content": content, "bytes": bytes, "seconds": duration] }
}
