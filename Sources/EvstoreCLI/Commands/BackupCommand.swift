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

            Example: evstore backup /mnt/other/orders --keep 14
            Over a pipe: evstore backup - | ssh other 'cat > orders.evf'
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A directory for the backups of this store alone, or -.", valueName: "dir|-")) var target: String
    @Option(help: ArgumentHelp("Forget all runs but the newest ones.", valueName: "n")) var keep: Int?

    func validate() throws {
        if let keep, keep < 1 { throw ValidationError("--keep is 1 or more: a backup that was just made is never forgotten") }
        if target == "-" && keep != nil { throw ValidationError("--keep is for a directory: nothing is known of what went through a pipe") }
    }

    func run(in session: Session) async throws {
        if target == "-" && session.output.resultsOnTerminal {
            throw EvstoreError.usage("a backup is not for a terminal: evstore backup - > FILE, or | a program")
        }
        let report = try await session.withStore(.reading) { store in
            if target != "-" {
                return try store.backUp(into: target, keeping: keep, cancellation: session.cancellation, progress: session.progress)
            }
            return try store.backUp(cancellation: session.cancellation, progress: session.progress) { try session.output.put(raw: $0) }
        }
        // Standard output is the backup itself.
        if target == "-" {
            return session.output.note(session.output.json ? String(decoding: report.object.utf8, as: UTF8.self) : report.words("written"))
        }
        if session.output.json {
            try session.output.object(report.object)
        } else {
            try session.output.line(report.words("written and read again"))
        }
    }
}

extension BackupReport {
    fileprivate var object: OutputValue {
        ["position": .count(position.rawValue), "content": .text(content), "bytes": .count(bytes), "seconds": .measure(seconds)]
    }

    fileprivate func words(_ done: String) -> String {
        let forgotten = pruned == 0 ? "" : ", \(counted(pruned, "older run")) forgotten"
        return "backup     up to position \(grouped(position.rawValue)), \(size(bytes: bytes)) \(done)\(forgotten)"
    }
}
