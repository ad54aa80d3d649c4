import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// What the README and the first guide tell a stranger to do.
@Suite("The words of the README")
struct ReadmeTests {
    private func shop() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (name, text) in try GuideFiles.all() { try directory.write(text, to: "Schemas/shop/" + name) }
        return directory
    }

    @Test("the twenty lines are a program, which compiles without warnings and runs any number of times")
    func twentyLines() throws {
        let readme = try Checkout.text("README.md")
        let shown = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let program = try Checkout.text("Tests/TwentyLines/main.swift")
        #expect(shown.contains(program), "Tests/TwentyLines/main.swift is not what the README shows")

        let directory = try shop()
        let built = BuiltProgram("TwentyLines").path
        let shell = BuiltProgram(path: "/bin/sh")
        for run in 1 ... 3 {
            let outcome = try shell.run(["-c", "cd '\(directory.path)' && exec '\(built)'"])
            #expect(outcome.exit == 0, "run \(run): \(outcome.errors)")
            let lines = outcome.lines.filter { !$0.hasPrefix("v2 is live") }
            #expect(
                lines == [
                    #"1 OrderPlaced {"id":"1","customer":"Ada Lovelace","total":"12.50"}"#,
                    run == 1 ? #"to come: 1 events, ["orders"] anew"# : "to come: 0 events, [] anew",
                    #"1 OrderPlaced {"id":"1","customer":"Ada Lovelace","cents":1250}"#, #"1 {"cents":1250,"customer":"Ada Lovelace"}"#,
                ], "run \(run)")
        }
    }

    @Test("a program that catches no error ends with what is wrong and what to do")
    func uncaught() throws {
        let directory = try TemporaryDirectory()
        let outcome = try BuiltProgram(path: "/bin/sh").run(["-c", "cd '\(directory.path)' && exec '\(BuiltProgram("TwentyLines").path)'"])
        #expect(outcome.exit != 0)
        #expect(outcome.errors.contains(#"there is no directory "Schemas/shop" of version files (check schemas:)"#))
    }
}

/// The folder `Schemas/shop` as the guide spells it, with the later definition joined to its projection.
enum GuideFiles {
    static func all() throws -> [(name: String, text: String)] {
        let blocks = try DocPage("GettingStarted").blocks("yaml").map(\.text)
        try #require(blocks.count == 4)
        return [("v1.yaml", blocks[0]), ("projections.yaml", blocks[1] + blocks[3]), ("v2.yaml", blocks[2])]
    }
}
