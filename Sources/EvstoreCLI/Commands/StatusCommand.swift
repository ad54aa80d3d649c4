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
            let expected = try expect.map { text throws(EvstoreError) in try Self.version(text, in: store) }
            let isAnother = expected.map { $0 != report.versions.live } ?? false
            let pending = try Self.pending(report, schemas: session.schemas())
            if session.output.json {
                try session.output.object(report.object)
            } else if isAnother, let expected {
                try session.output.line("\(report.versions.live) is live, not \(expected)")
            } else {
                try report.write(to: session.output, path: store.path, pending: pending)
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
    static func pending(_ report: StatusReport, schemas: Schemas?) -> String? {
        let (live, newest) = (report.versions.live, max(report.versions.head, schemas?.head ?? report.versions.head))
        let way = report.replica == nil ? "evstore replay --to \(newest)" : "the original is to replay it"
        return newest > live ? "\(newest) is there and \(live) is live: \(way)" : nil
    }
}

extension StatusReport {
    /// The gravest weight; nil where all is well.
    func gravest(pending isPending: Bool) -> Complaint.Weight? {
        (complaints.map(\.weight) + (isPending ? [.waiting] : [])).min()
    }

    var object: OutputValue {
        [
            "floor": .version(versions.floor), "live": .version(versions.live), "top": .version(versions.top),
            "head": .version(versions.head), "position": .position(position), "epoch": .count(versions.epoch.rawValue),
            "births": .object(births.map { (name: String($0.version.rawValue), value: .count($0.count)) }),
            "types": .list(types.map { ["type": .text($0.type), "born": .version($0.born), "count": .count($0.count)] }),
            "projections": .list(projections.map(\.object)), "window": .bool(window),
            "snapshots": .list(snapshots.map { .text($0) }),
            "lastDrill": lastDrill.map { ["time": .time($0.time), "passed": .bool($0.passed)] } ?? nil,
            "healthy": .bool(healthy), "freeBytes": .count(freeBytes), "ballastBytes": .count(ballastBytes),
            "cluster": cluster.map { ["log": .text($0.log), "node": .text($0.node), "frames": .count($0.frames)] } ?? nil,
            "replica": replica.map { ["source": .text($0.source), "backupTime": .time($0.backupTime)] } ?? nil,
            "complaints": .list(complaints.map(\.object)), "quarantined": .count(quarantined), "passingPlace": .optional(passingPlace),
        ]
    }

    private var windowWords: String {
        if !window { return "closed" }
        if replica != nil { return "open, as the original had it" }
        let back = versions.live > versions.floor ? ["`evstore rollback` goes back"] : []
        let forward = versions.live < versions.top ? ["`evstore replay --to \(versions.top)` goes forward"] : []
        return "open: " + (back + forward + ["`evstore finalize \(versions.live)` closes it"]).joined(separator: ", ")
    }

    func write(to output: Output, path: String, pending: String?) throws {
        try output.line("store        \(path)" + (versions.epoch > .first ? "   epoch \(versions.epoch)" : ""))
        if let key = writingKey { try output.line("sealed       \(key.suite?.rawValue ?? ""), data key \(key.id)") }
        if let replica { try output.line("replica      \(replica.words), as of \(replica.backupTime)") }
        if let cluster { try output.line("cluster      node \(cluster.node) of \(cluster.log), \(grouped(cluster.frames)) frames") }
        try output.line("versions     floor \(versions.floor)   live \(versions.live)   top \(versions.top)   head \(versions.head)")
        let events = types.sum(\.count)
        try output.line("events       \(grouped(events)), the last at position \(grouped(position.rawValue))")
        for (version, count) in births {
            try output.line("  born at \(version.description.padded(to: 4)) \(grouped(count).aligned(to: 13))")
        }
        try output.line("projections  at \(versions.live)" + (projections.isEmpty ? ": none" : ""))
        let width = projections.map(\.name.count).max() ?? 0
        for projection in projections { try output.line("  " + projection.words(width: width)) }
        try output.line("window       \(windowWords)")
        try output.line("snapshots    " + (snapshots.isEmpty ? "none" : snapshots.joined(separator: ", ")))
        try output.line("last drill   " + (lastDrill.map { "\($0.time) \($0.passed ? "passed" : "FAILED")" } ?? "never"))
        if let oldestReader {
            let behind = oldestReader.commitsBehind == 1 ? "1 commit" : "\(grouped(oldestReader.commitsBehind)) commits"
            try output.line("readers      the oldest is process \(oldestReader.process), \(behind) behind")
        }
        let ballast = ballastBytes == 0 ? "no ballast" : "\(size(bytes: ballastBytes)) of ballast"
        try output.line("disk         \(size(bytes: freeBytes)) free, \(ballast)")
        if let passingPlace { try output.line("place        \(passingPlace)") }
        if let pending { try output.line("pending      \(pending)") }
        if healthy { try output.line("health       good") }
        for complaint in complaints { try output.line("health       \(complaint.message): \(complaint.advice.command)") }
    }
}

extension Complaint {
    fileprivate var object: OutputValue { ["code": .text(code), "message": .text(message), "fix": .text(advice.command)] }
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

extension ProjectionStatus {
    var object: OutputValue {
        [
            "name": .text(name), "version": .version(version), "fingerprint": .text(fingerprint),
            "checkpoint": .position(checkpoint?.position), "rows": .count(rows), "digest": .optional(digest),
            "quarantined": .count(quarantined),
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
