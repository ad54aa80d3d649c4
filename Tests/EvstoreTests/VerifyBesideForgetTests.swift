import EventModel
import EvstoreTesting
import Migration
import TestSupport
import Testing

@testable import Evstore

@Suite("A verification beside a forget")
struct VerifyBesideForgetTests {
    @Test("finds no damage in read models that the forget has removed since it began, built anew or not", arguments: [false, true])
    func removed(deep: Bool) async throws {
        let temporary = try await SealedPersons.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(2))
        let context = store.context(Job("verify the store"))
        // What a verification knows that goes on to the read models now.
        let known = try context.state()
        #expect(try GenerationSet.findings(context, known, deep: deep).isEmpty)
        #expect(try await store.forget([StreamName("person-1")]).readModels > 0)
        #expect(try GenerationSet.findings(context, known, deep: deep).isEmpty)
        #expect(try await SealedPersons.people(store) == [#"{"name":""}"#, #"{"name":"Alan"}"#])
        #expect(try GenerationSet.findings(context, known, deep: deep).isEmpty)
    }
}
