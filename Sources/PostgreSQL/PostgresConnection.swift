internal import Platform

/// One connection to a PostgreSQL server, by libpq.
///
/// One thread uses it at a time: whoever shares it keeps it under a `Monitor`. Each call ends by its deadline, except that the look-up of
/// a host's name takes as long as the system lets it. After the deadline, and after a loss, the connection is given up for good.
@safe
package final class PostgresConnection {
    let libpq: Libpq
    let string: ConnectionString
    /// Nil once it was given up.
    var handle: OpaquePointer?
    /// What the server warned of in its last answer; nil where of nothing. A commit that was told to wait no longer for a synchronous
    /// standby is answered as done, with a warning: it may be on this server's disk alone.
    package internal(set) var warning: String?

    /// Connects to the first of the string's hosts that is as it asks; where it does not say, to one that takes writes.
    /// - Parameters:
    ///   - conninfo: a connection string as libpq takes it: its hosts, TLS, services and password files are libpq's business.
    ///   - application: the name that the server shows for the connection.
    ///   - choice: which of the hosts.
    /// - Throws: `PostgresError` of the kind `unreachable`; `refused` for a string that can't be read; `noLibrary`.
    package init(
        _ conninfo: String, deadline: ContinuousClock.Instant, application: String, _ choice: HostChoice = .init()
    ) throws(PostgresError) {
        libpq = try Libpq.shared
        string = try ConnectionString(conninfo, libpq)
        try connect(application: application, choice, deadline: deadline)
    }

    deinit { cancelAndClose() }

    /// Which hosts of a connection string are connected to.
    package struct HostChoice: Sendable {
        /// Some of them; all in their order where nil.
        package var hosts: [PostgresHost]?
        /// Whether also to one that takes no writes.
        package var takesAny: Bool

        package init(_ hosts: [PostgresHost]? = nil, takesAny: Bool = false) { (self.hosts, self.takesAny) = (hosts, takesAny) }
    }

    /// The hosts of a connection string that names several; none where it names one.
    package static func hosts(_ conninfo: String) throws(PostgresError) -> [PostgresHost] {
        PostgresHost.all(try ConnectionString(conninfo, Libpq.shared).members)
    }

    /// The names of the statements that the server keeps for this connection.
    var kept: Set<String> = []

    /// How many bytes the server may still send.
    var allowance = 0

    /// Whether more of the answer is to come than the last reading brought: libpq then reads for as long as the server sends.
    var isLong = false

    /// Watches the socket that was read last; nil until an answer comes in several readings.
    var gate: FloodGate?

    /// Whether the server may be asked to end the statement that runs.
    var mayCancel = true

    /// As whom it was made, and to which database.
    package var names: (user: String, database: String) {
        guard let handle = unsafe handle else { return ("", "") }
        return unsafe (Libpq.text(libpq.user(handle)), Libpq.text(libpq.database(handle)))
    }

    /// Whether it can't be used any more, as far as this side knows.
    package var isBroken: Bool { unsafe handle.map { unsafe libpq.status($0) != Libpq.connectionOK } ?? true }

    /// Gives the connection up. What the server still does for it is asked to end, without waiting for that.
    package func cancelAndClose() {
        guard let handle = unsafe handle else { return }
        unsafe self.handle = nil
        // Order: before libpq closes the socket, which its other descriptor would keep.
        (gate, isLong) = (nil, false)
        if mayCancel, unsafe libpq.transactionStatus(handle) == Libpq.transactionActive { unsafe cancel(handle) }
        unsafe libpq.finish(handle)
    }

    /// On a thread of its own: libpq waits for the server there, as long as that may take.
    private func cancel(_ handle: OpaquePointer) {
        guard let request = unsafe libpq.getCancel(handle) else { return }
        // Order: the thread alone has the request from here on.
        nonisolated(unsafe) let owned = unsafe request
        let libpq = libpq
        do throws(StorageError) {
            _ = try WorkerThread.start("evstore-cancel") {
                var message = [CChar](repeating: 0, count: 256)
                _ = unsafe libpq.cancel(owned, &message, Int32(message.count))
                unsafe libpq.freeCancel(owned)
            }
        } catch {
            // The server notices by itself once it writes to a connection that has gone.
            unsafe libpq.freeCancel(request)
        }
    }

    /// Takes what the server tells besides its answer: a warning is kept, and all else is nobody's.
    func note(_ notice: OpaquePointer) {
        guard unsafe Libpq.text(libpq.resultErrorField(notice, Libpq.severityField)) == "WARNING" else { return }
        let said = [Libpq.primaryField, Libpq.detailField].map { unsafe Libpq.text(libpq.resultErrorField(notice, $0)) }
        warning = string.withoutSecrets(Libpq.oneLine(said.joined(separator: "\n")))
    }

    /// The members that a connection string gives, by libpq's names; those that are passwords, `password` and `sslpassword`, are always
    /// there, "" where the string has none.
    /// - Throws: `PostgresError` of the kind `refused` where it can't be read.
    package static func parse(_ conninfo: String) throws(PostgresError) -> [String: String] {
        let string = try ConnectionString(conninfo, Libpq.shared)
        return string.secretNames.reduce(into: string.members) { $0[$1, default: ""] += "" }
    }

    /// What is to be said of a string that leads over a network and does not ask who the server is; nil of any other.
    /// - Throws: `PostgresError` of the kind `refused` where it can't be read.
    package static func warning(_ conninfo: String) throws(PostgresError) -> String? {
        try ConnectionString(conninfo, Libpq.shared).warning
    }
}

/// Numbers of `libpq-fe.h`.
extension Libpq {
    static let connectionOK: Int32 = 0
    static let transactionActive: Int32 = 1
    /// What a step of connecting waits for.
    static let (pollingFailed, pollingReading, pollingWriting, pollingOK): (Int32, Int32, Int32, Int32) = (0, 1, 2, 3)
    /// `PQERRORS_DEFAULT` and `PQERRORS_VERBOSE`.
    static let (ordinary, verbose): (Int32, Int32) = (1, 2)
    /// Results of statements: without text, without rows, and with rows.
    static let (emptyQuery, commandOK, tuplesOK): (Int32, Int32, Int32) = (0, 1, 2)
    /// Results that are a stream of bytes: out, in, both.
    static let copies: Set<Int32> = [3, 4, 8]
    /// The fields of an error, by letters.
    static let sqlStateField = Int32(UInt8(ascii: "C"))
    static let primaryField = Int32(UInt8(ascii: "M"))
    static let detailField = Int32(UInt8(ascii: "D"))
    static let severityField = Int32(UInt8(ascii: "V"))
}
