import EventModel
import EvstoreCLI
import EvstoreTesting
import TestSupport
import Testing

/// The page of errors, as it lies in the docs catalogue.
private struct ErrorsPage {
    struct Row { let code, exit, carries: String }

    let rows: [Row]
    /// The first table: what each exit code of the command line means.
    let exits: [Int32]

    init() throws {
        let tables = try DocPage("Errors").rows()
        rows = tables.filter { $0.count == 5 && $0[0].hasPrefix("`") }.map { cells in
            Row(code: cells[0].filter { $0 != "`" }, exit: cells[1], carries: cells[3])
        }
        exits = tables.filter { $0.count == 3 }.compactMap { Int32($0[0]) }
    }
}

/// The cases that the library's source declares, each with the names of what it carries.
private func declaredCases() throws -> [String: Set<String>] {
    let text = try Checkout.text("Sources/EventModel/EvstoreError.swift")
    let declaration = try #require(text.firstMatch(of: #/enum EvstoreError[\s\S]*?\n}/#)).0
    var cases: [String: Set<String>] = [:]
    for match in declaration.matches(of: #/case ([A-Za-z]+)\((.*)\)\n/#) {
        cases[String(match.1)] = Set(match.2.matches(of: #/([A-Za-z]+): /#).map { String($0.1) })
    }
    return cases
}

extension EvstoreError {
    /// The name of the case; `code` is that of the error within, where there is one.
    fileprivate var name: String { Mirror(reflecting: self).children.first?.label ?? "" }
}

private let finding = Finding(id: "FILE001", message: "m")
private let version = SchemaVersion(1)

private let samples: [EvstoreError] = [
    .storeNotFound(path: "p"), .storeExists(path: "p"), .notAStore(path: "p", reason: "r"), .storeNewer(path: "p", format: 2, known: 1),
    .storeDamaged(path: "p", reason: "r"), .otherLMDB(path: "p", reason: "r"),
    .unsafePermissions(path: "p", reason: "r"), .unsafeFileSystem(path: "p", kind: "nfs"),
    .readOnly(path: "p"), .replica(path: "p", source: "s"), .locked(path: "p", holder: "h"), .keysRefused(path: "p", reason: "r"),
    .replaced(path: "p"), .diskFull(path: "p", freeBytes: 0),
    .ioFailure(doing: "d", reason: "r"), .misuse("m"), .invalidStreamName("{"), .invalidEventID(""), .invalidJSON(reason: "r", offset: 1),
    .invalidEvent(type: "E", version: version, pointer: "/a", reason: "r"), .unknownType("E", version: version, known: []),
    .streamMismatch(given: "a", expected: "b", type: "E", version: version),
    .expectationFailed(stream: StreamName(unchecked: "s"), expected: .noStream, actual: nil),
    .conditionFailed(AppendCondition(failIfMatches: .all), item: 0, position: 1), .conditionOutdated(version),
    .idReused(id: EventID(unchecked: "i"), position: Position(1)), .eventTooLarge(bytes: 2, limit: 1), .appendTooLarge(reason: "r"),
    .versionNotAllowed(version, floor: version, top: version),
    .noImage(
        ImageFailure(type: "E", born: version, target: version, step: version, op: "add", pointer: "/a", expected: "x", found: "y")),
    .deadlinePassed(waited: .seconds(1), holder: "h"), .commitOutcomeUnknown(after: Position(1)), .invalidLine(reason: "r", pointer: ""),
    .refusedLine(1, file: nil, .invalidEventID("")), .refusedElement(1, line: 1, file: nil, .invalidEventID("")),
    .epochChanged(seen: .start, cut: .start), .unknownVersion("v9", known: []),
    .unknownProjection("p", known: []), .corruptBlock(position: Position(1), reason: "r"), .schemaInvalid([finding]),
    .schemaNewer(version: version, reason: "r"), .versionDiffers(version, file: "a", stored: "b"), .programNeeded(what: "w"),
    .backupDamaged(path: "p", reason: "r"), .notInBackup(wanted: "w", has: "h"), .otherBackup(path: "p"), .nothingToSalvage(path: "p"),
    .signatureInvalid(reason: "r"), .keyUnusable(path: "p", reason: "r"), .keyNeeded(what: "w", how: "h"),
    .policyRefused(program: version, live: version, how: "h"), .migrationInProgress(holder: "h"),
    .buildStopped(projection: "p", position: Position(1), reason: "r"), .invalidRow(projection: "p", key: "k", reason: "r"),
    .nothingToRollBackTo(live: version), .belowFloor(version, floor: version), .notLive(version, live: version),
    .consentNeeded(what: "w", how: "h"), .unknownSnapshot("s", known: []), .snapshotExists("s"), .unknownConsumer("c", known: []),
    .consumerStopped(consumer: "c", position: Position(1), reason: "r"), .verificationFailed(reason: "r"),
    .interrupted(again: "a"), .usage("u"), .logUnavailable(log: "l", reason: "r"),
    .clusterWentBack(log: "l", cluster: Position(1), node: Position(2)), .clusterDamaged(log: "l", frame: 1, reason: "r"),
    .clusterMismatch(log: "l", reason: "r", how: "h"),
]

@Suite("The page of errors")
struct ErrorsPageTests {
    @Test("it has every code of the library once, with the exit code of the command line")
    func codes() throws {
        let page = try ErrorsPage()
        #expect(samples.map(\.name).sorted() == (try declaredCases()).keys.sorted(), "each case needs a sample here")
        #expect(page.rows.map(\.code).sorted() == samples.map(\.name).sorted())
        for error in samples {
            let row = try #require(page.rows.first { $0.code == error.name })
            switch error {
            case .refusedLine(_, _, let inner), .refusedElement(_, _, _, let inner):
                #expect(row.exit == "as the inner error" && error.exit == inner.exit && error.code == inner.code)
            case .schemaInvalid:
                let newer = EvstoreError.schemaInvalid([finding, Finding(id: "FILE007", message: "m")])
                #expect(row.exit == "\(error.exit), or \(newer.exit)")
            default: #expect(row.exit == "\(error.exit)" && error.code == error.name, "\(error.name)")
            }
        }
    }

    @Test("it says what each error carries, by the names of the library")
    func carried() throws {
        let cases = try declaredCases()
        for row in try ErrorsPage().rows {
            let told = Set(row.carries.matches(of: #/`([a-z][A-Za-z]*)`/#).map { String($0.1) })
            #expect(told == cases[row.code], "\(row.code)")
        }
    }

    @Test("every error says something, without a blank line")
    func words() {
        for error in samples { #expect(!error.message.isEmpty && !error.message.contains("\n\n"), "\(error.name)") }
    }

    @Test("the exit codes are those that commands end with")
    func exits() throws {
        let session = try Checkout.text("Sources/EvstoreCLI/Session.swift")
        let own = session.matches(of: #/static let [a-z]+ = Exit\(code: (\d+)\)/#).compactMap { Int32($0.1) }
        #expect(!own.isEmpty)
        #expect(try ErrorsPage().exits == Set(samples.map(\.exit) + own + [0]).sorted())
    }

    @Test("the error that it shows is the one that is printed")
    func example() throws {
        let shown = try #require(try Guide("Errors").blocks.first { $0.language == "json" })
        let directory = try TemporaryDirectory()
        let command = "cd '\(directory.path)' && exec '\(BuiltProgram().path)' --store shop status --json"
        let outcome = try BuiltProgram(path: "/bin/sh").run("-c", command)
        #expect(outcome.exit == 2)
        #expect(outcome.output + outcome.errors == shown.text)
    }

    @Test("no fix of the library is a command line, and the command line has one in its place")
    func fixes() throws {
        for error in samples {
            let fix = error.fix ?? ""
            #expect(!fix.contains(#/evstore (?!that)[a-z]| --|chmod|openssl/#), "\(error.code): \(fix)")
        }
        let shop = try Shop()
        let outcome = try shop.run("status --json")
        #expect(outcome.exit == 2)
        #expect(try member(outcome.line, "error", "fix")?.contains("evstore --store") == true)
    }
}
