internal import ArgumentParser
package import EventModel

/// An error that the command line has words and an exit code for.
protocol CommandError: Error {
    var report: ErrorDetails { get }
    var exit: Int32 { get }
}

extension EvstoreError: CommandError {
    /// The exit code of a command that ends with it: a contract with scripts, listed on the page Errors.
    package var exit: Int32 {
        switch self {
        case .unsafePermissions, .unsafeFileSystem, .readOnly, .replica, .replaced, .diskFull, .ioFailure, .misuse, .commitOutcomeUnknown: 1
        case .storeNotFound, .storeExists, .notAStore, .keysRefused, .keyUnusable, .unknownVersion, .unknownProjection, .unknownSnapshot,
            .unknownConsumer, .notInBackup, .otherBackup, .usage:
            2
        case .invalidStreamName, .invalidEventID, .invalidJSON, .invalidEvent, .invalidLine, .unknownType, .streamMismatch,
            .expectationFailed, .conditionFailed, .conditionOutdated, .idReused, .eventTooLarge, .appendTooLarge, .versionNotAllowed,
            .noImage, .epochChanged, .versionDiffers,
            .keyNeeded, .policyRefused, .buildStopped, .invalidRow, .nothingToRollBackTo, .belowFloor, .notLive, .snapshotExists,
            .consumerStopped, .clusterMismatch:
            3
        case .locked, .deadlinePassed, .migrationInProgress, .logUnavailable: 5
        case .storeNewer, .otherLMDB, .schemaNewer, .programNeeded: 6
        case .storeDamaged, .corruptBlock, .backupDamaged, .nothingToSalvage, .signatureInvalid, .verificationFailed, .clusterWentBack,
            .clusterDamaged:
            7
        case .interrupted: 9
        case .consentNeeded: 10
        case .schemaInvalid(let findings): findings.exit
        case .refusedLine(_, _, let error), .refusedElement(_, _, _, let error): error.exit
        }
    }
}

extension [Finding] {
    /// The exit code of a command that is refused for these findings: the code for a newer format has priority.
    var exit: Int32 { hasNewerFormat ? 6 : 3 }
}

extension EvstoreError {
    /// The message as the command line prints it: the library's, with the command that helps where there is one.
    var report: ErrorDetails {
        var details = details
        details.fix = command
        return details
    }

    /// The message and the next step in one line, for a note.
    var words: String { message + (command.map { "; \($0)" } ?? "") }

    /// The next step, with commands and options of this program instead of the library's calls.
    var command: String? {
        switch self {
        case .storeNotFound(let path): "make one: evstore --store \(path.shellWord) init --schemas DIR"
        case .notAStore: "check --store (or EVSTORE_STORE)"
        case .storeDamaged, .corruptBlock:
            "restore a backup, or take out what is left: evstore salvage --into DIR; leave the files as they are until then"
        case .unsafePermissions(let path, _):
            """
            chmod -R go-w \(path.shellWord), or chown -R to its user; all of it are files and directories of one user, and none is a \
            link: move the whole store, and link its directory
            """
        case .readOnly(let path): "\(details.fix ?? ""): chmod -R u+rwX \(path.shellWord)"
        case .unsafeFileSystem: "put the store on ext4, xfs, btrfs, f2fs or zfs, or say --any-file-system"
        case .invalidEvent(let type, let version, _, _): "see: evstore schema show \("\(type)@\(version)".shellWord)"
        case .versionNotAllowed(let version, let floor, _) where version.rawValue == 0:
            """
            data from before versions existed is taken by import --as 0, into a store whose v1.yaml has cases of adopt: from its \
            beginning; event lines are imported --as \(floor)
            """
        case .versionNotAllowed(let version, let floor, let top):
            version > top
                ? "evstore replay --to \(version) comes first, with --schemas where the store does not know \(version)"
                : "write events of \(floor) or newer, here with --at \(floor); a program that writes older ones is to be updated"
        case .noImage(let failure) where failure.pointer != ImageFailure.streamName && min(failure.born, failure.target).rawValue > 0:
            "see: evstore schema explain \(failure.type.shellWord) --from \(failure.born) --to \(failure.target)"
        case .refusedLine(_, _, let error), .refusedElement(_, _, _, let error): error.command
        case .unknownProjection(_, let known) where known.isEmpty: "none is registered: evstore replay --schemas DIR --to vN"
        case .buildStopped(let projection, _, _, let inFold):
            (inFold ? "mend \(projection) in projections.yaml or its Swift code" : "mend the event's step in the version's file")
                + ", or accept such events: --on-error quarantine"
        case .nothingToRollBackTo: "see: evstore status"
        case .belowFloor(_, let floor):
            "\(floor) is the oldest that there is; older ones are in a backup from before the finalize: evstore restore"
        case .notLive(let version, let live):
            version > live
                ? "evstore replay --to \(version) comes first"
                : "only what is live can be finalized, and that can't be taken back: evstore status"
        case .unknownSnapshot(_, let known) where known.isEmpty: "take one: evstore snapshot take NAME"
        case .verificationFailed: "evstore verify --deep --laws"
        case .keyUnusable:
            """
            make one to sign heads: (umask 077; openssl genpkey -algorithm ed25519 -out KEYFILE); its public half: \
            openssl pkey -in KEYFILE -pubout -out KEYFILE.pub; one to seal events: (umask 077; head -c 32 /dev/urandom > KEYFILE); \
            a file that holds a passphrase is named by --passphrase-file
            """
        default: details.advice?.command
        }
    }
}

