import Evstore
import EvstoreTesting
import Foundation
import Testing

/// What the README and the first guide tell a stranger to do.
@Suite("The words of the README")
struct ReadmeTests {
    private static let root = GuideFiles.root

    private func shop() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (name, text) in try GuideFiles.all() { try directory.write(text, to: "Schemas/shop/" + name) }
        return directory
    }

    @Test("the twenty lines are a program, which compiles without warnings and runs any number of times")
    func twentyLines() throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let shown = readme.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let program = try String(contentsOf: Self.root.appending(path: "Tests/TwentyLines/main.swift"), encoding: .utf8)
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

    @Test("the first guide's commands work word for word, and the rollback shows what was written since")
    func firstGuide() throws {
        let directory = try TemporaryDirectory()
        let files = try GuideFiles.all()
        let bin = URL(filePath: BuiltProgram().path).deletingLastPathComponent().path
        func run(_ command: String) throws -> String {
            let outcome = try BuiltProgram(path: "/bin/sh").run(["-c", "PATH='\(bin)':$PATH; cd '\(directory.path)' && \(command)"])
            #expect(outcome.exit == 0, "\(command): \(outcome.errors)")
            return outcome.output
        }
        let commands = try GuideFiles.commands()
        let plan = try #require(commands.firstIndex { $0.contains(" plan ") })
        try directory.write(files[0].text, to: "Schemas/shop/v1.yaml")
        try directory.write(try GuideFiles.firstProjections(), to: "Schemas/shop/projections.yaml")
        let before = try commands[..<plan].map(run)
        #expect(before.last == #"{"key":"1","value":{"customer":"Ada Lovelace","total":"12.50"}}"# + "\n")
        for (name, text) in files { try directory.write(text, to: "Schemas/shop/" + name) }
        let after = try commands[plan...].map(run)
        try #require(after.count == 7)
        #expect(after[0].contains("nothing was changed"))
        #expect(after[4].contains(#"{"key":"2","value":{"customer":"Grace Hopper","total":"9.00"}}"#))
        #expect(try run("evstore --store shop query orders 2").contains(#""cents":900"#))
        #expect(try BuiltProgram().run("--store", directory.path + "/shop", "rollback").exit == 3)
    }
}

/// The folder `Schemas/shop` as the guide spells it, with the later definition joined to its projection.
enum GuideFiles {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func blocks(_ language: String) throws -> [String] {
        let guide = try String(contentsOf: root.appending(path: "Sources/Evstore/Evstore.docc/GettingStarted.md"), encoding: .utf8)
        return guide.components(separatedBy: "```\(language)\n").dropFirst().map { String($0.components(separatedBy: "```")[0]) }
    }

    /// What is typed after `$`, in its order.
    static func commands() throws -> [String] {
        try blocks("").joined().components(separatedBy: "\n").filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
    }

    /// As they are before there is a version 2.
    static func firstProjections() throws -> String { try blocks("yaml")[1] }

    static func all() throws -> [(name: String, text: String)] {
        let blocks = try blocks("yaml")
        try #require(blocks.count == 4)
        return [("v1.yaml", blocks[0]), ("projections.yaml", blocks[1] + blocks[3]), ("v2.yaml", blocks[2])]
    }
}
