import EventModel
import Evstore
import EvstoreCluster
import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("A server that lies", .serialized)
struct LyingServerTests {
    @Test("whatever a server answers, a node says an error or what is so, and has its events afterwards")
    func lies() async throws {
        let all = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let proxy = try LyingProxy(to: server.port)
            let a = try await shop.join("a")
            try await shop.join("b", port: proxy.port)
            try await shop.close("b")
            let node = try await shop.open("b", deadline: 1)
            var outcomes: [String: Int] = [:]
            for number in 0 ..< 200 {
                var generator = all
                for _ in 0 ... number { _ = generator.next() }
                try await a.append([ShopCluster.placed("\(number % 7)", number)])
                proxy.lie(generator, oneIn: [1, 4, 12][number % 3])
                let outcome = await Self.code {
                    switch number % 4 {
                    case 0: _ = try await shop.cluster(port: proxy.port).status()
                    case 1: _ = try await node.maintenance.rescue { _ in true }
                    case 2:
                        try await StoreMaintenance.join(
                            shop.cluster(port: proxy.port), as: "c\(number)", into: shop.path("c\(number)"),
                            options: ShopCluster.options(deadline: 1))
                    default: try await node.catchUp()
                    }
                }
                outcomes[outcome, default: 0] += 1
                proxy.lie(nil)
            }
            print("outcomes \(outcomes)")
            #expect(outcomes["none", default: 0] > 0 && outcomes.count > 2)
            // A lie about a later timeline is believed, as the truth would be: then it takes somebody's word that the server is the right one.
            do { try await ShopCluster.patiently { try await node.catchUp() } } catch EvstoreError.clusterMismatch {
                try await ShopCluster.patiently { try await node.maintenance.acceptServer() }
                try await ShopCluster.patiently { try await node.catchUp() }
            }
            #expect(try await ShopCluster.lines(node) == ShopCluster.lines(a))
            try await ShopCluster.patiently { try await node.append([ShopCluster.placed("last", id: "last")]) }
            #expect(try await node.maintenance.verify(deep: true).ok)
            try await shop.close()
        }
    }

    private static func code(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "none"
        } catch { return (error as? EvstoreError)?.code ?? "\(type(of: error))" }
    }
}
