import PostgreSQL
import Testing

@Suite("Connection strings")
struct ConnectionStringTests {
    @Test("the members of both forms are read; passwords are always there, as nothing where the string has none")
    func members() throws {
        #expect(
            try PostgresConnection.parse("host=a,b port=1 dbname='my events'")
                == ["host": "a,b", "port": "1", "dbname": "my events", "password": "", "sslpassword": ""])
        let uri = try PostgresConnection.parse("postgresql://me:my%20secret@a:1/events?sslmode=verify-full")
        #expect(uri["user"] == "me" && uri["password"] == "my secret" && uri["port"] == "1" && uri["sslmode"] == "verify-full")
    }

    @Test(
        "no password is told where a string can't be read, or leads nowhere",
        arguments: [
            "host=127.0.0.1 port=1 password=open sesame", "host=127.0.0.1 port=1 pasword=sesame", "password='sesame",
            "host=/nowhere password=sesame sslmode=sesame", "postgresql://me:se@same@127.0.0.1:1/events",
            "postgresql://me:sesame/more@127.0.0.1:1/events", "postgresql://me:sesame%@127.0.0.1:1/events",
            "postgresql://me:sesame@127.0.0.1:x/events", "postgresql://me:sesame@[::1/events", "postgresql://me:sesame?x@127.0.0.1:1/e?y",
            "postgresql://me:sesame@127.0.0.1:1/events", "postgresql://me:p?sesame/x@127.0.0.1:1/events",
        ])
    func secrets(_ conninfo: String) throws {
        let error = try #require(refusal(conninfo))
        #expect(!error.message.contains("same") && !error.description.contains("same"), "\(error)")
        #expect(!error.message.isEmpty && !error.message.contains("\n"))
    }
}
