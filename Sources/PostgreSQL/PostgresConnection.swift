internal import Platform

/// One connection to a PostgreSQL server, by libpq.
///
/// One thread uses it at a time: a connection that threads share is kept under a `Monitor`. Each call ends by its deadline, except that
/// looking up a host's name takes as long as the system lets it. After the deadline has passed, and after a loss, the connection is closed
/// for good.
@safe
package final class PostgresConnection {
    let libpq: Libpq
    let string: ConnectionString
    /// Nil once the connection was closed.
    var handle: OpaquePointer?
    /// The warning in the server's last answer; nil where there was none. If a commit is told to wait no longer for a synchronous standby,
    /// the server answers that it is done, with a warning: it may be on this server's disk alone.
    package internal(set) var warning: String?

    /// Connects to the first of the string's hosts that has the requested properties; unless the string says otherwise, it must take
    /// writes.
    /// - Parameters:
    ///   - conninfo: a connection string for libpq, which handles its hosts, TLS, services and password files.
    ///   - application: the name that the server shows for the connection.
    ///   - choice: which of the hosts to try.
    /// - Throws: `PostgresError` of the kind `unreachable`; `refused` where the string can't be parsed; `noLibrary`.
    package init(
        _ conninfo: String, deadline: ContinuousClock.Instant, application: String, _ choice: HostChoice = .init()
    ) throws(PostgresError) {
        libpq = try Libpq.shared
        string = try ConnectionString(conninfo, libpq)
        try connect(application: application, choice, deadline: deadline)
    }

    deinit { cancelAndClose() }

    /// Which hosts of a connection string to connect to.
    package struct HostChoice: Sendable {
        /// Some of the hosts; nil for all in their order.
        package var hosts: [PostgresHost]?
        /// Whether a server that takes no writes will do too.
        package var takesAny: Bool

        package init(_ hosts: [PostgresHost]? = nil, takesAny: Bool = false) { (self.hosts, self.takesAny) = (hosts, takesAny) }
    }

    /// The hosts of a connection string that names several; empty where it names one.
    package static func hosts(_ conninfo: String) throws(PostgresError) -> [PostgresHost] {
        PostgresHost.all(try ConnectionString(conninfo, Libpq.shared).members)
    }

    /// The names of the prepared statements that the server keeps for this connection.
    var kept: Set<String> = []

    /// How many bytes the server may still send.
    var allowance = 0

    /// Whether the answer has more than the last reading brought: libpq then reads for as long as the server sends.
    var isLong = false

    /// Watches the socket that was read last; nil until an answer takes several readings.
    var gate: ReceiveLimiter?

    /// Whether the server may be asked to end the running statement.
    var mayCancel = true

    /// The user and the database of the connection.
    package var names: (user: String, database: String) {
        guard let handle = unsafe handle else { return ("", "") }
        return unsafe (Libpq.text(libpq.user(handle)), Libpq.text(libpq.database(handle)))
    }

    /// Whether the connection can't be used any more, as far as this side knows.
    package var isBroken: Bool { unsafe handle.map { unsafe libpq.status($0) != Libpq.connectionOK } ?? true }

    /// Gives the connection up. What the server still does for it is asked to end, without waiting for that.
    package func cancelAndClose() {
        guard let handle = unsafe handle else { return }
        unsafe self.handle = nil
        // Order: the gate goes before libpq closes the socket, which the gate's descriptor would keep open.
        (gate, isLong) = (nil, false)
        if mayCancel, unsafe libpq.transactionStatus(handle) == Libpq.transactionActive { unsafe cancel(handle) }
        unsafe libpq.finish(handle)
    }

    /// Runs on a thread of its own, where libpq waits for the server as long as that takes.
    private func cancel(_ handle: OpaquePointer) {
        guard let request = unsafe libpq.getCancel(handle) else { return }
        // Order: from here on only the thread uses the request.
        nonisolated(unsafe) let owned = unsafe request
        let libpq = libpq
        do throws(StorageError) {
            _ = try WorkerThread.start("evstore-cancel") {
                var message = [CChar](repeating: 0, count: 256)
                _ = unsafe libpq.cancel(owned, &message, Int32(message.count))
                unsafe libpq.freeCancel(owned)
            }
        } catch {
            // The server notices by itself when it writes to the closed connection.
            unsafe libpq.freeCancel(request)
        }
    }

    /// Takes a notice of the server: keeps a warning, and drops the rest.
    func note(_ notice: OpaquePointer) {
        guard unsafe Libpq.text(libpq.resultErrorField(notice, Libpq.severityField)) == "WARNING" else { return }
        let said = [Libpq.primaryField, Libpq.detailField].map { unsafe Libpq.text(libpq.resultErrorField(notice, $0)) }
        warning = string.withoutSecrets(Libpq.oneLine(said.joined(separator: "\n")))
    }

    /// The members that a connection string gives, by libpq's names. The passwords, `password` and `sslpassword`, are always included: ""
    /// where the string has none.
    /// - Throws: `PostgresError` of the kind `refused` where the string can't be parsed.
    package static func parse(_ conninfo: String) throws(PostgresError) -> [String: String] {
        let string = try ConnectionString(conninfo, Libpq.shared)
        return string.secretNames.reduce(into: string.members) { $0[$1, default: ""] += "" }
    }

    /// The warning for a string that leads over a network and does not check the server's identity; nil for any other string.
    /// - Throws: `PostgresError` of the kind `refused` where the string can't be parsed.
    package static func warning(_ conninfo: String) throws(PostgresError) -> String? {
        try ConnectionString(conninfo, Libpq.shared).warning
    }
}

/// Constants of `libpq-fe.h`.
extension Libpq {
    static let connectionOK: Int32 = 0
    static let transactionActive: Int32 = 1
    /// The states of a connection attempt.
    static let (pollingFailed, pollingReading, pollingWriting, pollingOK): (Int32, Int32, Int32, Int32) = (0, 1, 2, 3)
    /// `PQERRORS_DEFAULT` and `PQERRORS_VERBOSE`.
    static let (ordinary, verbose): (Int32, Int32) = (1, 2)
    /// Results of statements: without text, without rows, and with rows.
    static let (emptyQuery, commandOK, tuplesOK): (Int32, Int32, Int32) = (0, 1, 2)
    /// Results that are a stream of bytes: out, in, both.
    static let copies: Set<Int32> = [3, 4, 8]
    /// The fields of an error, identified by letters.
    static let sqlStateField = Int32(UInt8(ascii: "C"))
    static let primaryField = Int32(UInt8(ascii: "M"))
    static let detailField = Int32(UInt8(ascii: "D"))
    static let severityField = Int32(UInt8(ascii: "V"))
}
