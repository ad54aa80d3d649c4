internal import ArgumentParser
internal import Evstore
internal import FoundationEssentials

struct InitCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Makes a new, empty store.",
        discussion: """
            The version files of --schemas up to the version to begin at, and the projections, are \
            registered in the store, which can then be read without them. `evstore replay --schemas` \
            brings newer ones.

            Example: evstore --store shop init --schemas Schemas/shop --at v1
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to begin at; the newest of --schemas where it is not given.", valueName: "vN"))
    var at: String?

    func run(in session: Session) async throws {
        let schemas = try Schemas.load(global.schemasPath(for: "init"))
        let version = try at.map { try schemas.version(named: $0) }
        let store = try await EventStore.create(
            global.storePath(), schemas: schemas, version: version, steps: session.application.steps,
            projections: session.application.projections, options: session.options(), logger: session.logger)
        let (versions, passingPlace) = try (store.versions, store.status().passingPlace)
        try await store.close()
        let object: Members = ["floor": versions.floor, "live": versions.live, "top": versions.top, "head": versions.head]
        try session.output.print(object) { "made \(store.path): \(versions.live) is live, \(versions.head) is the newest it knows" }
        if let passingPlace { session.output.note("note: \(store.path) lies on \(passingPlace)") }
    }
}

struct AppendCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Appends one event, or several together, and returns when it is on the disk.",
        discussion: """
            The payload is one JSON object, {} where it is not given; - reads it from standard input. \
            With --id, the same append can be repeated safely: it is made once.

            With --lines, the events of a file are one append, all of them or none: a line is what import \
            takes, {"stream":"order-42","type":"OrderPlaced","data":{…}}, with id, time, metadata and \
            version where they matter. A line may also have expect, which is what its stream must be at before \
            the append: a revision, "none", "exists" or "any"; --expect says it for lines of one stream. The \
            first line's id makes the append safe to repeat. What merge-events joins is appended so.

            --unless refuses the append where an event that a condition excludes is there: one that \
            `evstore read --condition FILE` wrote, so that nothing which a decision did not know has come, or \
            {"failIfMatches":[{"tags":["email:a@b"]}]}, which holds as long as no event has that tag.

            Example: evstore append order-42 OrderPaid '{"id":"42","method":"card"}' --expect 0
            Several: evstore append --lines moved.jsonl
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The stream, such as order-42.") var stream: String?
    @Argument(help: "The event's type, as the version names it.") var type: String?
    @Argument(help: "One JSON object, or - for standard input; {} where it is not given.") var payload: String?

    @Option(help: ArgumentHelp("Append the events of a file of lines together; - is standard input.", valueName: "file"))
    var lines: String?

    @Option(help: ArgumentHelp("The revision the stream must be at: a number, none, exists or any, which is the default.", valueName: "n"))
    var expect: ExpectationChoice?

    @Option(
        help: ArgumentHelp(
            "Refuse the append where an event is there that the condition of this file excludes; may be given several times.",
            valueName: "file"))
    var unless: [String] = []

    @Option(help: ArgumentHelp("The event's id, unique in the store; made where it is not given.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The version it is born at; the live one where it is not given.", valueName: "vN"))
    var at: String?

    @Option(help: ArgumentHelp("One JSON object of metadata.", valueName: "json"))
    var metadata: String?

    func validate() throws {
        if lines == nil {
            if stream == nil || type == nil { throw ValidationError("say STREAM and TYPE of one event, or --lines FILE") }
        } else if stream != nil || id != nil || metadata != nil {
            throw ValidationError("--lines says stream, type, id and metadata of each event: leave them out")
        }
    }

    func run(in session: Session) async throws {
        let one = try lines == nil ? event(session.interrupts) : nil
        let text = try lines.map { try Input.all($0, atMost: Options().appendBytesMax, session.interrupts) }
        let conditions = try unless.map { try AppendCondition(Input.all($0, atMost: 1 << 20, session.interrupts), of: $0) }
        let (receipt, count) = try await session.withStore { store in
            let version = try store.version(ifNamed: at)
            if var one {
                one.version = version
                let expected = expect.map { [StreamCondition(one.stream, $0.expectation)] }
                return (try await store.append([one], conditions: expected ?? [], unless: conditions), 1)
            }
            var several = try store.eventLines(text ?? [], of: lines == "-" ? nil : lines, bornAt: version)
            if let condition = try condition(of: several.events) { several.conditions.append(condition) }
            return (try await store.append(several, unless: conditions), several.events.count)
        }
        let object: Members = [
            "position": receipt.position, "revision": receipt.revision.rawValue, "id": receipt.id.text, "duplicate": receipt.duplicate,
        ]
        try session.output.print(object) {
            let what = one.map { "\($0.type) to \($0.stream)" } ?? counted(count, "event")
            let place = "revision \(grouped(receipt.revision.rawValue))" + (one == nil ? " of \(receipt.stream)" : "")
            (receipt.duplicate ? "was there already: " : "appended ")
                + "\(what) at \(place), position \(grouped(receipt.position.rawValue)), id \(receipt.id)"
        }
    }

    /// The condition that `--expect` states for the stream of all events; nil where it is not given.
    private func condition(of events: [NewEvent]) throws(EvstoreError) -> StreamCondition? {
        guard let first = events.first else { throw .usage("\(lines.map(quoted) ?? "") has no line to append") }
        guard let expect else { return nil }
        guard events.allSatisfy({ $0.stream == first.stream }) else {
            throw .usage("--expect is of one stream, and these lines are of several: write \"expect\" into the lines that expect something")
        }
        return StreamCondition(first.stream, expect.expectation)
    }

    private func event(_ interrupts: Interrupts) throws -> NewEvent {
        let stream = try StreamName(stream ?? "")
        let id = try id.map { try EventID($0) }
        let limit = Options().eventBytesMax
        let payload =
            try payload == "-"
            ? Input.all("-", atMost: limit, interrupts) { .eventTooLarge(bytes: $0, limit: limit) } : Array((payload ?? "{}").utf8)
        return NewEvent(stream: stream, type: type ?? "", payload: payload, metadata: metadata.map { Array($0.utf8) }, id: id)
    }
}

