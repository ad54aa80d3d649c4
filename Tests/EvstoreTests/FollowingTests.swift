import Evstore
import EvstoreTesting
import Testing

@Suite("Following")
struct FollowingTests {
    static func placed(_ id: String) throws -> NewEvent { try Orders.placed(id, at: 1) }

    @Test("an inline append returns when the read model has passed its position")
    func inline() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        for index in 1 ... 5 {
            let receipt = try await store.append([try Self.placed("\(index)")], inline: ["orders"])
            let status = try #require(try store.projections().first { $0.name == "orders" })
            #expect(status.checkpoint?.position == receipt.position && status.rows == UInt64(index))
        }
        await #expect { try await store.append([try Self.placed("6")], inline: ["nothing"]) } throws: {
            ($0 as? EvstoreError)?.code == "unknownProjection"
        }
        #expect(try store.last().position == Position(6), "what follows an append does not undo it")
    }

    @Test(
        "a store that follows in the background keeps its read models at the log's end, whichever handle appends",
        .timeLimit(.minutes(20)))
    func background() async throws {
        let temporary = try await Orders.store(at: 1)
        var options = Options.forTests
        options.followsInBackground = true
        let service = try await EventStore.open(temporary.path, schemas: temporary.schemas, options: options)
        for index in 1 ... 40 { _ = try await temporary.store.append([try Self.placed("\(index)")]) }
        while try service.projections().contains(where: { $0.lag > 0 }) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try service.projections().first { $0.name == "orders" }?.rows == 40)
        try await service.close()
        _ = try await temporary.store.append([try Self.placed("41")])
        #expect(try temporary.store.projections().contains { $0.lag == 1 }, "closed, it follows no more")
    }

    @Test("following asks for read models that this program can fold, and up to a position")
    func upTo() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        try await store.follow()
        for index in 1 ... 5 { _ = try await store.append([try Self.placed("\(index)")]) }
        try await store.follow(["orders"], to: Position(3))
        #expect(try store.projections().first { $0.name == "orders" }?.checkpoint?.position ?? .start >= Position(3))
        let reader = try await temporary.open(readOnly: true)
        await #expect { try await reader.follow() } throws: { ($0 as? EvstoreError)?.code == "readOnly" }
    }
}
