import EvstoreTesting
import Foundation
import Testing

private let sqlite = "/usr/bin/sqlite3"

@Suite("The guides")
struct GuideTests {
    static let pages = ["GettingStarted", "InAService", "Operating", "TestingYours"]
    static let pagesWithSQLite = ["FromSQLite", "FromEventStores"]

    @Test("work word for word, and print what they show", arguments: pages)
    func follow(_ page: String) throws { try Guide(page).follow() }

    @Test(
        "that begin with another database work word for word too",
        .enabled(if: FileManager.default.isExecutableFile(atPath: sqlite), "tools/setup installs sqlite3"),
        arguments: pagesWithSQLite)
    func followWithSQLite(_ page: String) throws { try Guide(page).follow() }

    @Test("show Swift that is compiled as it stands", arguments: pages + pagesWithSQLite)
    func swift(_ page: String) throws {
        let sources = try ["GuideShop/main.swift", "GuideService/main.swift", "CLITests/GuideExampleTests.swift"].map {
            try String(contentsOf: Guide.root.appending(path: "Tests/" + $0), encoding: .utf8)
        }
        for block in try Guide(page).blocks where block.language == "swift" {
            let place = "\(page).md:\(block.line)"
            if Guide.program(block) != nil {
                #expect(sources.contains(block.text), "\(place) is not the program that is compiled")
            } else {
                #expect(sources.contains { stands(block.text, in: $0) }, "\(place) is not compiled anywhere")
            }
        }
    }

    /// Whether the lines stand there together, however far they are indented.
    private func stands(_ text: String, in source: String) -> Bool {
        func lines(_ text: String) -> [String] {
            text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
        let (shown, all) = (lines(text), lines(source))
        return all.indices.contains { all[$0...].starts(with: shown) }
    }

    @Test("are found wanting where a line is missing, added or another, and `…` stands for what may differ")
    func strictness() {
        let output = "made shop: v1\nrun 1   2026-11-23   ok\nwell\n"
        for shown in [output, "made shop: v1\n…\nwell\n", "made … v1\nrun 1   …   ok\nwell\n", "…\n"] {
            #expect(Guide.isShown(output, by: shown), "\(shown)")
        }
        for shown in ["made shop: v1\n", output + "more\n", "made … v2\n…\n", "…\nrun 2…\nwell\n", "…\nwel\n"] {
            #expect(!Guide.isShown(output, by: shown), "\(shown)")
        }
    }

    @Test("say where something is not run, and why, and hardly anything is not")
    func honesty() throws {
        let all = try (Self.pages + Self.pagesWithSQLite).flatMap { try Guide($0).blocks }.filter { $0.language == "sh" }
        let left = all.filter { !$0.isRun }
        #expect(left.allSatisfy { $0.firstLine.count > 40 })
        #expect(left.count * 4 < all.count, "\(left.count) of \(all.count) blocks are not run")
    }
}
