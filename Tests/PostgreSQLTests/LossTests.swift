import Glibc
import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("Connections that are lost")
struct LossTests {
    private func process(of connection: PostgresConnection) throws -> Int64 {
        try #require(try connection.run("SELECT pg_backend_pid()", deadline: soon).int(0, 0))
    }

    /// Does something to a process of the server on a thread of its own, once that process waits for something.
    private func meanwhile(
        _ server: PostgresServer, _ id: Int64, waitsFor event: String, _ body: @escaping @Sendable () -> Void
    ) throws -> WorkerThread {
        try WorkerThread.start("meanwhile") {
            do { try server.waitUntil(backend: id, waitsFor: event) } catch { Issue.record(error) }
            body()
        }
    }

    @Test("who is ended or killed in the middle does not know what became of the statement; the next connection works")
    func killed() throws {
        try withPostgres(.init(fsync: false)) { server in
            for signal in [SIGTERM, SIGKILL] {
                let connection = try server.connect()
                let id = try process(of: connection)
                let thread = try meanwhile(server, id, waitsFor: "PgSleep") { server.send(signal, toBackend: id) }
                let error = try #require(failure(connection, "SELECT pg_sleep(300)"))
                thread.join()
                #expect(error.kind == .connectionLost && connection.isBroken, "\(error)")
                #expect(error.sqlState == (signal == SIGTERM ? "57P01" : nil), "\(error)")
                #expect(!error.message.contains("invalid socket"))
                #expect(try server.connect().run("SELECT 1", deadline: soon).int(0, 0) == 1)
            }
        }
    }

    @Test("a connection that ended while it was idle is seen before anything is sent")
    func idle() throws {
        try withPostgres(.init(fsync: false)) { server in
            let connection = try server.connect()
            try server.restart()
            #expect(failure(connection, "SELECT 1")?.kind == .unreachable)
            #expect(connection.isBroken)
        }
    }

    @Test("a connection that hangs without an end is given up at the deadline, also while a statement is being sent")
    func hanging() throws {
        try withPostgres(.init(fsync: false)) { server in
            for size in [1, 64 << 20] {
                let bytes = [UInt8](repeating: 1, count: size)
                let took = try shortest(.seconds(3)) {
                    let connection = try server.connect()
                    let id = try process(of: connection)
                    server.send(SIGSTOP, toBackend: id)
                    defer { server.send(SIGCONT, toBackend: id) }
                    let start = Instant.now
                    let error = failure(connection, "SELECT length($1)", [.bytes(bytes)], deadline: start + .milliseconds(600))
                    // The deadline may have passed before anything was sent.
                    if error?.kind == .unreachable { return .patience }
                    #expect(error?.kind == .connectionLost && connection.isBroken)
                    return start.duration(to: .now)
                }
                #expect(took < .seconds(3))
            }
        }
    }

    @Test("a server that is killed while a large statement is being sent, with TLS and without, does not end this process")
    func killedWhileSending() throws {
        try withPostgres(.init(fsync: false, hasTLS: true)) { server in
            let bytes = [UInt8](repeating: 1, count: 64 << 20)
            for mode in ["require", "disable"] {
                var error: PostgresError?
                // On a busy machine it may be killed before anything is sent.
                for _ in 0 ..< 20 where error == nil || error?.kind == .unreachable {
                    let connection = try open(server.conninfo + " sslmode=\(mode)")
                    let id = try process(of: connection)
                    server.send(SIGSTOP, toBackend: id)
                    let thread = try WorkerThread.start("meanwhile") {
                        usleep(300_000)
                        server.send(SIGKILL, toBackend: id)
                    }
                    error = failure(connection, "SELECT length($1)", [.bytes(bytes)])
                    thread.join()
                    #expect(connection.isBroken)
                    _ = try server.connect()
                }
                #expect(error?.kind == .connectionLost)
            }
        }
    }

    @Test("a commit that is told to wait no longer for its standby is answered with a warning")
    func warning() throws {
        try withPostgres(.init(fsync: false)) { server in
            let standby = try server.makeStandby(synchronous: true)
            let (connection, other) = (try server.connect(), try server.connect())
            _ = try connection.run("CREATE TABLE t (id int)", deadline: soon)
            #expect(connection.warning == nil)
            standby.stop()
            let id = try process(of: connection)
            let thread = try meanwhile(server, id, waitsFor: "SyncRep") { server.send(SIGINT, toBackend: id) }
            _ = try connection.run("INSERT INTO t VALUES (1)", deadline: soon)
            thread.join()
            #expect(connection.warning?.contains("might not have been replicated") == true)
            #expect(try other.run("SELECT count(*) FROM t", deadline: soon).int(0, 0) == 1)
            _ = try connection.run("SELECT 1", deadline: soon)
            #expect(connection.warning == nil)
        }
    }

    @Test("a synchronous standby has what was answered, and takes over")
    func standby() throws {
        try withPostgres(.init(fsync: false)) { server in
            let standby = try server.makeStandby(synchronous: true)
            let both = "host=127.0.0.1,127.0.0.1 port=\(server.port),\(standby.port) user=postgres \(PostgresServer.patience)"
            _ = try open(both).run("CREATE TABLE t AS SELECT 7 AS n", deadline: soon)
            server.stop(.immediate)
            #expect(refusal(both)?.kind == .unreachable)
            try standby.promote()
            #expect(try open(both).run("SELECT n FROM t", deadline: soon).int(0, 0) == 7)
            try server.start()
            #expect(server.isRunning)
        }
    }
}
