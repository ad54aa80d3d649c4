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
        return [""] + page.matches(of: #/\n#{3,5} evstore ([a-z -]+)\n/#).map { String($0.1) }
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

    @Test("the commands that pages, alerts and the dashboard name are there")
    func named() throws {
        let known = Set(
            Self.commands.flatMap { command -> [String] in
                let words = command.split(separator: " ")
                return (0 ... words.count).map { words.prefix($0).joined(separator: " ") }
            })
        for directory in ["Sources/Evstore/Evstore.docc", "tools/monitoring"] {
            let names = try FileManager.default.contentsOfDirectory(atPath: Checkout.path(directory))
            for name in names.sorted() where [".md", ".yml", ".json"].contains(where: { name.hasSuffix($0) }) {
                for match in try Checkout.text("\(directory)/\(name)").matches(of: #/`evstore ([a-z][^`\n]*)`/#) {
                    let words = match.1.split(separator: " ").map(String.init)
                    // The first line of a file, such as `evstore head 2`.
                    if words.count == 2, Int(words[1]) != nil { continue }
                    let isGroup = known.contains { $0.hasPrefix(words[0] + " ") }
                    let hasSecond = words.count > 1 && words[1].allSatisfy { $0 == "-" || $0.isLowercase } && !words[1].hasPrefix("-")
                    let command = isGroup && hasSecond ? "\(words[0]) \(words[1])" : words[0]
                    #expect(known.contains(command), "\(name): \(match.0)")
                }
            }
        }
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
