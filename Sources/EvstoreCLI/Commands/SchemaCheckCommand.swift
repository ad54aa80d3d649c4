internal import ArgumentParser
internal import Evstore
internal import Projections
internal import SchemaEvolution
internal import SchemaTools

struct SchemaCheckCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Proves that the steps explain each version's difference from the one before.",
        discussion: """
            Prints a finding a line, file:line:column: severity id: what is wrong, and how to mend it. \
            Errors are findings that a replay would refuse, and a rules.yaml that lint can't read; a note is what only the data can prove, \
            which plan and replay do. With --store, a file that is not the version that the store has registered is a finding, too, \
            with what differs.

            The lines below a finding are an edit: - goes, + comes. Each was tried before it is shown: with it the finding is \
            gone and no error has come. --fix makes those that take no decision, several at one time, and prints each: words of the \
            format that are spelled wrongly, quotes, tabs, a read model's definition that follows a rename. It takes no line out, \
            renames no file, leaves alone what is released, and makes no edit that leaves more errors than there were; everything \
            else is proposed. Each file that it changes is kept beside it as v2.yaml.bak, and all other bytes stay as they are. The exit \
            code tells of what remains.

            Example: evstore schema check --schemas Schemas/shop
            Mend what can be mended: evstore schema check --fix --schemas Schemas/shop
            Against what a store has registered: evstore --store orders schema check --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Flag(help: "Make the edits that take no decision of yours.") var fix = false
    @Flag(help: "With --fix: print the edits and write nothing.") var dryRun = false

    func run(in session: Session) async throws {
        if dryRun, !fix { throw UsageError("--dry-run is about --fix", see: "evstore schema check") }
        let texts = SchemaTexts(directory: try global.schemasPath(for: "schema check"))
        let isFixing = fix
        let result = try await session.computing {
            var fixes = SchemaFixes(texts)
            if isFixing { try fixes.makeAll() }
            let findings = try Self.said(of: fixes.texts).findings
            return (fixes, try RepairTrial(fixes.texts, Self.whole).proposals(for: findings))
        }
        var (fixes, findings) = result
        if !dryRun { try fixes.write() }
        findings += try await differences(from: fixes.texts, session)
        let report = CheckReport(
            findings, checked: "shapes, steps and projections", failing: Exit(code: findings.exit),
            extra: fix ? ["fixed": fixes.made] : [:], before: fix ? fixes.lines(isDryRun: dryRun) : [])
        try report.end(session.output)
    }

    /// Findings about files that differ from what a store has registered, if the command line names one.
    private func differences(from texts: SchemaTexts, _ session: Session) async throws -> [Finding] {
        if global.store == nil { return [] }
        let files: History
        // Files that can't be read have findings of their own.
        do { files = try History.load(texts) } catch EvstoreError.schemaInvalid { return [] }
        return try await session.withStore(.reading, asItIs: true) { store in try store.differences(from: files) }
    }

    /// The findings for people. A file that can't be read is a finding, too.
    static func said(of texts: SchemaTexts) throws -> RepairTrial.Verdict { try verdict(on: texts, reportsAll: false) }

    /// All findings, even those that only repeat others.
    static func whole(_ texts: SchemaTexts) throws -> RepairTrial.Verdict { try verdict(on: texts, reportsAll: true) }

    private static func verdict(on texts: SchemaTexts, reportsAll: Bool) throws -> RepairTrial.Verdict {
        var verdict = RepairTrial.Verdict([], nil)
        do {
            let history = try History.load(texts, reportsAll: reportsAll)
            verdict.history = history
            verdict.findings = history.warnings + history.check()
            verdict.findings += try projections(in: texts, history)
        } catch EvstoreError.schemaInvalid(let unreadable) {
            verdict.findings += unreadable
        }
        do { _ = try LintRules.load(texts) } catch EvstoreError.schemaInvalid(let unreadable) { verdict.findings += unreadable }
        return verdict
    }

    private static func projections(in texts: SchemaTexts, _ history: History) throws -> [Finding] {
        let names = try texts.names()
        guard let name = ["projections.yaml", "projections.json"].first(where: { names.contains($0) }) else { return [] }
        let path = texts.path(name)
        let text = try texts.bytes(path: path)
        return try DefinitionSet.load(text: text, file: path, history: history).check(against: history)
    }
}
