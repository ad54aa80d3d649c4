import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A worked example that was right until one thing was changed in the days before a version's release, and what must say so.
struct DomainVariant: CustomTestStringConvertible, Sendable {
    let what: String
    /// The version that is not released yet; neither is any that follows.
    let version: Int
    let file: String
    let old: String
    let new: String
    /// `file:line:column: severity id`, as it is printed.
    let finding: String
    /// How many findings are mended at most until there is none, one after the other.
    let steps: Int
    /// Whether every fixture is then seen as it was before; where it is not, its author has a value to choose.
    let seen: Bool

    init(
        _ what: String, _ version: Int, in file: String? = nil, _ old: String, _ new: String, _ finding: String, steps: Int = 1,
        seen: Bool = true
    ) {
        (self.what, self.version, self.file) = (what, version, file ?? "v\(version).yaml")
        (self.old, self.new, self.finding, self.steps, self.seen) = (old, new, finding, steps, seen)
    }

    var testDescription: String { what }
}

@Suite("Fixes of the worked examples that work as they are printed")
struct DomainMendingTests {
    @Test("packages", arguments: brokenPackages) func packages(_ variant: DomainVariant) throws { try mend(variant, in: "packages") }
    @Test("vault", arguments: brokenVault) func vault(_ variant: DomainVariant) throws { try mend(variant, in: "vault") }
    @Test("settings", arguments: brokenSettings) func settings(_ variant: DomainVariant) throws { try mend(variant, in: "settings") }
    @Test("saves", arguments: brokenSaves) func saves(_ variant: DomainVariant) throws { try mend(variant, in: "saves") }
    @Test("cycles", arguments: brokenCycles) func cycles(_ variant: DomainVariant) throws { try mend(variant, in: "cycles") }
    @Test("reminders", arguments: brokenReminders) func reminders(_ variant: DomainVariant) throws { try mend(variant, in: "reminders") }

    @Test("a fix that another op than the right one would be is noticed: the fixtures are seen otherwise")
    func otherwise() throws {
        let library = try Library(domain: "vault", before: 4)
        try library.change("v4.yaml", "copy: {from: /createdAt, path: /secretChangedAt}", "add: {path: /secretChangedAt, from: $time}")
        #expect(try library.verdict().exits == [0, 0])
        let outcome = try library.run("fixtures", "verify")
        #expect(outcome.exit == 3 && outcome.output.contains("LOG005"), "\(outcome.output)")
    }

    private func mend(_ variant: DomainVariant, in domain: String) throws {
        let library = try Library(domain: domain, before: variant.version)
        try library.change(variant.file, variant.old, variant.new)
        var (exits, output) = try library.verdict()
        #expect(output.components(separatedBy: "\n").contains { $0.hasPrefix(variant.finding) }, "\(output)")
        var finding: String? = variant.finding
        for step in 1 ... variant.steps {
            // One proposal may mend what it took several for.
            guard step == 1 || finding != nil else { break }
            let place = try #require(finding, "step \(step): nothing is left that could be mended\n\(output)")
            let edits = try #require(try PrintedEdit.of(place, in: output), "\(place) is not in\n\(output)")
            try #require(!edits.isEmpty, "\(place) has no edits\n\(output)")
            try library.apply(edits)
            (exits, output) = try library.verdict()
            finding = try PrintedEdit.mendable(in: output)
        }
        #expect(exits == [0, 0] && !output.contains(": warning "), "\(output)")
        let fixtures = try library.run("fixtures", "verify")
        #expect((fixtures.exit == 0) == variant.seen, "\(fixtures.output)\(fixtures.errors)")
    }
}
