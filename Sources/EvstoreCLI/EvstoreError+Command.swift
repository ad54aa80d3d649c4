internal import EventModel

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
            "chmod -R go-w \(path.shellWord), or chown -R to its user; all of it are files and directories of one user"
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
        case .noImage(let failure) where failure.pointer != ImageFailure.streamName:
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
        case .verificationFailed: "evstore verify --deep"
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
