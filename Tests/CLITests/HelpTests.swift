import EvstoreTesting
import Testing

@Suite("Help")
struct HelpTests {
    static let commands = [
        "", "status", "init", "import", "append", "read", "watch", "export", "query", "diff", "plan", "replay", "rollback", "finalize",
        "verify", "schema", "schema check", "schema show", "schema validate", "snapshot", "snapshot take", "snapshot list",
        "snapshot verify", "snapshot prune", "journal", "backup", "restore", "salvage", "drill", "quarantine", "quarantine list",
        "quarantine show", "quarantine retry", "key", "key list", "key add", "key rotate", "key retire", "recipher",
    ]

    @Test("every command explains itself on standard output and exits with 0", arguments: commands)
    func help(_ command: String) throws {
        let words = command.split(separator: " ").map(String.init)
        let outcome = try BuiltProgram().run(words + ["--help"])
        #expect(outcome.exit == 0)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.contains("USAGE: evstore"))
        #expect(outcome.output.contains("evstore " + (words.first ?? "plan")))
        #expect(words.isEmpty || outcome.output.contains("Example: evstore"), "the help of \(command) has no example")
    }

    @Test("the help of the whole shows the life of a migration and the exit codes")
    func root() throws {
        let help = try BuiltProgram().run("help").output
        for line in ["evstore plan --to v5", "evstore rollback  ", "evstore finalize v5", "   9  interrupted", "  10  refused"] {
            #expect(help.contains(line))
        }
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.hasPrefix("USAGE") })
    }

    @Test("a version is printed, and completions come from the program itself")
    func others() throws {
        #expect(try BuiltProgram().run("--version").exit == 0)
        #expect(try BuiltProgram().run("--generate-completion-script", "bash").output.contains("evstore"))
    }
}
