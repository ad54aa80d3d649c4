import EventModel
import Evstore
import EvstoreTesting
import TestSupport
import Testing

@testable import Projections
@testable import SchemaEvolution

/// A block `wrong` of a page: versions, and lines that say what is found in what: `wrap: {path: /o} => OPS309 wrap is for a scalar, …`.
///
/// A line is an op of version 2 on every type, an op on events, a `step` (all ops of version 2), a `shape` (of a member of version 1), an
/// `event` (of version 1), a `file` (version 1), or the `rows` of a projection.
struct WrongExample: Sendable, CustomTestStringConvertible {
    let block: DocPage.Block
    private var versions: [String: String] = [:]
    private var cases: [(given: String, found: String)] = []

    static let all = PageExample.blocks("wrong").map { WrongExample($0) }

    var testDescription: String { "\(block.page), line \(block.line)" }

    private init(_ block: DocPage.Block) {
        self.block = block
        for text in block.texts {
            let line = text.replacing(/\n */, with: " ")
            if let arrow = line.firstRange(of: " => ") {
                cases.append((String(line[..<arrow.lowerBound]), String(line[arrow.upperBound...])))
            } else if let colon = text.firstRange(of: ": ") {
                versions[String(text[..<colon.lowerBound])] = String(text[colon.upperBound...])
            }
        }
    }

    func run() throws {
        #expect(!cases.isEmpty, "\(testDescription)")
        for (given, found) in cases {
            let words = found.split(separator: " ", maxSplits: 2).map(String.init)
            let severity = Finding.Severity.allKnown[words[0]]
            let wanted = severity == nil ? found : words.dropFirst().joined(separator: " ")
            let findings = try findings(given).filter { $0.severity == severity ?? .error }
            let seen = findings.map { "\($0.id) \($0.message)" }
            // A message about an op begins with its type and place in the list, which the page leaves out.
            let isThere = findings.first.map { first in
                let said = wanted.dropFirst(first.id.count + 1)
                return wanted.hasPrefix(first.id + " ") && (first.message == said || first.message.hasSuffix(": " + said))
            }
            #expect(isThere == true, "\(testDescription): \(given) => \(seen.first ?? "nothing")")
        }
    }

    private func findings(_ given: String) throws -> [Finding] {
        let colon = try #require(given.firstRange(of: ": "), "\(given)")
        let (name, value) = (String(given[..<colon.lowerBound]), String(given[colon.upperBound...]))
        func version(_ number: Int, _ events: String, _ step: String? = nil) -> String {
            "evstore: 1\nversion: \(number)\n" + (step.map { "upcast: \($0)\n" } ?? "") + "events: \(events)\n"
        }
        let first = versions["v1"] ?? "{E: {properties: {}}}"
        let second = versions["v2"] ?? first
        switch name {
        case "shape": return Self.found([version(1, "{E: {properties: {a: \(value)}}}")])
        case "event": return Self.found([version(1, "{E: \(value)}")])
        case "file": return Self.found([value])
        case "rows":
            let rows = value.hasPrefix("[") ? value : "[\(value)]"
            return Self.found([version(1, first)], "evstore: 1\nprojections:\n  rows: \(rows)\n")
        case "step": return Self.found([version(1, first), version(2, second, value)])
        case _ where OpRegistry.eventOps.contains { $0.name == name }:
            return Self.found([version(1, first), version(2, second, "[{\(given)}]")])
        default: return Self.found([version(1, first), version(2, second, "[{on: all, do: [{\(given)}]}]")])
        }
    }

    /// What is found in files, in the order in which it is found.
    static func found(_ versions: [String], _ projections: String? = nil) -> [Finding] {
        do {
            let schemas = try SchemaFiles(versions: versions, projections: projections).load()
            return schemas.history.check() + schemas.definitions.check(against: schemas.history)
        } catch EvstoreError.schemaInvalid(let findings) {
            return findings
        } catch {
            return [Finding(id: "", message: "\(error)")]
        }
    }
}

extension Finding.Severity {
    fileprivate static let allKnown: [String: Finding.Severity] = ["warning": .warning, "note": .note]
}
