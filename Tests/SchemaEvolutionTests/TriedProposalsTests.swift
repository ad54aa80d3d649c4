import EventModel
import EvstoreTesting
import Foundation
import JSONText
import SchemaTools
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("Proposals that were tried")
struct TriedProposalsTests {
    @Test(
        "whatever is proposed, once applied, mends its finding, brings no error and says why something is lost",
        arguments: (0 ..< 60).map { UInt64($0) + 1 })
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let place = try VersionDirectory(RandomVersions(&random).texts)
        let before = try place.verdict(place.texts)
        let said = try place.said()
        let proposals = try RepairTrial(place.texts, place.verdict).proposals(for: said)
        for finding in proposals where !finding.edits.isEmpty {
            var made = place.texts
            let isApplied = made.apply(finding.edits)
            try #require(isApplied, "seed \(seed): \(finding)")
            let after = try place.verdict(made)
            let (old, new) = (words(before), words(after))
            #expect(new.subtracting(old).isEmpty, "seed \(seed): \(finding) brings \(new.subtracting(old))\n\(place.shown)")
            #expect(!new.contains(finding.message), "seed \(seed): \(finding) is there still\n\(place.shown)")
            let history = try #require(after.history)
            let declared = Set(history.chain.steps.flatMap(\.losses).filter { !$0.because.isEmpty }.map(\.type))
            for type in try lossy(history) where !declared.contains(type) {
                #expect(Bool(false), "seed \(seed): \(finding): \(type) loses something without a word\n\(place.shown)")
            }
        }
    }

    private func words(_ verdict: RepairTrial.Verdict) -> Set<String> {
        Set(verdict.findings.filter { $0.severity == .error }.map(\.message))
    }

    /// Types of version 1 of which an event that has an image at version 2 does not come back as it was.
    private func lossy(_ history: History) throws -> Set<String> {
        var generator = EventGenerator(history, seed: 7)
        let viewer = PathRunner(history)
        var found: Set<String> = []
        for type in history.types(at: SchemaVersion(1)) {
            for _ in 0 ..< 20 {
                guard let event = generator.event(type: type, born: SchemaVersion(1)) else { continue }
                let text = String(decoding: event.payload, as: UTF8.self)
                do {
                    var back: [Seen] = []
                    for image in try viewer.images(type, text, from: 1, to: 2, validating: true) {
                        back += try viewer.images(image.type, image.json, from: 2, to: 1)
                    }
                    // A codec takes other forms of numbers and moments, says so in a note, and plan counts them apart.
                    let images = back.map { GroupPart(type: $0.type, payload: Array($0.json.utf8)) }
                    if !ValueForm.isSame(images, [GroupPart(type: type, payload: event.payload)]) { found.insert(type) }
                } catch { continue }
            }
        }
        return found
    }

    @Test("a proposal that would only change the mistake is not shown")
    func withheld() throws {
        // Neither format nor kind can be reached: the nearest name stands there already.
        let place = try VersionDirectory([
            "events: {E: {required: [a, b], properties: {a: {type: string}, b: {type: string}}}}",
            "upcast: [{on: E, do: [{move: {from: /c, path: /d}}]}]\nevents: {E: {required: [a, b], properties: {a: {type: string}, b: {type: string}}}}",
        ])
        let found = try RepairTrial(place.texts, place.verdict).proposals(for: place.said())
        #expect(found.count == 1 && found[0].edits.isEmpty && found[0].fix == nil, "\(found)")
    }

    @Test("fixes that are made at once give the text of fixes that are made one by one, wherever they stand")
    func atOnce() throws {
        var random = SeededGenerator.announced()
        var severalCount = 0
        for round in 0 ..< 12 {
            let members = (0 ..< 10).map { number in
                "m\(number): {\(["type", "typ", "tpye", "tipe"].randomElement(using: &random) ?? "type"): string}"
            }
            let inOneLine = "{properties: {\(members.joined(separator: ", "))}}"
            let inLines = "\n    properties:\n      " + members.joined(separator: "\n      ")
            let place = try VersionDirectory(["events:\n  E: " + (round % 2 == 0 ? inOneLine : inLines)])
            let trial = try RepairTrial(place.texts, place.readable)
            let found = try place.readable(place.texts).findings.filter { $0.isCertain && !$0.repairs.isEmpty }
            if found.isEmpty { continue }
            severalCount += found.count > 1 ? 1 : 0
            let fixed = try #require(try trial.fixes(for: found), "\(place.shown)")
            #expect(fixed.map(\.message) == found.map(\.message))
            var (together, alone) = (place.texts, place.texts)
            let isApplied = together.apply(fixed.flatMap(\.edits))
            #expect(isApplied)
            for _ in found {
                let next = try #require(try place.readable(alone).findings.first { $0.isCertain && !$0.repairs.isEmpty })
                let repair = try #require(try RepairTrial(alone, place.readable).repair(for: next))
                let isApplied = alone.apply(repair.edits)
                try #require(isApplied)
            }
            let path = place.texts.path("v1.yaml")
            #expect(try together.bytes(path: path) == alone.bytes(path: path), "\(place.shown)")
            #expect(try place.readable(together).findings.errors.isEmpty)
            // What stands in one place can't be fixed twice.
            #expect(try trial.fixes(for: [found[0], found[0]]) == nil)
        }
        #expect(severalCount > 0)
    }

    @Test("edits leave every other byte alone, and are refused where the lines are others")
    func bytes() throws {
        let place = try VersionDirectory([])
        let path = place.texts.path("v1.yaml")
        try Data("a: 1\r\n# é\r\nb: 2".utf8).write(to: URL(filePath: path))
        var texts = place.texts
        let isApplied = texts.apply([FileEdit(file: path, line: 3, remove: ["b: 2"], insert: ["b: 3", "c: 4"])])
        #expect(isApplied)
        #expect(try texts.bytes(path: path) == Array("a: 1\r\n# é\r\nb: 3\r\nc: 4".utf8))
        let isWrong = texts.apply([FileEdit(file: path, line: 1, remove: ["a: 2"], insert: [])])
        #expect(!isWrong)
    }
}

