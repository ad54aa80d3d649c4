#if Service
    import Evstore
    import EvstoreService
    import EvstoreTesting
    import Foundation
    import TestSupport
    import Testing

    @testable import EvstoreWeb

    @Suite("The server's clients", .timeLimit(.minutes(10)))
    struct ServerTests {
        private static let version = """
            evstore: 1
            version: 1
            events:
              NoteTaken:
                stream: "note-{/id}"
                required: [id]
                properties:
                  id: {type: string}
            """

        @Test("a client that is gone keeps its place until its request is no longer worked on")
        func goneClient() async throws {
            let temporary = try await TemporaryStore.make(SchemaFiles(versions: [Self.version]).load())
            let (isAsked, mayAnswer) = (Flag(), Flag())
            let look = BackupLook("backups", patience: .patience) { _, _ in
                isAsked.set()
                while !mayAnswer.isSet { usleep(1_000) }
                return []
            }
            let registry = PrometheusRegistry()
            let server = WebServer(
                temporary.store, StoreMetrics(factory: registry), registry, backups: nil, at: .loopback(port: 0),
                page: Page(temporary.store, backups: look))
            let running = Task { try await server.run { _ in } }
            while server.port == nil { try await Task.sleep(for: .milliseconds(5)) }
            let port = try #require(server.port)
            let client = try PlainClient(port: port, saying: "GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            while !isAsked.isSet { try await Task.sleep(for: .milliseconds(5)) }
            client.reset()
            try await Task.sleep(for: .milliseconds(300))
            #expect(server.clientCount == 1)
            mayAnswer.set()
            while server.clientCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
            await server.stop()
            try await running.value
        }
    }
#endif
