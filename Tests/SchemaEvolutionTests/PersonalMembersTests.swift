import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

@Suite("What stays of a payload without its personal members")
struct PersonalMembersTests {
    private let members: PersonalMembers?

    init() throws {
        let file = try history([
            """
            events:
              E:
                properties:
                  id: {type: string}
                  name: {type: string, personal: true}
                  born: {type: [string, "null"], personal: true}
                  age: {type: integer, minimum: 18, personal: true}
                  at: {type: object, properties: {street: {type: string, personal: true}, city: {type: string}}}
                  seen: {type: array, items: {type: object, properties: {by: {type: string, personal: true}, n: {type: integer}}}}
                  notes: {type: object, additionalProperties: {type: string, personal: true}}
            """
        ])
        members = PersonalMembers(try file.requireShape(of: "E", at: SchemaVersion(1)))
    }

    private func left(_ payload: String, _ substitute: PersonalMembers.Substitute = .emptiest) throws -> String? {
        var rest = ByteBuffer()
        let isChanged = try #require(members).leaveOut(of: Array(payload.utf8).lent, by: substitute, into: &rest)
        let text = String(decoding: rest.array(), as: UTF8.self)
        if !isChanged { #expect(text == payload) }
        return isChanged ? text : nil
    }

    @Test("each personal value is replaced, at any depth, and the rest stays as it is spelled")
    func rest() throws {
        for (given, kept) in [
            (
                #" { "id" : "1\u0041" , "name":"Ann" ,"at":{"street":"x","city":"B"}} "#,
                #" { "id" : "1\u0041" , "name":"" ,"at":{"street":"","city":"B"}} "#
            ),
            (#"{"seen":[{"by":"Bo","n":1.0}, {"n":2}],"notes":{"k":"v"}}"#, #"{"seen":[{"by":"","n":1.0}, {"n":2}],"notes":{"k":""}}"#),
        ] { #expect(try left(given) == kept) }
    }

    @Test("null stands where the shape allows it, an empty text where that fits, else the simplest value that does")
    func substitutes() throws {
        #expect(try left(#"{"name":"Ann","born":"1990","age":44}"#) == #"{"name":"","born":null,"age":18}"#)
        let sample = try #require(try left(#"{"name":"Ann","born":"1990","age":44}"#, .sample))
        #expect(!sample.contains("Ann") && !sample.contains("1990") && !sample.contains("null"))
    }

    @Test("a name that is spelled with escapes is found all the same")
    func escapedName() throws {
        #expect(try left(#"{"n\u0061me":"Ann"}"#) == #"{"n\u0061me":""}"#)
    }

    @Test(
        "nothing is left out where nothing is personal, or what is has been forgotten already",
        arguments: [
            #"{}"#, #"{"id":"1"}"#, #"{"name":"","born":null,"age":null}"#, #"{"name":"","age":18,"seen":[],"notes":{}}"#,
        ])
    func nothing(payload: String) throws { #expect(try left(payload) == nil) }
}