extension Advice {
    /// The sentence with commands and options of this program instead of calls of the library.
    var command: String { said { $0.command } }
}

extension Advice.Call {
    var command: String {
        switch self {
        case .plan: "evstore plan"
        case .replay(let version): "evstore replay --to \(version)"
        case .replayFromEvents(let version): "evstore replay --to \(version) --from-events"
        case .acceptLoss: "--yes"
        case .rollback(let version): "evstore rollback --to \(version)"
        case .rollbackLeaving(let names): "evstore rollback" + names.map { " --without \($0.shellWord)" }.joined()
        case .discardTail: "--discard-tail"
        case .epoch(let epoch): "--epoch \(epoch)"
        case .leaveConsumers: "--leave-consumers"
        case .journal: "evstore journal"
        case .pruneSnapshots: "evstore snapshot prune"
        case .query(let projection, let version): "evstore query \(projection.shellWord) --at \(version) --count"
        case .quarantine: "evstore quarantine list"
        case .consumers: "evstore consumers list"
        case .parked(let consumer): "evstore consumers parked \(consumer.shellWord)"
        case .resetConsumer(let name, let position): "evstore consumers reset \(name.shellWord) --to \(position)"
        case .verifyDeep: "evstore verify --deep"
        case .verifyLaws: "evstore verify --laws"
        case .trustSigner: "--trust KEYFILE.pub"
        case .acceptSigned: "evstore verify --since HEADS --sign KEYFILE --accept"
        case .backUp(let directory): "evstore backup \(directory.shellWord)"
        case .restore: "evstore restore --into DIR"
        case .promote(let store): "evstore --store \(store.shellWord) promote"
        case .salvage(let store): "evstore --store \(store.shellWord) salvage --into DIR"
        case .forget(let stream, let store):
            "evstore\(store.map { " --store \($0.shellWord)" } ?? "") forget \(stream.map(\.text.shellWord) ?? "STREAM") --for-good"
        case .copySlot(let number, let byteCount, let store):
            "dd if=RESTORED/subjects of=\((store + "/subjects").shellWord) bs=\(byteCount) skip=\(number) seek=\(number) count=1 conv=notrunc"
        case .listKeys: "evstore key list"
        case .addKey: "evstore key add"
        case .rotateKey: "evstore key rotate"
        case .recipher: "evstore recipher --into DIR"
        case .createCluster: "evstore cluster create"
        case .eachElement: "--each POINTER, such as /entries, or --each '' for the whole of it"
        case .keepFirst: "an import keeps the first with --same-id keep"
        case .piped(let program): "\(program) FILE | evstore import -"
        case .joinCluster: "evstore join --log CONNINFO --name NAME --node NODE"
        case .acceptServer: "evstore cluster accept-server"
        case .followBackups(let store): "evstore --store \(store.shellWord) follow --from DIR --once"
        case .rescue: "evstore cluster rescue --into FILE"
        case .leaveNodes(let names): names.map { "--without-node \($0.shellWord)" }.joined(separator: " ")
        case .nameSchemas: "--schemas DIR"
        case .newVersion(let directory): "evstore schema new --schemas \(directory.shellWord)"
        case .lockVersions: "evstore schema lock"
        case .showShape(let type, let version): "evstore schema show \(type)@\(version)"
        case .explainSteps: "evstore schema explain"
        case .validatePayload: "evstore schema validate"
        case .recordFixtures(let isOverwriting): "evstore schema fixtures record" + (isOverwriting ? " --overwrite" : "")
        case .dropComments: "--drop-comments"
        }
    }
}