/// Version files in a directory of their own.
final class VersionDirectory {
    private let directory: TemporaryDirectory
    let texts: SchemaTexts
    let shown: String

    init(_ versions: [String]) throws {
        directory = try TemporaryDirectory()
        texts = SchemaTexts(directory: directory.path)
        shown = versions.joined(separator: "\n---\n")
        for (index, text) in versions.enumerated() {
            try directory.write("evstore: 1\nversion: \(index + 1)\n\(text)\n", to: "v\(index + 1).yaml")
        }
    }

    /// The verdict on texts that perhaps can't be read.
    func readable(_ texts: SchemaTexts) throws -> RepairTrial.Verdict {
        do { return try verdict(texts) } catch EvstoreError.schemaInvalid(let findings) { return RepairTrial.Verdict(findings, nil) }
    }

    func said() throws -> [Finding] { try History.load(texts).check() }

    func verdict(_ texts: SchemaTexts) throws -> RepairTrial.Verdict {
        let history = try History.load(texts, reportsAll: true)
        return RepairTrial.Verdict(history.check(), history)
    }
}

/// Two versions of which the second was edited at random and says nothing of it.
struct RandomVersions {
    private static let kinds = [
        "{type: string}", "{type: integer}", "{type: number}", "{type: boolean}", "{type: string, enum: [\"yes\", \"no\"]}",
        "{type: string, enum: [red, blue]}", "{type: string, format: date-time}", "{type: string, format: date}",
        "{type: array, items: {type: string}}", "{type: object, required: [x], properties: {x: {type: string}}}",
    ]
    private static let names = ["title", "titel", "amount", "count", "person", "user", "state", "note", "day", "place"]

    private struct Member { var name, shape: String, isRequired: Bool }

    private(set) var texts: [String] = []

    init(_ random: inout SeededRandom) {
        var types: [(name: String, members: [Member])] = ["Placed", "Paid", "Sent"].prefix(Int.random(in: 1 ... 3, using: &random)).map {
            name in
            let count = Int.random(in: 1 ... 4, using: &random)
            return (name, Self.names.shuffled(using: &random).prefix(count).map { Self.member($0, &random) })
        }
        texts = [Self.text(types)]
        for _ in 0 ..< Int.random(in: 1 ... 3, using: &random) { Self.edit(&types, &random) }
        texts.append(Self.text(types))
    }

    private static func member(_ name: String, _ random: inout SeededRandom) -> Member {
        Member(name: name, shape: random.pick(kinds), isRequired: !random.once(in: 3))
    }

    private static func edit(_ types: inout [(name: String, members: [Member])], _ random: inout SeededRandom) {
        let type = Int.random(in: types.indices, using: &random)
        let free = names.filter { name in !types[type].members.contains { $0.name == name } }
        guard let member = types[type].members.indices.randomElement(using: &random) else {
            return types[type].members.append(Self.member(random.pick(free), &random))
        }
        switch Int.random(in: 0 ..< 9, using: &random) {
        case 0, 1: types[type].members[member].name = random.pick(free)
        case 2: types[type].members.remove(at: member)
        case 3: types[type].members.append(Self.member(random.pick(free), &random))
        case 4, 5: types[type].members[member].shape = random.pick(kinds)
        case 6: types[type].members[member].isRequired.toggle()
        case 7: types[type].name += "Anew"
        default:
            if types.count > 1 { types.remove(at: type) } else { types.append(("Lost", [Self.member("id", &random)])) }
        }
    }

    private static func text(_ types: [(name: String, members: [Member])]) -> String {
        "events:\n"
            + types.map { type in
                let required = type.members.filter(\.isRequired).map(\.name).joined(separator: ", ")
                return "  \(type.name):\n    required: [\(required)]\n    properties: {"
                    + type.members.map { "\($0.name): \($0.shape)" }.joined(separator: ", ") + "}\n"
            }.joined()
    }
}
