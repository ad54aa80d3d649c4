extension EvstoreError {
    /// The name of the case, or for `refusedLine` and `refusedElement` the name of the inner error: the value of `error.code` in JSON.
    public var code: String { details.code }
    public var message: String { details.message }
    public var fix: String? { details.fix }
    public var place: ErrorLocation { details.place }

    /// Why nothing can be restored from a directory in which no run came to its end: nothing there is damaged.
    package static let noRunFinished = "no backup was ever finished there"

    /// What to do where a backup can't be restored.
    private static func wayAround(_ backup: String, _ reason: String) -> Advice {
        if reason == noRunFinished { return "make one there: \(.backUp(into: backup))" }
        return "use another backup, or make one in a new directory; keep this one until then"
    }

    public var details: ErrorDetails {
        switch self {
        // Opening.
        case .storeNotFound(let path):
            .init("storeNotFound", "there is no store at \(path)", fix: "create one there, or name the directory of the store")
        case .storeExists(let path):
            .init(
                "storeExists", "there is already something at \(path)",
                fix: "choose another directory, or use that store as it is")
        case .notAStore(let path, let reason):
            .init(
                "notAStore", "\(path) is not a store of evstore: \(reason)", fix: "name the directory of the store")
        case .storeNewer(let path, let format, let known):
            .init(
                "storeNewer", "\(path) has format \(format) and this program knows up to \(known)",
                fix: "use a newer evstore")
        case .otherLMDB(let path, let reason):
            .init(
                "otherLMDB", "\(path) can't be opened by the LMDB library of this program: \(reason)",
                fix: "run the program with LMDB 0.9; nothing is damaged, and the files were not changed")
        case .storeDamaged(let path, let reason):
            .init(
                "storeDamaged", "\(path) is damaged: \(reason)",
                fix: "restore a backup, or salvage the intact events into another directory; do not change the files until then")
        case .unsafePermissions(let path, let reason):
            .init(
                "unsafePermissions", "\(path) is open to others: \(reason)",
                fix: "give all of its files and directories to one user, let nobody else write to them, and have no link among them")
        case .readOnly(let path):
            .init(
                "readOnly", "\(path) can't be written, or something in it can't be read",
                fix: """
                    open it for writing, as its owner, on a mount that can be written; even readers need all that lies in it to be the \
                    owner's to read and write
                    """)
        case .replica(let path, let source):
            .init(
                "replica", "\(path) is a replica of backups \(source.isEmpty ? "that come through a pipe" : "in \(source)")",
                advice: "\(.promote(store: path)) makes it a store that can be written; until then write to the original")
        case .locked(let path, let holder):
            .init("locked", "\(path) is locked by \(holder)", fix: "wait for it to finish, then run this again")
        case .keysRefused(let path, let reason):
            .init(
                "keysRefused", "\(path) is not opened: \(reason)",
                fix: """
                    name a key file, a passphrase or a credential that opens it, for a backup one that opened the store when the run was \
                    made; or no key if its events are not sealed
                    """)
        case .replaced(let path):
            .init(
                "replaced", "other files lie at \(path) than those that are open here, or none; nothing is damaged",
                fix: "close the store, and open what lies there now")
        case .diskFull(let path, let free, _, _, isOverQuota: true):
            .init(
                "diskFull",
                "the quota for files under \(path) is used up, though the disk has \(free) bytes free; what needs the room was not written",
                fix: "delete files that count towards the quota, or have it raised, and run this again")
        case .diskFull(let path, let free, _, .some(let inodes), isOverQuota: false):
            .init(
                "diskFull",
                "the disk under \(path) is full: it has \(inodes) inodes left for further files (\(free) bytes free); what needs the room was not written",
                fix: "delete files there and run this again")
        case .diskFull(let path, let free, let needed, nil, isOverQuota: false):
            .init(
                "diskFull",
                """
                the disk under \(path) is full (\(free) bytes free, \(needed.map { "\($0)" } ?? "more") needed); what needs the room \
                was not written
                """,
                fix: "free some space and run this again")
        case .ioFailure(let doing, let reason):
            .init("ioFailure", "\(doing): \(reason)")
        case .misuse(let what):
            .init("misuse", what)

        // Appending.
        case .invalidStreamName(let name):
            .init(
                "invalidStreamName",
                "\(quoted(name)) is not a stream name: 1 to 200 bytes of printable ASCII without space, quotes, braces and backslash",
                fix: name.isEmpty
                    ? "give it a name, such as order-42"
                    : name.utf8.count > StreamName.longestBytes ? "choose a shorter name" : "percent-encode the rest",
                place: .init(stream: name))
        case .invalidEventID(let id):
            .init(
                "invalidEventID",
                "\(quoted(id)) is not an event id: 1 to 64 bytes of text without control characters")
        case .invalidJSON(let reason, let offset):
            .init("invalidJSON", "not valid JSON at byte \(offset): \(reason)")
        case .invalidEvent(let type, let version, let pointer, let reason):
            .init(
                "invalidEvent",
                "\(type) does not fit its shape at \(version): \(pointer.isEmpty ? "the payload" : pointer) \(reason)",
                fix: "see the shape of \(type) in the file of \(version)", place: .init(pointer: pointer, type: type))
        case .unknownType(let type, let version, let known):
            .init(
                "unknownType", "there is no event type \(quoted(type)) at \(version)",
                fix: "the types are: \(known.joined(separator: ", "))", place: .init(type: type))
        case .streamMismatch(let given, let expected, let type, let version):
            .init(
                "streamMismatch", "\(type) at \(version) belongs in stream \(expected), not in \(given)",
                fix: "append to \(expected)", place: .init(stream: given, type: type))
        case .expectationFailed(let stream, let expected, let actual):
            .init(
                "expectationFailed",
                "\(stream) was expected \(expected.words) and \(actual.map { "is at revision \($0)" } ?? "has no events")",
                fix: "read the stream again and decide anew", place: .init(stream: stream.text))
        case .conditionFailed(let condition, let item, let position):
            .init(
                "conditionFailed",
                "the event at position \(position) matches what the condition excludes\(condition.placeText): \(condition.failIfMatches.words(ofItem: item))",
                fix: "read what the decision depends on again, and decide anew", place: .init(position: position))
        case .conditionOutdated(let version):
            .init(
                "conditionOutdated",
                "another file of \(version) was registered since the condition was made, and may give events other tags",
                fix: "read what the decision depends on again, and decide anew")
        case .idReused(let id, let position, let line):
            Self.reused(id, at: position, line.map { "in line \($0)" })
        case .eventTooLarge(let bytes, let limit):
            .init(
                "eventTooLarge", "an event of \(bytes) bytes is over the limit of \(limit)",
                fix: "store the large part elsewhere and its address in the event, or raise Options.eventBytesMax")
        case .appendTooLarge(let reason):
            .init("appendTooLarge", "the append is too large: \(reason)", fix: "append in smaller groups")
        case .versionNotAllowed(let version, let floor, let top):
            .init(
                "versionNotAllowed", "events are appended at \(floor == top ? "\(floor)" : "\(floor) to \(top)"), not at \(version)",
                fix: version > top
                    ? "replay the store to \(version) first"
                    : version.rawValue == 0
                        ? "data from before versions existed is imported, into a store whose version 1 has cases of adopt:"
                        : "write events of \(floor) or newer, and update programs that write older ones")
        case .noImage(let failure):
            .init(
                "noImage",
                "\(failure.type) born at \(failure.born) has no image at \(failure.target): step \(failure.step), \(failure.op): \(failure.pointer.isEmpty ? "the payload" : failure.pointer) should be \(failure.expected), found \(failure.found)",
                fix: failure.target.rawValue == 0
                    ? "v0 shows only data from before versions existed: ask for another version"
                    : failure.pointer == ImageFailure.streamName
                        ? "choose another name: \(failure.op) of \(failure.step) would map it to another stream on the way back"
                        : "append what \(failure.op) of \(failure.step) takes, or widen that op in its version file",
                place: .init(pointer: failure.pointer, position: failure.position, type: failure.type))
        case .deadlinePassed(let waited, let holder):
            .init(
                "deadlinePassed", "waited \(waited / .seconds(1)) s for the store; it is held by \(holder)",
                fix: "run it again: the operation that waited was not performed")
        case .commitOutcomeUnknown(let position):
            .init(
                "commitOutcomeUnknown",
                "a commit after position \(position) failed: it is unknown whether it took effect",
                fix: "open the store again and read what is there; an append with an id can be repeated safely",
                place: .init(position: position))
        case .invalidLine(let reason, let pointer):
            .init(
                "invalidLine", "not an event: \(pointer.isEmpty ? "" : pointer + " ")\(reason)",
                advice: """
                    a line is {"stream":"order-42","type":"OrderPlaced","data":{…}}, or a CloudEvent 1.0; of a document the events are \
                    taken by \(.eachElement)
                    """,
                place: .init(pointer: pointer))
        case .refusedLine(let line, let file, let error):
            error.details.on(line: line, of: file)
        case .refusedElement(let number, let line, let file, .idReused(let id, let position, let other)):
            Self.reused(id, at: position, other.map { "in element \($0)" }).on(line: line, of: file, element: number)
        case .refusedElement(let number, let line, let file, let error):
            error.details.on(line: line, of: file, element: number)

        // Reading and evolving.
        case .epochChanged(let seen, let cut):
            .init(
                "epochChanged",
                "the log was cut at position \(cut.position) (epoch \(cut.epoch)); what was read up to \(seen.position) of epoch \(seen.epoch) is no longer its history",
                fix: "start again from the beginning, or from a position at or below the cut; for an append, read the stream again",
                place: .init(position: seen.position))
        case .unknownVersion(let text, let known):
            .init(
                "unknownVersion", "there is no version \(quoted(text))",
                advice: """
                    known: \(known.joined(separator: ", ")); a store learns of newer version files by a replay to them \
                    with \(.nameSchemas)
                    """)
        case .unknownProjection(let name, let known):
            .init(
                "unknownProjection", "there is no projection \(quoted(name))",
                fix: known.isEmpty
                    ? "none is registered: replay to a version with the files that define some"
                    : "known: \(known.joined(separator: ", "))")
        case .corruptBlock(let position, let reason):
            .init(
                "corruptBlock", "the log is damaged at position \(position): \(reason)",
                fix: "restore a backup, or salvage the intact events into another directory; do not change the files until then",
                place: .init(position: position))
        case .schemaInvalid(let findings):
            .init(
                "schemaInvalid", findings.map(\.diagnosticLine).joined(separator: "\n"), advice: findings.first?.advice,
                place: .init(file: findings.first?.file, line: findings.first?.line, column: findings.first?.column))
        case .schemaNewer(let version, let reason):
            .init(
                "schemaNewer", "another evstore registered \(version), and this one can't read it: \(reason)",
                fix: "use the evstore that registered it, or a newer one")
        case .versionDiffers(let version, let file, let stored):
            .init(
                "versionDiffers",
                "the file of \(version) is not what the store has registered: its digest is \(file.prefix(16))… and the registered one \(stored.prefix(16))…",
                fix: "undo the edit, or make it a new version; a check of the schemas against the store says what differs")
        case .programNeeded(let what, let instead):
            .init(
                "programNeeded", "\(what) is written in Swift, and this program lacks that code",
                advice: instead.map { "\(Self.registering); or \($0)" } ?? Self.registering)

        // Migrating.
        case .policyRefused(let program, let live, let how):
            .init("policyRefused", "the program works at \(program) and the store is live at \(live)", advice: how)
        case .migrationInProgress(let holder):
            .init("migrationInProgress", "a migration is in progress: \(holder)", fix: "wait for it to finish")
        case .buildStopped(let projection, let position, let reason, let inFold):
            .init(
                "buildStopped",
                "building \(projection) stopped at position \(position): \(reason); nothing was changed",
                fix: (inFold ? "mend \(projection) in projections.yaml or its Swift code" : "mend the event's step in the version's file")
                    + ", or accept such events by quarantining them",
                place: .init(position: position))
        case .invalidRow(let projection, let key, let reason, let type?):
            .init(
                "invalidRow", "\(type) can't read the row \(quoted(key)) of \(projection): \(reason)",
                fix: "read it as a type with the members that its rows have at this version")
        case .invalidRow(let projection, let key, let reason, nil):
            .init(
                "invalidRow", "the row \(quoted(key)) of \(projection) does not keep its shape: \(reason)",
                fix: "append an event that sets it right, or loosen row: of \(projection) in projections.yaml, and run it again")
        case .nothingToRollBackTo(let live):
            .init(
                "nothingToRollBackTo", "there is no version below \(live) to go back to",
                fix: "see which versions the store promises: floor, live, top and head")
        case .belowFloor(let version, let floor):
            .init(
                "belowFloor", "\(version) is below the floor \(floor), which a finalize moved",
                fix: "\(floor) is the oldest that there is; older ones are in a backup from before the finalize")
        case .notLive(let version, let live):
            .init(
                "notLive", "\(version) is not the live version, \(live) is",
                fix: version > live
                    ? "replay the store to \(version) first"
                    : "only what is live can be finalized, and that can't be taken back")
        case .consentNeeded(let what, let how):
            .init("consentNeeded", what, advice: how)
        case .unknownSnapshot(let name, let known):
            .init(
                "unknownSnapshot", "there is no snapshot \(quoted(name))",
                fix: known.isEmpty ? "take one first" : "known: \(known.joined(separator: ", "))")
        case .snapshotExists(let name):
            .init("snapshotExists", "there is already a snapshot \(quoted(name))", fix: "choose another name")
        case .unknownConsumer(let name, let known):
            .init(
                "unknownConsumer", "there is no consumer \(quoted(name))",
                fix: known.isEmpty ? "it is known once it has begun to consume" : "known: \(known.joined(separator: ", "))")
        case .consumerStopped(let consumer, let position, let reason):
            .init(
                "consumerStopped", "\(consumer) could not handle the event at position \(position): \(reason)",
                fix: "correct the handler and run it again: it continues with this event", place: .init(position: position))
        case .verificationFailed(let reason):
            .init("verificationFailed", reason, fix: "verify the whole store, read models too")
        case .interrupted(let again):
            .init("interrupted", "interrupted; the store is as it was before or after a whole step", fix: again)
        case .usage(let what, let fix):
            .init("usage", what, advice: fix)

        // Keeping.
        case .backupDamaged(let path, let reason):
            .init(
                "backupDamaged", "the backup \(path) can't be restored: \(reason)",
                advice: Self.wayAround(path, reason))
        case .notInBackup(let wanted, let has):
            .init("notInBackup", "\(wanted) is not in the backup, which has \(has)", fix: "name a position or a time that it has")
        case .otherBackup(let path):
            .init("otherBackup", "\(path) holds the backups of another store", fix: "name a directory of this store's own")
        case .nothingToSalvage(let path):
            .init("nothingToSalvage", "no event was found in \(path)", fix: "restore a backup")
        case .unsafeFileSystem(let path, let kind):
            .init(
                "unsafeFileSystem",
                "\(path) lies on a file system \(kind), which is not known to provide the locks and the durable writes that a store needs",
                fix: "put the store on ext4, xfs, btrfs, f2fs or zfs, or allow it (`Options.allowsUnsafeFileSystem`)")
        case .signatureInvalid(let reason):
            .init(
                "signatureInvalid", "the signed head is not valid: \(reason)",
                fix: "get the head from where it was kept, and the public key from its signer")
        case .keyUnusable(let path, let reason):
            .init(
                "keyUnusable", "\(path) can't be used as a key: \(reason)",
                fix: "heads are signed by an Ed25519 key in PEM, events sealed by 32 random bytes; only its owner may read the file")
        case .keyNeeded(let what, let how): .init("keyNeeded", what, advice: how)

        // In a cluster.
        case .logUnavailable(let log, let reason):
            .init(
                "logUnavailable", "the cluster log \(log) can't be asked: \(reason); nothing was written",
                fix: "reads and queries go on; run this again once the cluster log is there")
        case .clusterWentBack(let log, let cluster, let node):
            .init(
                "clusterWentBack",
                "the cluster log \(log) was set back: it ends at position \(cluster), or goes on otherwise, and this node has \(node)",
                advice: "keep this node as it is; \(.rescue) exports what only it has, then join anew in another directory",
                place: .init(position: node))
        case .clusterDamaged(let log, let frame, let reason):
            .init(
                "clusterDamaged", "frame \(frame) of the cluster log \(log) is damaged: \(reason)",
                fix: "restore the cluster log's database; every node that has the frame still has its events")
        case .clusterMismatch(let log, let reason, let how):
            .init("clusterMismatch", "this store and the cluster log \(log) do not go together: \(reason)", advice: how)
        }
    }

    private static func reused(_ id: EventID, at position: Position?, _ above: String?) -> ErrorDetails {
        .init(
            "idReused",
            "the id \(quoted(id.text)) was used for another event \(position.map { "at position \($0)" } ?? above ?? "of the same append")",
            advice: "give the new event an id of its own; \(.keepFirst)", place: .init(position: position))
    }

    private static var registering: Advice {
        "run the application's own command line; in the application, register it, in that revision, where the store is opened"
    }
}

extension EvstoreError: CustomStringConvertible {
    public var description: String { message }
}

extension EvstoreError: CustomDebugStringConvertible {
    /// The message followed by what to do next. Swift prints it when a program's `main` throws.
    public var debugDescription: String { fix.map { "\(message) (\($0))" } ?? message }
}

/// An error in one line for a log: its message, and what to do next. The command line's logger finds it, and names commands, not calls.
package struct AdvisedError: Sendable, CustomStringConvertible {
    package let error: any Error

    package var description: String { (error as? EvstoreError)?.debugDescription ?? "\(error)" }
}

extension Error {
    package var advised: AdvisedError { AdvisedError(error: self) }
}

extension Finding {
    /// `file:line:column: severity id: message`, which editors jump to.
    public var diagnosticLine: String {
        let place = [file, line.map(String.init), column.map(String.init)].compactMap(\.self).joined(separator: ":")
        return (place.isEmpty ? "" : place + ": ") + "\(severity.rawValue) \(id): \(message)"
    }
}

extension Expectation {
    var words: String {
        switch self {
        case .any: "in any state"
        case .noStream: "to have no events"
        case .exists: "to exist"
        case .revision(let revision): "at revision \(revision)"
        }
    }
}
