internal import ArgumentParser
internal import Bytes
internal import Evstore

struct StatusCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "What the store holds and whether it is well.",
        discussion: """
            Shows the four versions, how many events were born at each, the read models and how far \
            they lag, what is quarantined, the snapshots, and the room on the disk with the ballast \
            that is kept for the commands which lead out of a full one. Changes nothing.

            Example: evstore --store shop status
            In a deployment: evstore status --expect v5 || evstore replay --to v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("Exit with 4 and one line where another version is live.", valueName: "vN"))
    var expect: String?

    @Flag(
        help: """
            Exit with 1 where something does not work, with 4 where a newer version waits to be made live or somebody has something else to \
            do, with 8 where events are parked or in quarantine.
            """)
    var exitCode = false

    func run(in session: Session) async throws {
        try await session.withStore(.reading) { store in
            let report = try store.status()
            let expected = try expect.map { try Self.version($0, in: store) }
            let isAnother = expected.map { $0 != report.versions.live } ?? false
            let pending = try pending(report, schemas: session.schemas())
            try session.output.print(report.members + ["pending": pending]) {
                if isAnother, let expected {
                    "\(report.versions.live) is live, not \(expected)"
                } else {
                    report.lines(path: store.path, pending: pending)
                }
            }
            if isAnother { throw Exit.pending }
            if exitCode, let gravest = report.gravest(pending: pending != nil) { throw gravest.exit }
        }
    }

    /// A number is a version whether or not the store knows it yet; a label must be known.
    private static func version(_ text: String, in store: EventStore) throws(EvstoreError) -> SchemaVersion {
        let digits = text.hasPrefix("v") ? text.dropFirst() : text[...]
        if let number = UInt32(digits) { return SchemaVersion(number) }
        return try store.version(named: text)
    }

    /// The work that remains, as a clause with the command for it; nil where there is none.
    private func pending(_ report: StatusReport, schemas: Schemas?) -> String? {
        let (live, head) = (report.versions.live, report.versions.head)
        let newest = max(head, schemas?.head ?? head)
        // What the store does not know yet, the replay has to be told again.
        let brought = newest > head ? global.schemas.map { " --schemas \($0.shellWord)" } ?? "" : ""
        let way = report.replica == nil ? "evstore replay --to \(newest)\(brought)" : "the original is to replay it"
        return newest > live ? "\(newest) is there and \(live) is live: \(way)" : nil
    }
}

extension StatusReport: PrintableObject {
    /// The gravest weight; nil where all is well.
    func gravest(pending isPending: Bool) -> Complaint.Weight? {
        (complaints.map(\.weight) + (isPending ? [.waiting] : [])).min()
    }

    var members: Members {
        [
            "floor": versions.floor, "live": versions.live, "top": versions.top, "head": versions.head, "position": position,
            "epoch": versions.epoch, "births": Members(births.map { (name: String($0.version.rawValue), value: $0.count) }),
            "types": types.map { ["type": $0.type, "born": $0.born, "count": $0.count] as Members },
            "projections": projections, "window": window, "snapshots": snapshots,
            "lastDrill": lastDrill.map { ["time": $0.time, "passed": $0.passed] as Members },
            "healthy": healthy, "freeBytes": freeBytes, "ballastBytes": ballastBytes,
            "cluster": cluster.map { ["log": $0.log, "node": $0.node, "frames": $0.frames] as Members },
            "replica": replica.map { ["source": $0.source, "backupTime": $0.backupTime] as Members },
            "complaints": complaints, "quarantined": quarantined, "passingPlace": passingPlace,
        ]
    }

    private var windowWords: String {
        if !window { return "closed" }
        if replica != nil { return "open, as the original had it" }
        let back = versions.live > versions.floor ? ["`evstore rollback` goes back"] : []
        let forward = versions.live < versions.top ? ["`evstore replay --to \(versions.top)` goes forward"] : []
        return "open: " + (back + forward + ["`evstore finalize \(versions.live)` closes it"]).joined(separator: ", ")
    }

    @TextLines
    func lines(path: String, pending: String?) -> [String] {
        "store        \(path)" + (versions.epoch > .first ? "   epoch \(versions.epoch)" : "")
        if let key = writingKey { "sealed       \(key.suite?.rawValue ?? ""), data key \(key.id)" }
        if let replica { "replica      \(replica.words), as of \(replica.backupTime)" }
        if let cluster { "cluster      node \(cluster.node) of \(cluster.log), \(grouped(cluster.frames)) frames" }
        "versions     floor \(versions.floor)   live \(versions.live)   top \(versions.top)   head \(versions.head)"
        let events = types.sum(\.count)
        "events       \(grouped(events)), the last at position \(grouped(position.rawValue))"
        for (version, count) in births {
            "  born at \(version.description.padded(to: 4)) \(grouped(count).aligned(to: 13))"
        }
        "projections  at \(versions.live)" + (projections.isEmpty ? ": none" : "")
        let width = projections.map(\.name.count).max() ?? 0
        for projection in projections { "  " + projection.words(width: width) }
        "window       \(windowWords)"
        "snapshots    " + (snapshots.isEmpty ? "none" : snapshots.joined(separator: ", "))
        "last drill   " + (lastDrill.map { "\($0.time) \($0.passed ? "passed" : "FAILED")" } ?? "never")
        if let oldestReader {
            "readers      the oldest is process \(oldestReader.process), \(counted(oldestReader.commitsBehind, "commit")) behind"
        }
        let ballast = ballastBytes == 0 ? "no ballast" : "\(size(bytes: ballastBytes)) of ballast"
        "disk         \(size(bytes: freeBytes)) free, \(ballast)"
        if let passingPlace { "place        \(passingPlace)" }
        if let pending { "pending      \(pending)" }
        if healthy { "health       good" }
        for complaint in complaints { "health       \(complaint.message): \(complaint.advice.command)" }
    }
}

extension Complaint: PrintableObject {
    var members: Members { ["code": code, "message": message, "fix": advice.command] }
}

extension Complaint.Weight {
    /// The exit code of `status --exit-code`.
    fileprivate var exit: Exit {
        switch self {
        case .failing: .failing
        case .waiting: .pending
        case .leftOut: .quarantined
        }
    }
}

extension ProjectionStatus: PrintableObject {
    var members: Members {
        [
            "name": name, "version": version, "fingerprint": fingerprint, "checkpoint": checkpoint?.position, "rows": rows,
            "digest": digest, "quarantined": quarantined,
        ]
    }

    func words(width: Int) -> String {
        guard let checkpoint else { return name.padded(to: width) + "   not built" }
        var parts = ["\(counted(rows, "row").aligned(to: 16))   at \(grouped(checkpoint.position.rawValue))"]
        if lag > 0 { parts.append("\(grouped(lag)) behind") }
        if quarantined > 0 { parts.append("\(grouped(quarantined)) quarantined") }
        if let digest { parts.append(digest.prefix(8) + "…") }
        return name.padded(to: width) + parts.joined(separator: "   ")
    }
}

extension ReplicaPlace {
    fileprivate var words: String { source.isEmpty ? "of backups through a pipe" : "of the backups in \(source)" }
}
