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

    /// Runs a statement that takes long, and does something to its connection meanwhile.
    private func duringStatement(_ connection: PostgresConnection, _ body: @escaping @Sendable () -> Void) throws -> PostgresError? {
        let thread = try WorkerThread.start("meanwhile") {
            usleep(300_000)
            body()
        }
        defer { thread.join() }
        return failure(connection, "SELECT pg_sleep(300)", deadline: .now + .seconds(20))
    }

    @Test("who is ended or killed in the middle does not know what became of the statement; the next connection works")
    func killed() throws {
        try withPostgres(.init(fsync: false)) { server in
            for signal in [SIGTERM, SIGKILL] {
                let connection = try server.connect()
                let id = try process(of: connection)
                let error = try #require(try duringStatement(connection) { server.send(signal, toBackend: id) })
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
                let connection = try server.connect()
                let id = try process(of: connection)
                server.send(SIGSTOP, toBackend: id)
                defer { server.send(SIGCONT, toBackend: id) }
                let start = ContinuousClock.now
                let bytes = [UInt8](repeating: 1, count: size)
                let error = failure(connection, "SELECT length($1)", [.bytes(bytes)], deadline: start + .milliseconds(600))
                #expect(error?.kind == .connectionLost && connection.isBroken)
                #expect(.now - start < .seconds(3))
            }
        }
    }

    @Test("a server that is killed while a large statement is being sent, with TLS and without, does not end this process")
    func killedWhileSending() throws {
        try withPostgres(.init(fsync: false, hasTLS: true)) { server in
            for mode in ["require", "disable"] {
                let connection = try open(server.conninfo + " sslmode=\(mode)")
                let id = try process(of: connection)
                server.send(SIGSTOP, toBackend: id)
                let thread = try WorkerThread.start("meanwhile") {
                    usleep(300_000)
                    server.send(SIGKILL, toBackend: id)
                }
                let error = failure(connection, "SELECT length($1)", [.bytes([UInt8](repeating: 1, count: 64 << 20))])
                thread.join()
                #expect(error?.kind == .connectionLost && connection.isBroken)
                _ = try server.connect()
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
            let thread = try WorkerThread.start("meanwhile") {
                usleep(300_000)
                server.send(SIGINT, toBackend: id)
            }
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
            let both = "host=127.0.0.1,127.0.0.1 port=\(server.port),\(standby.port) user=postgres"
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
