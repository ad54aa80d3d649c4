internal import Glibc

extension Character {
    fileprivate var isOfAddress: Bool { self == "." || ("0" ... "9").contains(self) }
}

/// A connection string as libpq reads it (PostgreSQL's documentation, 34.1.1): `host=a,b dbname=events`, or a URI.
struct ConnectionString: Sendable {
    let text: String
    /// The members that the string gives, by libpq's names.
    let members: [String: String]
    /// Libpq's names of the members that are passwords.
    let secretNames: Set<String>

    /// - Throws: `PostgresError` of the kind `refused` where libpq can't parse the string.
    init(_ text: String, _ libpq: Libpq) throws(PostgresError) {
        var message: UnsafeMutablePointer<CChar>?
        let options = unsafe text.withCString { unsafe libpq.parse($0, &message) }
        guard let options = unsafe options else {
            let said = unsafe Libpq.text(message)
            if let message = unsafe message { unsafe libpq.freeMemory(message) }
            throw PostgresError(.refused, "the connection string can't be read: \(Self.withoutQuotes(Libpq.oneLine(said)))")
        }
        defer { unsafe libpq.freeParsed(options) }
        var (members, secretNames): ([String: String], Set<String>) = ([:], [])
        var option = unsafe options
        // `PQconninfoOption`: keyword, variable, built-in value, value, label and kind as texts, then a number; the last keyword is null.
        let size = 7 * MemoryLayout<Int>.size
        while let keyword = unsafe Self.member(0, of: option) {
            if unsafe Self.member(5, of: option) == "*" { secretNames.insert(keyword) }
            members[keyword] = unsafe Self.member(3, of: option)
            unsafe option += size
        }
        (self.text, self.members, self.secretNames) = (text, members, secretNames)
        if let reason = ambiguity { throw PostgresError(.refused, "the connection string can't be read: \(reason)") }
    }

    private static func member(_ index: Int, of option: UnsafeRawPointer) -> String? {
        let pointer = unsafe option.load(fromByteOffset: index * MemoryLayout<Int>.size, as: UnsafePointer<CChar>?.self)
        return unsafe pointer.map { unsafe String(cString: $0) }
    }

    /// An error message of libpq without the pieces that it quotes, which may be parts of a password.
    private static func withoutQuotes(_ message: String) -> String {
        guard let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\""), first < last else { return message }
        return message[..<first] + "…" + message[message.index(after: last)...]
    }

    /// Why a URI is ambiguous: libpq would take a part of a password with an @ or a / in it for a host or a database, and show it.
    private var ambiguity: String? {
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else { return nil }
        let place = text.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "?" }
        let parts = place.split(separator: "@", omittingEmptySubsequences: false)
        if parts.count == 1 || (parts.count == 2 && !parts[0].contains("/")) { return nil }
        return "an @ or a / within a user, a password or a database is written %40 or %2F"
    }

    func withoutSecrets(_ message: String) -> String {
        secretNames.compactMap { members[$0] }.filter { !$0.isEmpty }.reduce(message) { $0.replacing($1, with: "…") }
    }

    /// The settings that a store needs where neither the string nor the environment gives others: a server that takes writes, and a
    /// connection that ends within seconds when its other end is gone. A service file can't change these.
    private static let usual: [(name: String, variable: String?, value: String)] = [
        ("target_session_attrs", "PGTARGETSESSIONATTRS", "read-write"), ("connect_timeout", "PGCONNECT_TIMEOUT", "5"),
        ("keepalives", nil, "1"), ("keepalives_idle", nil, "5"), ("keepalives_interval", nil, "2"), ("keepalives_count", nil, "3"),
        ("tcp_user_timeout", nil, "10000"),
    ]

    // MARK: TLS

    private static let (verified, said) = ("verify-full", "sslmode")

    /// The sslmode that the string or the environment gives; nil where neither does.
    private var saidMode: String? { members[Self.said] ?? Self.variable("PGSSLMODE") }

    /// Whether all hosts are on this machine: Unix sockets and loopback addresses. False with a service file, whose contents are unknown.
    private var isLocal: Bool {
        if members["service"] ?? Self.variable("PGSERVICE") != nil { return false }
        let text = members["hostaddr"] ?? Self.variable("PGHOSTADDR") ?? members["host"] ?? Self.variable("PGHOST") ?? ""
        return text.split(separator: ",").allSatisfy { host in
            ["/", "@"].contains(host.first) || ["localhost", "::1"].contains(host)
                || (host.hasPrefix("127.") && host.allSatisfy(\.isOfAddress))
        }
    }

    /// Over a network the server has to prove its identity, unless an sslmode is given: libpq itself would accept any server.
    private var tls: [(name: String, value: String)] { isLocal || saidMode != nil ? [] : [(Self.said, Self.verified)] }

    /// An error of a connection attempt, with the reason for asking for TLS where the error is about TLS.
    func explained(_ message: String) -> String {
        guard !tls.isEmpty, message.contains("SSL") || message.contains("certificate") else { return message }
        return message + "; over a network sslmode=verify-full is asked for where the connection string says nothing else"
    }

    /// The warning for a connection over a network that does not check the server's identity; nil for any other connection.
    var warning: String? {
        guard let saidMode, saidMode != Self.verified, !isLocal else { return nil }
        return "the connection does not ask PostgreSQL to prove who it is (sslmode=\(saidMode)): whoever stands between reads and writes "
            + "along; say sslmode=verify-full sslrootcert=FILE"
    }

    /// All settings for libpq, in its order: a later one wins, and the string is one of them, expanded.
    func all(application: String, hosts: [PostgresHost]) -> [(name: String, value: String)] {
        let usual = Self.usual.filter { members[$0.name] == nil && $0.variable.flatMap(Self.variable) == nil }
        return usual.map { ($0.name, $0.value) } + tls + [("dbname", text)] + PostgresHost.members(of: hosts)
            + [("client_encoding", "UTF8"), ("application_name", application)]
    }

    /// How long connecting to one host may take; nil for no limit.
    var patience: Duration? {
        let text = members["connect_timeout"] ?? Self.variable("PGCONNECT_TIMEOUT") ?? "5"
        // Libpq reads it so: one second becomes two, and less means no limit.
        return Int(text).flatMap { $0 > 0 ? .seconds(max($0, 2)) : nil }
    }

    private static func variable(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
}
