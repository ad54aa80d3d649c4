import Testing

@testable import PostgreSQL

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

    @Test("where libpq is not there, the error names the package that has it")
    func library() throws {
        let error = try #require(throws: PostgresError.self) { _ = try Libpq("libpq-nowhere.so.5") }
        #expect(error.kind == .noLibrary && error.message.contains("libpq5") && error.message.contains("libpq-nowhere.so.5"))
    }

    @Test("hosts are told apart, unless a list leaves one out")
    func hosts() {
        let two = PostgresHost.all(["host": "a,b", "port": "1,2"])
        #expect(two == [PostgresHost(host: "a", address: "", port: "1"), PostgresHost(host: "b", address: "", port: "2")])
        #expect(PostgresHost.members(of: two).map(\.value) == ["a,b", "1,2"])
        #expect(PostgresHost.all(["hostaddr": "10.0.0.1,10.0.0.2", "port": "5"]).map(\.port) == ["5", "5"])
        #expect(PostgresHost.members(of: PostgresHost.all(["host": "a,b"])).map(\.value) == ["a,b", ","])
        for members in [[:], ["host": "a"], ["host": "a,b", "port": "1,"], ["host": "a,b", "port": "1,2,3"], ["host": "a,"]] {
            #expect(PostgresHost.all(members).isEmpty)
        }
    }

    @Test("over a network the server has to prove who it is, unless the string says otherwise, of which is warned")
    func verifies() throws {
        func mode(_ conninfo: String) throws -> String? {
            try ConnectionString(conninfo, Libpq.shared).all(application: "tests", hosts: []).first { $0.name == "sslmode" }?.value
        }
        let remotes = [
            "host=db1 dbname=a", "host=localhost,db2", "host=127.0.0.1.example.org", "host=localhost hostaddr=10.0.0.1",
            "postgresql://me@db1/a", "service=orders", "host=/run/postgresql,db2", "hostaddr=::2",
        ]
        for remote in remotes {
            #expect(try mode(remote) == "verify-full" && PostgresConnection.warning(remote) == nil, "\(remote)")
        }
        for local in ["dbname=a", "host=/run/postgresql", "host=localhost,127.0.0.1", "hostaddr=::1", "host=db1 hostaddr=127.0.0.2"] {
            #expect(try mode(local) == nil && PostgresConnection.warning(local + " sslmode=disable") == nil, "\(local)")
        }
        for weaker in ["disable", "prefer", "require", "verify-ca"] {
            let warning = try PostgresConnection.warning("host=db1 sslmode=\(weaker)")
            #expect(try mode("host=db1 sslmode=\(weaker)") == nil && warning?.contains(weaker) == true, "\(weaker)")
        }
    }
}
