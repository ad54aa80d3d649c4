import Glibc
import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("Running statements")
struct RunningTests {
    @Test("values of all kinds come back as they went")
    func values() throws {
        try withPostgres(.init(fsync: false)) { server in
            let connection = try open(server.conninfo)
            let made = try connection.run("CREATE TABLE t (id int8 PRIMARY KEY, name text, body bytea)", deadline: soon)
            #expect(made.count == 0 && made.affected == 0)
            let (numbers, name) = ([Int64.min, -1, 0, 1, Int64.max], "a 'quoted' \\ \"Grüße\" \u{1F600}")
            for number in numbers {
                let put = try connection.run(
                    "INSERT INTO t VALUES ($1, $2, $3)", [.int(number), .text(name), .bytes(Array(0 ... 255))], deadline: soon)
                #expect(put.affected == 1)
            }
            _ = try connection.run("INSERT INTO t VALUES ($1, $2, $3)", [.int(7), .text(""), .bytes([])], deadline: soon)
            _ = try connection.run("INSERT INTO t VALUES ($1, NULL, NULL)", [.int(8)], deadline: soon)
            let rows = try connection.run("SELECT * FROM t ORDER BY id", deadline: soon)
            #expect(rows.count == 7)
            #expect((0 ..< 7).map { rows.int($0, 0) } == [.min, -1, 0, 1, 7, 8, .max])
            #expect(rows.text(0, 1) == name && rows.bytes(0, 2) == Array(0 ... 255))
            #expect(rows.text(4, 1) == "" && rows.bytes(4, 2) == [] && rows.withBytes(4, 2) { $0.byteCount } == 0)
            #expect(rows.text(5, 1) == nil && rows.bytes(5, 2) == nil && rows.withBytes(5, 2) { $0.byteCount } == nil)
            let small = try connection.run("SELECT -2::int2, -70000::int4, true, false, 'x'::text", deadline: soon)
            #expect((0 ..< 5).map { small.int(0, $0) } == [-2, -70_000, 1, 0, nil])
        }
    }

    @Test("64 MiB go there and back")
    func large() throws {
        try withPostgres(.init(fsync: false)) { server in
            let connection = try open(server.conninfo)
            var bytes = [UInt8](repeating: 0xAB, count: 64 << 20)
            for offset in stride(from: 0, to: bytes.count, by: 4_099) { bytes[offset] = UInt8(truncatingIfNeeded: offset >> 8) }
            let rows = try connection.run("SELECT $1::bytea, length($1)", [.bytes(bytes)], deadline: soon)
            #expect(rows.int(0, 1) == 64 << 20)
            let isSame = rows.bytes(0, 0) == bytes
            #expect(isSame)
        }
    }

    @Test("a server's refusal has its code, does nothing, and leaves the connection as it was")
    func refused() throws {
        try withPostgres(.init(fsync: false)) { server in
            let connection = try open(server.conninfo)
            _ = try connection.run("CREATE TABLE t (id int PRIMARY KEY)", deadline: soon)
            _ = try connection.run("INSERT INTO t VALUES (1)", deadline: soon)
            let twice = try #require(failure(connection, "INSERT INTO t VALUES (2), (1)"))
            #expect(twice.kind == .refused && twice.sqlState == "23505" && twice.message.contains("duplicate key"))
            #expect(failure(connection, "SELEC 1")?.sqlState == "42601")
            #expect(!connection.isBroken)
            #expect(try connection.run("SELECT count(*) FROM t", deadline: soon).int(0, 0) == 1)
            #expect(try connection.run("", deadline: soon).count == 0)
            // A notice is nobody's: nothing of it is shown.
            _ = try connection.run("DROP TABLE IF EXISTS nowhere", deadline: soon)
            #expect(failure(connection, "COPY t TO STDOUT")?.kind == .connectionLost)
            #expect(connection.isBroken)
        }
    }

    @Test("a statement that is not done by the deadline is given up, and the server is asked to end it")
    func deadline() throws {
        try withPostgres(.init(fsync: false)) { server in
            let took = try shortest(.milliseconds(1_500)) {
                let connection = try open(server.conninfo)
                let start = Instant.now
                let error = try #require(failure(connection, "SELECT pg_sleep(300)", deadline: start + .milliseconds(500)))
                // The deadline may have passed before anything was sent.
                if error.kind == .unreachable { return .patience }
                #expect(error.kind == .connectionLost && error.message.contains("deadline") && connection.isBroken)
                return start.duration(to: .now)
            }
            #expect((Duration.milliseconds(490) ... .milliseconds(1_500)).contains(took), "\(took)")
            let end = soon
            let other = try open(server.conninfo)
            let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
            while .now < end, try other.run(sleeping, deadline: soon).int(0, 0) != 0 { usleep(20_000) }
            #expect(try other.run(sleeping, deadline: soon).int(0, 0) == 0)
        }
    }

    @Test("a server that never comes to the end of its answer is given up at the deadline")
    func endless() throws {
        try withPostgres(.init(fsync: false)) { server in
            let took = try shortest(.seconds(2)) {
                let connection = try open(server.conninfo)
                let start = Instant.now
                let error = failure(connection, "SELECT generate_series(1, 1000000000)", deadline: start + .milliseconds(300))
                // The deadline may have passed before anything was sent.
                if error?.kind == .unreachable { return .patience }
                #expect(error?.kind == .connectionLost && connection.isBroken)
                return start.duration(to: .now)
            }
            #expect(took < .seconds(2))
        }
    }

    @Test("a deadline that has passed already sends nothing")
    func passed() throws {
        try withPostgres(.init(fsync: false)) { server in
            let connection = try open(server.conninfo)
            #expect(failure(connection, "CREATE TABLE t ()", deadline: .now)?.kind == .unreachable)
            #expect(!connection.isBroken)
            #expect(try connection.run("SELECT to_regclass('t')::text", deadline: soon).text(0, 0) == nil)
        }
    }
}
