internal import ArgumentParser
internal import Evstore
internal import FoundationEssentials
internal import Migration
internal import Platform

struct DrillCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "drill",
        abstract: "Rehearses a migration, its rollback and a restore on a copy.",
        discussion: """
            Copies the store, migrates the copy, appends events born at the new version, rolls back, \
            compares with a replay from the first event, goes forward again, and restores a backup. \
            Each step shows what it claims by digests; what does not hold is a failure, and what could not \
            be tried is named. An event without an image at the live version, which is in its quarantine, \
            is no failure, and neither is a loss that a replay has accepted. The store itself gets a report in \
            drills/ and a line in its journal. Made to run from a timer.

            Where the newest version is live, it rehearses the way that `evstore rollback` would take.

            Example: evstore drill --to v5 --schemas Schemas/shop --backup /mnt/other/orders
            Three versions back: evstore drill --from v2
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to rehearse; the newest that is known where it is not given.", valueName: "vN")) var to: String?
    @Option(
        help: ArgumentHelp(
            "The version that the rehearsed rollback leads to; where rollback would lead, or the live one, where it is not given.",
            valueName: "vN"))
    var from: String?
    @Option(help: ArgumentHelp("Restore the newest run of this directory; one is made for it where none is given.", valueName: "dir"))
    var backup: String?
    @Option(help: ArgumentHelp("Roll back with this program, such as the one of the previous release.", valueName: "path"))
    var withBinary: String?
    @Option(help: ArgumentHelp("Make up the same events as the drill whose report names it.", valueName: "n")) var seed: UInt64?

    func run(in session: Session) async throws {
        let report = try await session.withStore { store in
            try await store.maintenance.drill(
                to: store.version(ifNamed: to), from: store.version(ifNamed: from), backups: backup,
                olderProgram: withBinary.map { Self.older($0, keyed: global.keyWords, session.interrupts) },
                seed: seed, progress: session.progress)
        }
        try session.output.print(report)
        guard !report.passed else { return }
        let failed = report.steps.last { !$0.ok }
        // The text for people has the failed step among the others.
        if session.output.json, let failed { session.output.note("\(failed.name): \(failed.detail)") }
        if let fix = failed?.error?.command { session.output.note("  -> \(fix)\(Self.unitHint(failed?.error))") }
        throw Exit(code: failed?.error?.exit ?? 7)
    }

    /// The packaged unit runs the program without an application's code unless it is told to run another one.
    private static func unitHint(_ error: EvstoreError?) -> String {
        guard case .programNeeded? = error else { return "" }
        return "; the unit evstore-drill@ runs what Environment=EVSTORE_PROGRAM= names"
    }

    private static func older(_ program: String, keyed words: [String], _ interrupts: Interrupts) -> OlderProgram {
        { store, version throws(EvstoreError) in
            let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
            let child: ChildProcess
            do throws(SystemFailure) {
                child = try ChildProcess(
                    program, ["--store", store, "rollback", "--to", "\(version)", "--json"] + words, environment: environment,
                    files: .init(output: store + "/older-program.out", errors: store + "/older-program.err"))
            } catch { throw .ioFailure(doing: "running \(program)", reason: error.description) }
            while child.isRunning(after: 50) { if interrupts.isCancelled { child.send(signal: 15) } }
            let ending = child.wait()
            if interrupts.isCancelled { throw .interrupted(again: "evstore drill") }
            if ending != .exit(0) { throw .verificationFailed(reason: "\(program) ended with \(ending)") }
        }
    }
}

extension DrillReport: Report {
    var members: Members {
        [
            "passed": passed, "steps": steps.map { ["name": $0.name, "ok": $0.ok, "seconds": $0.duration] as Members }, "laws": laws,
            "notExercised": notExercised, "report": report,
        ]
    }

    var lines: [String] {
        for (index, step) in steps.enumerated() {
            let name = "\(index + 1) \(step.name) "
            let dots = String(repeating: ".", count: max(3, 46 - name.count))
            "\(name)\(dots) \(step.ok ? "yes" : "NO ") \(step.duration.inWords.aligned(to: 9))   \(step.detail)"
        }
        let tried = laws.filter { $0.tried > 0 }.map {
            "\($0.law) \(grouped($0.tried))\($0.failed > 0 ? " (\(grouped($0.failed)) FAILED)" : "")"
        }
        if !tried.isEmpty { "laws   \(tried.joined(separator: "  "))" }
        for loss in loss where loss.count > 0 {
            "loss   \(loss.version) \(loss.type): \(loss.what), \(counted(loss.count, "event")) of the sample (\(loss.standing))"
        }
        "not exercised: \(notExercised.isEmpty ? "none" : notExercised.joined(separator: "; "))"
        if let recovery, let recoveryPointEvents {
            "recovery in \(recovery.inWords), \(counted(recoveryPointEvents, "event")) behind"
        }
        "\(passed ? "PASSED" : "FAILED")   report \(report)"
    }
}
