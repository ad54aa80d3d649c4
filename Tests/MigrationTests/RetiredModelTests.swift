import EventLog
import EventModel
import TestStores
import Testing

@testable import Migration
@testable import Projections

@Suite("Read models that a forget has marked before it removes them")
struct RetiredModelTests {
    @Test("are sound while the store names them; no later build takes them up, as it does unmarked ones", arguments: [false, true])
    func taken(isRetired: Bool) async throws {
        var options = Options()
        options.secret = .key([UInt8](1 ... 32))
        let store = try OrdersStore(options: options)
        try await store.place(1, name: "ada", born: 1)
        let context = store.context()
        try await MissingGenerations.build(context, at: SchemaVersion(1))
        let (before, digests) = (Set(store.generations), try store.liveDigests())
        if isRetired { for name in before { try Generation.retire(named: name, in: store.log.path) } }
        #expect(try GenerationSet.findings(context, store.state, deep: true).isEmpty && store.liveDigests() == digests)
        // A process that is killed here has removed none.
        try await store.log.changing { update in update.state.generations = [:] }
        try await MissingGenerations.build(context, at: SchemaVersion(1))
        #expect(try !before.isEmpty && store.liveDigests() == digests)
        #expect(Set(store.generations).isDisjoint(with: before) == isRetired && store.generations.count == before.count)
    }
}