struct ExpectationChoice: ExpressibleByArgument, Sendable {
    let expectation: Expectation

    init?(argument: String) {
        guard let expectation = Expectation(word: argument) else { return nil }
        self.expectation = expectation
    }
}

struct ImportCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Appends event lines from a file or a pipe, never one twice.",
        discussion: """
            A line is {"stream":"order-42","type":"OrderPlaced","data":{…}}, with id, time, metadata \
            and version where they matter, or a CloudEvent 1.0 in JSON; without a stream it goes into the \
            one that its type's template names. A file is validated whole \
            before anything is appended; from a pipe, what came before a bad line stays. Running it \
            again finishes an interrupted import and adds nothing that is there; nor does an input that \
            ends before one that was imported. Lines that were refused and left out (--on-error quarantine) \
            are checked again by each further run, and appended once they are valid. One import is at work \
            at a time, and another waits for it. Where there is no store, one is made at the version of --as.

            A CloudEvent is known by its source and id; they and its other attributes are kept in the \
            metadata, and export --format cloudevents writes them as they were. Its subject is the stream.

            --as 0 is data from before versions existed: any JSON object, a line or (--each) an element \
            of a document, is stored as it is, whatever it looks like, and read by the cases of adopt: in \
            v1.yaml. What they do not take is in quarantine, and shown by read --at 0. Event lines of \
            version 0, such as an export has, say "version":0 themselves: import them --as v1.

            Example: evstore --store shop import orders.jsonl --as v1 --schemas Schemas/shop
            A list in a document, or ('') the whole: evstore --store shop import all.json --as v1 --each /orders
            From a pipe: other-store dump | evstore --store shop import - --as 1.2.0
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "file"))
    var file: String

    @Option(
        name: .customLong("as"), help: ArgumentHelp("The version the events are born at, unless a line says otherwise.", valueName: "vN"))
    var version: String

    @Option(
        help: ArgumentHelp(
            "The input is one JSON document; this pointer names its list of events, or '' the document.", valueName: "pointer"))
    var each: String?

    @Option(
        help: """
            What becomes of a line that is refused: stop, or quarantine, which tells it and leaves it out (exit 8). An input whose first \
            10,000 lines are no events is refused.
            """,
        transform: oneOf)
    var onError: FailureRule = .stop

    @Flag(help: "Check everything, append nothing.")
    var dryRun = false

    @Option(help: "Where a line has the id of an event that differs: keep leaves the stored one; refuse where not given.")
    var sameID: SameIDChoice?

    @Flag(help: "Append also what an earlier import of this input appended.")
    var again = false

    @Flag(help: "Take events also into streams that their type's template does not name; they are refused where not given.")
    var anyStream = false

    func run(in session: Session) async throws {
        if file != "-", !FileManager.default.fileExists(atPath: file) {
            throw EvstoreError.usage("there is no file \(quoted(file)) to import")
        }
        let report = try await withStore(session) { store in
            try await store.importLines(
                from: file == "-" ? .descriptor(0) : .file(file), as: isUnversioned ? SchemaVersion(0) : store.version(named: version),
                options: ImportOptions(
                    each: each, onError: onError, dryRun: dryRun,
                    sameID: sameID == nil ? .mustMatch : .keepFirst, again: again, takesAnyStream: anyStream),
                progress: session.progress
            ) { report in
                session.bar.finish()
                report.noteLeftOut(session.output)
                guard report.added > 0 else { return }
                session.output.note(
                    "kept       \(counted(report.added, "event")) of the lines before, up to position \(grouped(report.position.rawValue))")
            }
        }
        try report.write(to: session.output, of: file == "-" ? "standard input" : file, dryRun: dryRun)
        if report.quarantined + (report.adoption?.quarantined ?? 0) > 0 { throw Exit.quarantined }
    }

    /// Whether it is data from before versions existed.
    private var isUnversioned: Bool { version == "0" || version == "v0" }

    /// Opens the store, or makes a new one at the version of `--as`, which is removed where nothing was imported. Where several imports
    /// find no store, one makes it, and the others wait for that one's import.
    private func withStore(_ session: Session, _ body: (EventStore) async throws -> ImportReport) async throws -> ImportReport {
        while true {
            let there = try place()
            // Work that has begun must not begin twice.
            var hasBegun = false
            func begin(_ store: EventStore) async throws -> ImportReport {
                hasBegun = true
                return try await body(store)
            }
            do {
                return try await there == nil ? make(session, begin) : session.withStore { try await begin($0) }
            } catch EvstoreError.storeExists where there == nil && !dryRun {
                // Another import has made the store first, and may have removed it again.
            } catch {
                // Another import has created or removed the store meanwhile.
                if try hasBegun || dryRun && there == nil || place() == there { throw error }
            }
        }
    }

    private func make(_ session: Session, _ body: (EventStore) async throws -> ImportReport) async throws -> ImportReport {
        let isThere = try FileManager.default.fileExists(atPath: global.storePath())
        let store = try await create(session)
        let report: ImportReport
        do { report = try await body(store) } catch {
            session.bar.finish()
            try await store.discard(keepsDirectory: isThere && !dryRun)
            throw error
        }
        session.bar.finish()
        try await dryRun ? store.discard() : store.close()
        return report
    }

    private func create(_ session: Session) async throws -> EventStore {
        let schemas = try Schemas.load(global.schemasPath(for: "import into a new store"))
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("evstore-import-\(UUID().uuidString)").path
        return try await EventStore.create(
            dryRun ? scratch : global.storePath(), schemas: schemas,
            version: isUnversioned ? SchemaVersion(1) : schemas.version(named: version),
            steps: session.application.steps, projections: session.application.projections, options: session.options(),
            logger: session.logger)
    }

    /// Distinguishes the store at the path from a later one there; nil where there is none.
    private func place() throws -> Data? {
        let path = try global.storePath()
        do { return try Data(contentsOf: URL(filePath: path + "/evstore.json")) } catch {
            return try EventStore.isFree(path) ? nil : Data()
        }
    }
}

enum SameIDChoice: String, ExpressibleByArgument, CaseIterable { case keep }

extension ImportReport {
    func write(to output: Output, of file: String, dryRun: Bool) throws {
        noteLeftOut(output)
        note(refused, of: quarantined, file, "refused", output)
        note(unadopted, of: adoption?.quarantined ?? 0, file, "kept raw", output)
        if streamMismatches > 0 {
            output.note("note: \(counted(streamMismatches, "event")) of a stream that its type's template does not name")
        }
        let object: Members = [
            "read": read, "added": added, "skipped": skipped, "repeated": repeated, "quarantined": quarantined, "position": position,
            "adoption": adoption,
        ]
        try output.print(object) {
            "read       \(counted(read, "line"))"
            (dryRun ? "would add  " : "added      ") + counted(added, "event")
            if let adoption { "adopted    \(adoption.words)" }
            if skipped > repeated { "skipped    \(grouped(skipped - repeated)) that an earlier import appended" }
            if repeated > 0 { "skipped    \(grouped(repeated)) whose id is there already" }
            if quarantined > 0 { "refused    \(counted(quarantined, "line")), not appended" }
            dryRun ? "nothing was changed" : "position   \(grouped(position.rawValue))"
        }
    }

    func noteLeftOut(_ output: Output) {
        if leftOut > 0 { output.note("note: \(counted(leftOut, "line")) that an earlier import refused and left out: checked again") }
    }

    /// Lists lines as `FILE:LINE: …`, which editors jump to, and how many more there are.
    private func note(_ lines: [RefusedLine], of count: UInt64, _ file: String, _ what: String, _ output: Output) {
        var said: String?
        for line in lines {
            let element = line.element.map { "element \($0): " } ?? ""
            // What to do next is said once for lines that need the same.
            let words = line.error.command == said ? line.error.message : line.error.words
            output.note("\(file):\(line.line): \(element)\(what): \(words)")
            said = line.error.command
        }
        if count > UInt64(lines.count) { output.note("… and \(grouped(count - UInt64(lines.count))) more \(what)") }
    }
}

extension AdoptionReport: PrintableObject {
    var members: Members {
        [
            "events": events, "kept": kept, "defaulted": defaulted, "notKept": notKept, "quarantined": quarantined, "unnamed": unnamed,
            "unnamedLines": unnamedLines.map {
                ["line": $0.line, "type": $0.type, "pointer": $0.pointer, "reason": $0.reason] as Members
            },
        ]
    }

    /// `4 events of version 0: kept 12 members, defaulted 3, not kept 5: /favourite (4), /tmp (1)`
    var words: String {
        var words = "\(counted(events, "event")) of version 0: kept \(counted(kept, "member")), defaulted \(grouped(defaulted))"
        words += ", not kept \(grouped(notKept.values.reduce(0, +)))"
        if !notKept.isEmpty {
            words += ": " + notKept.sorted { $0.key < $1.key }.map { "\($0.key) (\(grouped($0.value)))" }.joined(separator: ", ")
        }
        if unnamed > 0 { words += "; \(grouped(unnamed)) whose stream stays $unknown\(namelessWords)" }
        return quarantined > 0 ? words + "; \(grouped(quarantined)) that no case takes, in quarantine" : words
    }

    /// ` (line 2: adopted as Starred, and /who should be a value that names the stream, found nothing)`
    private var namelessWords: String {
        if unnamedLines.isEmpty { return "" }
        let first = unnamedLines.prefix(5).map { "line \(grouped($0.line)): adopted as \($0.type), and \($0.pointer) \($0.reason)" }
        return " (\(first.joined(separator: "; "))\(unnamedLines.count > first.count ? "; …" : ""))"
    }
}
