import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("Answers that are none", .serialized)
struct ServerAnswerTests {
    @Test("a server that goes on without an end is given up soon, and after not much", arguments: EndlessServer.Flood.allCases)
    func endless(_ flood: EndlessServer.Flood) throws {
        let server = try EndlessServer(flood)
        let conninfo = "host=127.0.0.1 port=\(server.port) user=postgres sslmode=disable gssencmode=disable target_session_attrs=any"
        let start = Instant.now
        let error = #expect(throws: PostgresError.self) {
            let connection = try open(conninfo)
            // What came unasked is seen as it is asked.
            if flood == .unasked { while server.sent < 1 << 19 {} }
            let asked = PostgresStatement("SELECT 1", answers: [.number()], rows: 1 ... 1)
            _ = try connection.run(asked, deadline: soon)
        }
        #expect(error?.message.contains("more than belongs to an answer") == true, "\(flood): \(error?.description ?? "an answer")")
        // A mebibyte, what lies on the way, and what comes until somebody looks.
        #expect(server.sent < 128 << 20, "\(flood): \(server.sent)")
        #expect(start.duration(to: .now) < .patience / 2, "\(flood)")
    }

    private static func flaw(
        _ connection: PostgresConnection, _ sql: String, _ columns: [PostgresColumn], rows: ClosedRange<Int>
    ) -> String? {
        do {
            _ = try connection.run(PostgresStatement(sql, answers: columns, rows: rows), deadline: soon)
            return nil
        } catch { return "\(error.kind == .malformed) \(error)" }
    }

    @Test("an answer with other columns, types, lengths, nulls or counts than the statement declares is refused, and says which")
    func declared() throws {
        try withPostgres(.init(fsync: false)) { server in
            let wrong: [(String, [PostgresColumn], ClosedRange<Int>, String)] = [
                ("SELECT 1::int8", [.number(), .number()], 1 ... 1, "1 columns in place of 2"),
                ("SELECT", [.number()], 1 ... 1, "0 columns"),
                ("SELECT 1::int8, 2::int8", [.number()], 1 ... 1, "2 columns"), ("SELECT 1::int4", [.number()], 1 ... 1, "another type"),
                ("SELECT 'a'::text", [.bytes(0 ... 9)], 1 ... 1, "another type"), ("SELECT null::int8", [.number()], 1 ... 1, "is null"),
                ("SELECT generate_series(1, 3)::int8", [.number()], 1 ... 2, "3 rows"),
                ("SELECT 1::int8 WHERE false", [.number()], 1 ... 1, "0 rows"), ("SELECT -1::int8", [.number(0 ... 9)], 1 ... 1, "bounds"),
                ("SELECT '\\x0102'::bytea", [.bytes(3)], 1 ... 1, "2 bytes"), ("SELECT 'abc'::text", [.text(upTo: 2)], 1 ... 1, "3 bytes"),
            ]
            for (sql, columns, rows, words) in wrong {
                let said = Self.flaw(try server.connect(), sql, columns, rows: rows) ?? "an answer"
                #expect(said.hasPrefix("true") && said.contains(words), "\(sql): \(said)")
            }
            let right: [(String, [PostgresColumn])] = [
                ("SELECT 1::int8, true, 'ä'::text, '\\x01'::bytea", [.number(), .truth, .text(upTo: 2), .bytes(1)]),
                ("SELECT null::int8, null::bytea", [.number(isOptional: true), .bytes(1 ... 1, isOptional: true)]),
            ]
            for (sql, columns) in right { #expect(Self.flaw(try server.connect(), sql, columns, rows: 1 ... 1) == nil, "\(sql)") }
        }
    }
}
