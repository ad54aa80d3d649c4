internal import ArgumentParser
internal import Evstore
internal import Projections
internal import SchemaEvolution

struct SchemaCheckCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Proves that the steps explain each version's difference from the one before.",
        discussion: """
            Prints a finding a line, file:line:column: severity id: message, and how to mend it. \
            Errors are findings that a replay would refuse; a note is what only the data can prove, \
            which plan and replay do.

            Example: evstore schema check --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let findings = try Self.findings(in: global.schemasPath(for: "schema check"))
        let ok = !findings.contains { $0.severity == .error }
        try session.output.findings(findings, ok: ok, checked: "shapes, steps and projections")
        if !ok { throw Exit.refused }
    }

    /// Everything there is to say about a directory; files that can't be read are findings too.
    static func findings(in directory: String) throws -> [Finding] {
        var findings: [Finding] = []
        do {
            let history = try History.load(directory: directory)
            findings = history.warnings + history.check()
            findings += try Schemas.load(directory).definitions.check(against: history)
        } catch EvstoreError.schemaInvalid(let unreadable) {
            findings += unreadable
        }
        return Mending.complete(findings)
    }
}
