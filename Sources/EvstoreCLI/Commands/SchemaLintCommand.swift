internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import Projections
internal import SchemaEvolution
internal import SchemaTools

struct SchemaLintCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Says what is allowed and not advised, and what rules.yaml forbids.",
        discussion: """
            Beyond `schema check`: fixtures for every type of every version, which look as they were recorded (a difference \
            is a note while a version of it is not released), removal only of what was \
            deprecated before, rounding, names and descriptions, personal members where they are never sealed (names of \
            streams, keys of rows, metadata). In rules.yaml beside the version files: forbid: [ops], \
            error: [ids], forward: N, and waive: [{id, file, because, until}]; a waiver without reason or end is an error.

            Example: evstore schema lint --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) throws {
        let directory = try global.schemasPath(for: "schema lint")
        let (findings, hasFixtures) = try Self.findings(in: directory, SwiftSteps(session.application.steps))
        let checked = (hasFixtures ? "fixtures, " : "") + "losses, names, rules"
        try CheckReport(findings, checked: checked, failing: Exit(code: findings.exit)).end(session.output)
    }

    /// The findings of a directory. A file that can't be read is a finding, too.
    private static func findings(in directory: String, _ steps: SwiftSteps) throws -> (findings: [Finding], hasFixtures: Bool) {
        do {
            let history = try History.load(directory: directory).with(steps)
            let (rules, fixtures) = (try LintRules.load(directory: directory), try Fixtures.load(directory: directory, history))
            let today = String(Timestamp.now.description.prefix(10))
            let found = try Lint.run(history, rules, fixtures: fixtures, today: today, others: exposedKeys(in: directory, history))
            return (RepairEdits.complete(history.warnings + found), fixtures != nil)
        } catch EvstoreError.schemaInvalid(let unreadable) {
            return (RepairEdits.complete(unreadable), false)
        }
    }

    private static func exposedKeys(in directory: String, _ history: History) throws -> [Finding] {
        do { return try Schemas.load(directory).definitions.exposedKeys(history) } catch EvstoreError.schemaInvalid {
            // `schema check` reports errors of projections.
            return []
        }
    }
}
