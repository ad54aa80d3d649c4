internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import Platform
internal import PostgreSQL

/// How a node reaches its cluster log: a connection string for libpq, in the environment variable EVSTORE_LOG, else in the store's file
/// `cluster`. Passwords come from libpq's own sources (PGPASSFILE, a service file), never from here.
package enum ConnectionFile {
    private static let name = "/cluster"
    private static let bytesMax = 65_536
    package static let variable = "EVSTORE_LOG"

    /// - Throws: `EvstoreError.usage` where there is neither.
    package static func find(at store: String) throws(EvstoreError) -> String {
        if let text = environment { return try checked(text) }
        do {
            guard try Directory.ownStatus(store + name) != nil else {
                throw EvstoreError.usage(
                    "nothing says how the cluster log of \(store) is reached",
                    fix: "set \(variable) to a connection string of PostgreSQL, such as host=db1,db2 dbname=orders")
            }
            let text = String(decoding: try StoreFiles.contents(Directory.name(of: name), of: store, bytesMax: bytesMax), as: UTF8.self)
            return try checked(String(text.prefix { !$0.isNewline }))
        } catch { throw storeError(error, store, doing: "reading \(store)\(name)") }
    }

    /// The given connection string, else that of the environment.
    /// - Throws: `EvstoreError.usage` where there is neither.
    package static func given(_ text: String?) throws(EvstoreError) -> String {
        if let text = text ?? environment { return try checked(text) }
        throw .usage(
            "nothing says how the cluster log is reached",
            fix: "name it, or set \(variable) to a connection string of PostgreSQL, such as host=db1,db2 dbname=orders")
    }

    private static var environment: String? { ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 } }

    package static func write(_ connection: String, at store: String) throws {
        try WholeFile.write(Array((connection + "\n").utf8), to: store + name)
    }

    /// Returns whether the file was there.
    package static func remove(at store: String) throws -> Bool {
        if try Directory.ownStatus(store + name) == nil { return false }
        try Directory.remove(store + name)
        return true
    }

    /// The warning for a connection string that leads over a network and does not check the server's identity; nil for any other string.
    package static func warning(_ connection: String) throws(EvstoreError) -> String? {
        do { return try PostgresConnection.warning(connection) } catch { throw unreadable(error) }
    }

    private static func unreadable(_ error: PostgresError) -> EvstoreError {
        .usage("the connection string can't be read: \(error.message)", fix: "write it as libpq has it: host=db1 dbname=orders")
    }

    /// - Throws: `EvstoreError.usage` where the string can't be parsed, or has a password in it.
    package static func checked(_ connection: String) throws(EvstoreError) -> String {
        let members: [String: String]
        do { members = try PostgresConnection.parse(connection) } catch { throw unreadable(error) }
        guard members["password", default: ""].isEmpty, members["sslpassword", default: ""].isEmpty else {
            throw .usage(
                "a connection string with a password in it would be seen by others",
                fix: "put the password into a file that only you can read and name it by PGPASSFILE, or into ~/.pgpass")
        }
        return connection
    }
}
