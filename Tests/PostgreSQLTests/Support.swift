import Platform
import PostgreSQL
import TestSupport

/// Long enough for whatever should succeed.
var soon: Instant { .now + .patience }

func open(_ conninfo: String) throws(PostgresError) -> PostgresConnection {
    try PostgresConnection(conninfo, deadline: soon, application: "the tests")
}

/// The first of several attempts of so many seconds that comes to a connection: a busy machine may need more time.
func open(_ conninfo: String, seconds: Int) throws(PostgresError) -> PostgresConnection {
    let end = soon
    while true {
        do throws(PostgresError) {
            return try PostgresConnection(conninfo, deadline: .now + .seconds(seconds), application: "the tests")
        } catch { if .now > end { throw error } }
    }
}

/// Why a string does not lead to a connection; nil where it does.
func refusal(_ conninfo: String, deadline: Instant = soon) -> PostgresError? {
    do throws(PostgresError) { _ = try PostgresConnection(conninfo, deadline: deadline, application: "the tests") } catch { return error }
    return nil
}

/// Why a statement has no answer; nil where it has.
func failure(
    _ connection: PostgresConnection, _ sql: String, _ parameters: [PostgresValue] = [], deadline: Instant = soon
) -> PostgresError? {
    do throws(PostgresError) { _ = try connection.run(sql, parameters, deadline: deadline) } catch { return error }
    return nil
}
