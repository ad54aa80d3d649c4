import Foundation
import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("Connecting to a server")
struct ConnectingTests {
    @Test("connects over TCP and over a socket, under the name of the program")
    func connects() throws {
        try withPostgres(.init(fsync: false)) { server in
            for conninfo in [server.conninfo, server.socketConninfo] {
                let connection = try open(conninfo)
                let rows = try connection.run(
                    "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()", deadline: soon)
                #expect(rows.count == 1 && rows.text(0, 0) == "the tests")
                #expect(try connection.run("SHOW client_encoding", deadline: soon).text(0, 0) == "UTF8")
                connection.cancelAndClose()
                connection.cancelAndClose()
                #expect(connection.isBroken)
                #expect(failure(connection, "SELECT 1")?.kind == .unreachable)
            }
        }
    }

    @Test("a port on which nobody listens, and a database that is not there, are told by name")
    func wrong() throws {
        let port = try PlainListener(isListening: false)
        let nobody = try #require(refusal("host=127.0.0.1 port=\(port.port) user=postgres"))
        #expect(nobody.kind == .unreachable && nobody.message.contains("\(port.port)") && nobody.message.contains("refused"))
        try withPostgres(.init(fsync: false)) { server in
            let missing = try #require(refusal(server.conninfo + " dbname=nowhere"))
            #expect(missing.kind == .unreachable && missing.message.contains("database \"nowhere\" does not exist"))
            #expect(!missing.message.contains("\n"))
        }
    }

    @Test("a wrong password is told without it; the one in a password file is taken")
    func passwords() throws {
        try withPostgres(.init(fsync: false, asksPasswords: true)) { server in
            _ = try server.connect().run("ALTER ROLE postgres PASSWORD 'sesame-right'", deadline: soon)
            let wrong = try #require(refusal(server.conninfo + " password=sesame-wrong"))
            #expect(wrong.kind == .unreachable && wrong.message.contains("password authentication failed"))
            #expect(!wrong.message.contains("sesame"))
            _ = try open(server.conninfo + " password=sesame-right").run("SELECT 1", deadline: soon)
            let file = FileManager.default.temporaryDirectory.appending(path: "evstore-pgpass-\(server.port)")
            defer { do { try FileManager.default.removeItem(at: file) } catch {} }
            try "127.0.0.1:\(server.port):*:postgres:sesame-right\n".write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            _ = try open(server.conninfo + " passfile=\(file.path)").run("SELECT 1", deadline: soon)
        }
    }

    @Test("TLS is as the string asks: a server that another vouches for is refused")
    func encrypted() throws {
        try withPostgres(.init(fsync: false, hasTLS: true)) { server in
            let asking = server.conninfo + " sslmode=verify-full sslrootcert="
            let rows = try open(asking + server.certificate).run(
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", deadline: soon)
            #expect(rows.int(0, 0) == 1)
            try withPostgres(.init(fsync: false, hasTLS: true)) { other in
                let error = try #require(refusal(asking + other.certificate))
                #expect(error.kind == .unreachable && error.message.contains("certificate verify failed"), "\(error)")
            }
        }
    }

    @Test("a server that takes the connection and never answers is given up at the deadline")
    func silent() throws {
        let silent = try PlainListener()
        let took = try shortest(.milliseconds(1_500)) {
            let start = Instant.now
            let error = try #require(refusal("host=127.0.0.1 port=\(silent.port) user=postgres", deadline: start + .milliseconds(700)))
            #expect(error.kind == .unreachable && error.message.contains("\(silent.port) does not answer"))
            return start.duration(to: .now)
        }
        #expect((Duration.milliseconds(690) ... .milliseconds(1_500)).contains(took), "\(took)")
    }

    @Test("the second of two hosts is taken where nobody listens on the first, and where the first never answers")
    func hosts() throws {
        let (down, silent) = (try PlainListener(isListening: false), try PlainListener())
        try withPostgres(.init(fsync: false)) { server in
            for first in [down, silent] {
                let connection = try open("host=127.0.0.1,127.0.0.1 port=\(first.port),\(server.port) user=postgres", seconds: 4)
                #expect(try connection.run("SELECT inet_server_port()", deadline: soon).int(0, 0) == Int64(server.port))
            }
            let uri = "postgresql://postgres@127.0.0.1:\(silent.port),127.0.0.1:\(server.port)/postgres"
            _ = try open(uri, seconds: 4).run("SELECT 1", deadline: soon)
            let error = try #require(
                refusal("host=127.0.0.1,127.0.0.1 port=\(silent.port),\(down.port) user=postgres connect_timeout=2"))
            #expect(error.message.contains("\(silent.port) does not answer") && error.message.contains("\(down.port) failed"))
        }
    }

    @Test("a server that takes no writes is passed over, unless the string asks for any")
    func readOnly() throws {
        try withPostgres(.init(fsync: false, settings: ["default_transaction_read_only": "on"])) { reading in
            try withPostgres(.init(fsync: false)) { writing in
                let both = "host=127.0.0.1,127.0.0.1 port=\(reading.port),\(writing.port) user=postgres \(PostgresServer.patience)"
                for (conninfo, server) in [(both, writing), (both + " target_session_attrs=any", reading)] {
                    let port = try open(conninfo).run("SELECT inet_server_port()", deadline: soon).int(0, 0)
                    #expect(port == Int64(server.port))
                }
                #expect(refusal(reading.conninfo)?.message.contains("session is read-only") == true)
            }
        }
    }
}
