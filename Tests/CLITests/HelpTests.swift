import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Help")
struct HelpTests {
    /// Every command that the page of the command line has, which is held against the commands themselves.
    static let commands: [String] = {
        let path = Checkout.path("Sources/Evstore/Evstore.docc/CommandLine.md")
        guard let page = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return [""] + page.matches(of: #/\n#{3,5} evstore ([a-z ]+)\n/#).map { String($0.1) }
    }()

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

    @Test("every command's help was asked for")
    func complete() { #expect(Self.commands.count > 45 && Self.commands.contains("schema fixtures record")) }

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
