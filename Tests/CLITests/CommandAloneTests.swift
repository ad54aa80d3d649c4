import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import EvstoreCLI

@Suite("Commands read without the tree of all commands")
struct CommandAloneTests {
    /// The command lines of the docs, as words; those with pipes, files or shell words are left out.
    static let lines: [[String]] = {
        let directory = Checkout.path("Sources/Evstore/Evstore.docc")
        let pages = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let texts = pages.sorted().compactMap { try? String(contentsOfFile: directory + "/" + $0, encoding: .utf8) }
        let found = texts.flatMap { $0.matches(of: #/\bevstore ([a-z]+ [^`\n|<>$'"()*;&…\\]+)/#).map { String($0.1) } }
        return Array(Set(found.map { $0.split(separator: " ").map(String.init) })).sorted { $0.lexicographicallyPrecedes($1) }
    }()

    /// What the tree of all commands reads; nil where it reads none, or fails.
    private func ofTree(_ words: [String]) -> (any Command)? {
        do { return try RootCommand.parseAsRoot(words) as? any Command } catch { return nil }
    }

    @Test("a command that is read alone is the one that the whole tree reads, with the same values; what it can't read, the tree decides")
    func isSame() {
        var random = SeededGenerator.announced()
        var counts = (alone: 0, refused: 0)
        let options =
            Set(Self.lines.flatMap(\.self)).filter { $0.hasPrefix("-") }.sorted() + [
                "--help", "--version", "--generate-completion-script", "help", "--", "x", "7",
            ]
        for line in Self.lines {
            for round in 0 ..< 4 {
                var words = line
                if round > 0 {
                    words.insert(options.randomElement(using: &random) ?? "", at: Int.random(in: 0 ... words.count, using: &random))
                }
                if round == 2 { words.remove(at: Int.random(in: words.indices, using: &random)) }
                guard let alone = EvstoreCLI.commandAlone(words) else {
                    counts.refused += 1
                    continue
                }
                counts.alone += 1
                #expect("\(alone)" == ofTree(words).map { "\($0)" } ?? "none", "\(words)")
            }
        }
        #expect(counts.alone > 100 && counts.refused > 100, "\(counts)")
    }
}