/// An error in the arguments: what is wrong, and which help lists the right ones.
struct UsageError: CommandError {
    let exit: Int32 = 2
    let report: ErrorDetails

    init(_ message: String, see command: String = "evstore") {
        report = ErrorDetails("usage", message, fix: "see: \(command) --help")
    }

    /// The argument parser's message in one sentence. The whole message is an `Error:` line, a usage and a hint to the help, each of which
    /// may be missing.
    init(parsing error: any Error, in arguments: [String]) {
        let lines = RootCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
        var message = lines.first ?? "the arguments are not understood"
        if message.hasPrefix("Error: ") { message.removeFirst("Error: ".count) }
        if message.hasPrefix("Missing value"), let value = arguments.first(where: { $0.first == "-" && $0.dropFirst().first != "-" }) {
            message += "; a value that begins with - is written behind =, as in --name=\(value)"
        }
        let usage = lines.first { $0.hasPrefix("Usage: ") }?.dropFirst("Usage: ".count) ?? "evstore"
        if usage.hasSuffix("<subcommand>") {
            message = message.replacing("Unexpected argument", with: "there is no command")
        }
        let words = usage.split(separator: " ").prefix { !$0.hasPrefix("[") && !$0.hasPrefix("<") && !$0.hasPrefix("-") }
        self.init(message, see: words.joined(separator: " "))
    }
}

/// Thrown where a command has done its work and can't print the result of it: whoever runs it again does the work again.
struct UnprintedResult: CommandError {
    let exit: Int32 = 1
    let report: ErrorDetails

    /// - Parameter result: the lines that could not be written; the message has them instead.
    init(_ result: [String], because error: any Error) {
        let reason = (error as? any CommandError)?.report.message ?? "\(error)"
        report = ErrorDetails(
            "resultNotPrinted",
            (["the work is done, and its result could not be printed: \(reason); the result is:"] + result).joined(separator: "\n"),
            fix: "make room for standard output, or open it; to run a command again that changes something would do it again")
    }
}

/// Prints an error, its place and what to do next, for people on standard error or as one JSON object on standard output.
struct ErrorReport {
    let details: ErrorDetails
    let exit: Int32

    /// - Parameter again: the command line that goes on where an interrupted one stopped.
    init(_ error: any Error, again: String) {
        let interrupted = EvstoreError.interrupted(again: "run it again: \(again)")
        (details, exit) =
            switch error {
            case EvstoreError.interrupted, is CancellationError: (interrupted.details, interrupted.exit)
            case let error as any CommandError: (error.report, error.exit)
            default: (ErrorDetails("internalFailure", "an unforeseen failure: \(error)"), 1)
            }
    }

    /// Writes the error behind the results. Where standard output can't be written, a program finds the object on standard error.
    func write(to output: Output) {
        do {
            if output.json { try output.object(members) }
            try output.flush()
        } catch is OutputClosed {} catch { if output.json { output.note(members) } }
        if !output.json { note(to: output) }
    }

    private func note(to output: Output) {
        let red = output.coloured ? ("\u{1b}[1;31m", "\u{1b}[0m") : ("", "")
        let lines = details.message.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }
        output.raw("\(red.0)evstore: \(red.1)\(lines.joined(separator: "\n"))\n")
        if let place = details.place.words { output.note("  at \(place)") }
        if let fix = details.fix { output.note("  -> \(fix)") }
    }

    private var members: Members {
        let place = details.place
        let at: Members = [
            "file": place.file, "line": place.line, "column": place.column, "pointer": place.pointer, "position": place.position,
            "stream": place.stream, "type": place.type,
        ]
        return ["error": ["code": details.code, "exit": exit, "message": details.message, "at": at, "fix": details.fix] as Members]
    }
}

extension ErrorLocation {
    /// `v3.yaml:12:5, /customer, position 12`, or nil where nothing is known.
    var words: String? {
        let file = file.map { [$0, line.map(String.init), column.map(String.init)].compactMap(\.self).joined(separator: ":") }
        let parts = [
            file ?? line.map { "line \($0)" }, stream.map { $0.isEmpty ? "" : "stream \($0)" }, type, pointer,
            position.map { "position \(grouped($0.rawValue))" },
        ].compactMap(\.self).filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
