import EventModel
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@testable import Projections
@testable import SchemaEvolution

@Suite("The reference pages")
struct ReferenceTests {
    @Test("every example is as the page says, in each direction that it says", arguments: PageExample.all)
    func example(_ example: PageExample) async throws {
        #expect(!example.cases.isEmpty && !example.members.isEmpty)
        try await example.run()
    }

    @Test("what is written wrongly is found as the page says", arguments: WrongExample.all)
    func wrong(_ example: WrongExample) throws { try example.run() }

    @Test("whole files that the pages show are read without an error, and no block is left that nothing reads")
    func wholeFiles() throws {
        for name in PageExample.pages {
            #expect(try Set(DocPage(name).blocks.map(\.kind)).isSubset(of: ["example", "wrong", "yaml"]), "\(name)")
        }
        func shown(_ page: String) throws -> String { try #require(try DocPage(page).blocks("yaml").first).text }
        func errors(_ versions: [String], _ projections: String? = nil) -> [String] {
            WrongExample.found(versions, projections).filter { $0.severity == .error }.map(\.diagnosticLine)
        }
        func first(_ types: [String]) -> String {
            let members = "id: {type: string}, total: {type: string}, customer: {type: string}"
            let shape = #"{stream: "order-{/id}", required: [id, total], properties: {\#(members)}}"#
            return "evstore: 1\nversion: 1\nevents: {\(types.map { "\($0): \(shape)" }.joined(separator: ", "))}\n"
        }
        let before = first(["OrderPlaced"]).replacing(", customer: {type: string}", with: "")
        #expect(errors([before, try shown("VersionFiles")]) == [])
        #expect(errors([first(["OrderPlaced", "OrderPaid", "OrderVoided"])], try shown("ProjectionFiles")) == [])
    }

    @Test("every op has a section with an example, and every such section is about an op")
    func ops() throws {
        let page = try DocPage("Ops")
        let names = OpRegistry.payloadOps.map { $0.name } + OpRegistry.eventOps.map { $0.name }
        #expect(page.names.sorted() == Set(names).sorted())
        for name in names { #expect(PageExample.all.contains { $0.block.section == name }, "\(name)") }
    }

    @Test("every codec and every policy has a section, and every such section is about one")
    func codecs() throws {
        let page = try DocPage("Codecs")
        let codecs = CodecRegistry.names
        for name in codecs { #expect(PageExample.all.contains { $0.block.section == name }, "\(name)") }
        let members = try Set(MemberTaker.all.flatMap { try $0.known() })
        let operands = try #require(page.sections.first { $0.heading == "Operands" }).listed
        #expect(Set(operands).isSubset(of: members))
        #expect(page.names.sorted() == (codecs + members.subtracting(operands)).sorted())
    }

    @Test("the members of every op and codec are those that its section lists", arguments: MemberTaker.all)
    func members(_ taker: MemberTaker) throws {
        let section = try #require(try DocPage(taker.page).section(taker.name), "\(taker.name)")
        #expect(section.listed.sorted() == (try taker.known()).sorted(), "\(taker.name)")
    }

    @Test("the table of the ops says of each what its first example shows")
    func table() throws {
        let page = try DocPage("Ops")
        let rows = try #require(page.sections.first { $0.heading == "All ops" }).rows
        #expect(rows.map { $0[0] } == page.names.map { "`\($0)`" })
        for row in rows {
            let example = try #require(PageExample.all.first { "`\($0.block.section ?? "")`" == row[0] && $0.block.page == "Ops" })
            #expect(row[1] == example.member("class") && "\(row[2]) \(row[3])" == example.member("one pass"), "\(row[0])")
        }
    }

    @Test("the page of version files lists the members of a file, the keywords of shapes, the types and the formats")
    func versionFiles() throws {
        let page = try DocPage("VersionFiles")
        func listed(_ heading: String) throws -> [String] { try #require(page.sections.first { $0.heading == heading }).listed.sorted() }
        #expect(try listed("Members of the file") == VersionFile.members.sorted())
        #expect(try listed("Keywords of shapes") == ShapeReader.keywords.sorted())
        #expect(try listed("Members of a case") == (Adopt.members + ["otherwise"]).sorted())
        let types = ["object", "array", "string", "integer", "number", "boolean", "null"]
        #expect(try listed("Types") == types.sorted() && types.allSatisfy { Shape.Kind(rawValue: $0) != nil })
        #expect(try listed("Formats") == Shape.Format.allCases.map(\.rawValue).sorted())
    }

    @Test("the page of projection files lists the members of a definition and of a fold, the sources and the guards")
    func projectionFiles() throws {
        let page = try DocPage("ProjectionFiles")
        func listed(_ heading: String) throws -> [String] { try #require(page.sections.first { $0.heading == heading }).listed.sorted() }
        func known(_ definition: String) -> [String] {
            WrongExample.found(
                ["evstore: 1\nversion: 1\nevents: {E: {properties: {n: {type: number}}}}\n"],
                "evstore: 1\nprojections:\n  rows: [\(definition)]\n"
            ).flatMap { MemberTaker.known(in: $0) }.sorted()
        }
        #expect(try listed("Members of a definition") == DeclaredProjection.members.sorted())
        #expect(try listed("Members of a fold") == known("{since: 1, key: $stream, on: {E: {zzzzzzzz: 1}}}"))
        #expect(try listed("Guards") == known("{since: 1, key: $stream, on: {E: {when: {zzzzzzzz: 1}}}}"))
        #expect(page.names.sorted() == Edit.Kind.allCases.map(\.rawValue).sorted())
        for name in page.names { #expect(PageExample.all.contains { $0.block.section == name && $0.block.page == page.name }, "\(name)") }
        let none = WrongExample.found(
            ["evstore: 1\nversion: 1\nevents: {E: {properties: {}}}\n"],
            "evstore: 1\nprojections:\n  rows: [{since: 1, key: $zzz, on: {E: delete}}]\n")
        let sources = try #require(none.first?.fix?.split(separator: "the sources are a pointer, ").last)
        let texts = sources.replacing(" and ", with: ", ").split(separator: ", ").map(String.init)
        #expect(try listed("Sources").filter { $0.hasPrefix("$") } == texts.sorted())
    }
}

/// An op or a codec, asked which members it takes by giving it one that none has.
struct MemberTaker: Sendable, CustomTestStringConvertible {
    enum Kind { case payload, event, codec }

    let page, name: String
    let kind: Kind

    var testDescription: String { name }

    static let all: [MemberTaker] =
        OpRegistry.payloadOps.filter { $0 != Reserve.self }.map { MemberTaker(page: "Ops", name: $0.name, kind: .payload) }
        + OpRegistry.eventOps.map { MemberTaker(page: "Ops", name: $0.name, kind: .event) }
        + CodecRegistry.codecs.map { MemberTaker(page: "Codecs", name: $0.name, kind: .codec) }

    func known() throws -> [String] {
        let given =
            switch kind {
            case .payload: "{on: all, do: [{\(name): {zzzzzzzz: 1}}]}"
            case .event: "{\(name): {zzzzzzzz: 1}}"
            case .codec: "{on: all, do: [{convert: {path: /a, to: string, using: {\(name): {zzzzzzzz: 1}}}}]}"
            }
        let events = "events: {E: {properties: {a: {type: string}}}}\n"
        let findings = WrongExample.found(
            ["evstore: 1\nversion: 1\n\(events)", "evstore: 1\nversion: 2\nupcast: [\(given)]\n\(events)"])
        let first = try #require(findings.first)
        if first.message == "\(name) takes no arguments" { return [] }
        #expect(first.message == "\(name) has no member \"zzzzzzzz\"")
        return Self.known(in: first)
    }

    /// The members that a finding names as those there may be.
    static func known(in finding: Finding) -> [String] {
        finding.fix?.firstRange(of: " may have: ").flatMap { range in
            finding.fix?[range.upperBound...].components(separatedBy: ", ")
        } ?? []
    }
}
