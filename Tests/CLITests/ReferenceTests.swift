import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The reference of the command line")
struct ReferenceTests {
    private static let groff = "/usr/bin/groff"
    private let tool = BuiltProgram(path: Checkout.path("tools/reference"))

    @Test("its page says what the commands say of themselves")
    func page() throws {
        let outcome = try tool.run("--check", "--program", BuiltProgram().path)
        #expect(outcome.exit == 0, "\(outcome.output)\(outcome.errors)")
    }

    @Test("a command whose help was changed is a difference, which is shown")
    func difference() throws {
        let directory = try TemporaryDirectory()
        try directory.write("#!/bin/sh\n'\(BuiltProgram().path)' \"$@\" | sed 's/Makes a new, empty store/Makes a shop/'\n", to: "script")
        // Written by another process: a child that a test beside this one is starting may still have open what this one has written, and
        // then nobody can run it.
        let made = try BuiltProgram(path: "/usr/bin/install").run("-m", "755", directory.path + "/script", directory.path + "/evstore")
        #expect(made.exit == 0, "\(made.errors)")
        let outcome = try tool.run("--check", "--program", directory.path + "/evstore")
        #expect(outcome.exit == 1)
        #expect(
            outcome.lines.contains("-Makes a new, empty store.") && outcome.lines.contains("+Makes a shop."),
            "\(outcome.output)\(outcome.errors)")
    }

    @Test("every command that the help lists has a man page, and every option of the whole stands in evstore(1)")
    func manual() throws {
        let directory = try TemporaryDirectory()
        #expect(try tool.run("--man", directory.path, "--program", BuiltProgram().path).exit == 0)
        let help = try BuiltProgram().run("--help").lines
        let sections = help.drop { !$0.hasSuffix("SUBCOMMANDS:") }
        let names = sections.compactMap { $0.prefixMatch(of: #/  ([a-z]+) /#).map { String($0.1) } }
        #expect(names.contains("replay"))
        let pages = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(pages == (["evstore.1"] + names.map { "evstore-\($0).1" }).sorted())
        let whole = try String(contentsOfFile: directory.path + "/evstore.1", encoding: .utf8)
        for option in ["store", "schemas", "json", "progress"] { #expect(whole.contains("\\-\\-\(option)")) }
    }

    @Test("its man pages are ones that groff takes without a word", .enabled(if: FileManager.default.isExecutableFile(atPath: groff)))
    func manualIsSound() throws {
        let directory = try TemporaryDirectory()
        #expect(try tool.run("--man", directory.path, "--program", BuiltProgram().path).exit == 0)
        let pages = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        let outcome = try BuiltProgram(path: Self.groff).run(["-man", "-ww", "-z", "-Kutf8"] + pages.map { directory.path + "/" + $0 })
        #expect(!pages.isEmpty && outcome.exit == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    }

    @Test("the change log begins with the version that the program prints")
    func version() throws {
        let log = try DocPage("ChangeLog").text
        let newest = try #require(log.firstMatch(of: #/\n## (\d+\.\d+\.\d+)/#))
        #expect(try BuiltProgram().run("--version").output == newest.1 + "\n")
    }
}
