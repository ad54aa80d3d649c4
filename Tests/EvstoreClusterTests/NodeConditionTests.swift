import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import TestSupport
import Testing

/// Appends of nodes with conditions over queries, which what other nodes append is judged by too.
@Suite("Conditions over queries on the nodes of a cluster", .timeLimit(.minutes(10)))
struct NodeConditionTests {
    private struct Made: Sendable {
        var condition: AppendCondition
        var type: String
        var outcome: Result<AppendReceipt, EvstoreError>
    }

    @Test("an append is made where nothing came that its condition excludes, from whichever node, and else is told the event that did")
    func nodes() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let nodes = [try await shop.join("a"), try await shop.join("b")]
            try await nodes[0].append([ShopCluster.placed("0"), ShopCluster.paid("0")])
            let made = try await withThrowingTaskGroup(of: [Made].self) { group in
                for number in 0 ..< 8 {
                    group.addTask {
                        var made: [Made] = []
                        for round in 0 ..< 8 {
                            let node = nodes[number % 2]
                            let event = try round % 2 == 0 ? ShopCluster.placed("\(number)", round) : ShopCluster.paid("\(number)")
                            let condition = try await node.read(matching: .type(event.type), at: 1).condition
                            do throws(EvstoreError) {
                                let receipt = try await node.append([event], unless: [condition])
                                made.append(Made(condition: condition, type: event.type, outcome: .success(receipt)))
                            } catch { made.append(Made(condition: condition, type: event.type, outcome: .failure(error))) }
                        }
                        return made
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            for node in nodes { try await node.catchUp() }
            let places = try await nodes[1].read(matching: .all, at: 1).events.map { (type: $0.type, position: $0.position) }
            for one in made {
                let after = one.condition.after?.position ?? .start
                switch one.outcome {
                case .success(let receipt):
                    let missed = places.first { $0.type == one.type && $0.position > after && $0.position < receipt.position }
                    #expect(missed == nil, "\(one.type) at \(receipt.position), known up to \(after)")
                case .failure(.conditionFailed(_, _, let position)):
                    let isThere = places.contains { $0.type == one.type && $0.position == position }
                    #expect(isThere && position > after, "\(one.type) refused for \(position), known up to \(after)")
                case .failure(let error): Issue.record(error)
                }
            }
            #expect(made.contains { if case .success = $0.outcome { true } else { false } })
            #expect(made.contains { if case .failure = $0.outcome { true } else { false } })
            // What a has just appended b does not have yet, and a condition that knows it is judged by b all the same.
            let last = try await nodes[0].append([ShopCluster.placed("last")])
            let known = AppendCondition(
                failIfMatches: .type("OrderPlaced"), after: Checkpoint(epoch: last.epoch, position: last.position), version: 1)
            try await nodes[1].append([ShopCluster.placed("last", 1)], unless: [known])
            try await shop.close()
        }
    }
}
