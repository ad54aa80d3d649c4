import EventModel
import Testing

@testable import SchemaEvolution

@Suite("What does not go in one pass is said")
struct OpByOpTests {
    private func opByOp(_ history: History, _ type: String = "E", from born: Int = 1, to target: Int = 2) throws -> SlowPathReport? {
        try history.opByOp(type, born: SchemaVersion(born), to: SchemaVersion(target))
    }

    @Test("nothing is said of ops that have a form in one pass, up and down, nor of events that stay as they are")
    func onePass() throws {
        let both = try history(
            before: "required: [a], properties: {a: {type: string}}", ops: "{move: {from: /a, path: /b}}",
            after: "required: [b], properties: {b: {type: string}}")
        #expect(try opByOp(both) == nil && opByOp(both, from: 2, to: 1) == nil && opByOp(both, to: 1) == nil)
    }

    @Test("a step in Swift is named, with its version")
    func swift() throws {
        let swift = try history(
            before: "properties: {a: {type: string}}", ops: "{swift: {id: s, revision: 1, class: widen, reads: [/a], writes: [/b]}}",
            after: "properties: {a: {type: string}, b: {type: string}}")
        let found = try #require(try opByOp(swift.with(SwiftSteps([AnyStep(id: "s")]))))
        #expect(found.isForAll && found.causes.count == 1)
        #expect(found.causes[0].hasPrefix("v2 swift"), "\(found.words)")
    }

    @Test("more members than a program's masks hold, merged events and data from before versions existed are named")
    func others() throws {
        let members = (0 ..< 70).map { "m\($0): {type: string}" }.joined(separator: ", ")
        let wide = try history(
            before: "properties: {\(members)}", ops: "{add: {path: /new, value: 1}}",
            after: "properties: {\(members), new: {type: integer}}")
        #expect(try opByOp(wide) == SlowPathReport(isForAll: true, causes: ["an object has more than 64 members, or is a map"]))
        let merging = try history([
            "events: {A: {required: [k], properties: {k: {type: string}}}, B: {required: [k], properties: {k: {type: string}}}}",
            "events: {M: {required: [k], properties: {k: {type: string}}}}\nupcast: [{merge-events: {types: [A, B], into: M, on: /k}}]",
        ])
        #expect(try opByOp(merging, "A")?.isForAll == true)
        #expect(try opByOp(wide, "E", from: 0)?.causes == ["it is data from before versions existed"])
    }
}
