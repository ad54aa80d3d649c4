package import Platform

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
        _ conninfo: String, deadline: Instant, application: String, _ choice: HostChoice = .init()
    ) throws(PostgresError) {
        libpq = try Libpq.shared
        string = try ConnectionString(conninfo, libpq)
        try connect(application: application, choice, deadline: deadline)
    }

    deinit { cancelAndClose() }

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

/// Connecting step by step, so that a deadline can end it (PostgreSQL's documentation, 34.1: `PQconnectPoll`).
extension PostgresConnection {
    /// Goes on with the next hosts where one does not answer: libpq does not watch the time when it connects step by step.
    func connect(application: String, _ choice: HostChoice, deadline: Instant) throws(PostgresError) {
        var hosts = choice.hosts ?? PostgresHost.all(string.members)
        var silent: [String] = []
        let kind = choice.takesAny ? [("target_session_attrs", "any")] : []
        while true {
            try start(string.all(application: application, hosts: hosts) + kind)
            guard let host = try awaitConnection(hosts, deadline, silent) else { return }
            cancelAndClose()
            silent.append("\(host.host), port \(host.port) does not answer")
            hosts.removeFirst((hosts.firstIndex { $0.names(host) } ?? 0) + (hosts.isEmpty ? 0 : 1))
            if hosts.isEmpty || deadline.millisecondsLeft == 0 {
                throw PostgresError(.unreachable, string.withoutSecrets("can't connect: " + silent.joined(separator: "; ")))
            }
        }
    }

    private func start(_ members: [(name: String, value: String)]) throws(PostgresError) {
        unsafe handle = unsafe Libpq.withTexts(members.map(\.name)) { names in
            unsafe Libpq.withTexts(members.map(\.value)) { values in unsafe libpq.connectStart(names, values, 1) }
        }
        guard let handle = unsafe handle else { throw PostgresError(.unreachable, "can't connect: there is no memory left") }
        // Libpq would write the server's notices to this program's standard error. It calls this receiver only from its own functions,
        // which only this connection calls.
        let receive: Libpq.NoticeReceiver = { connection, result in
            guard let connection = unsafe connection, let result = unsafe result else { return }
            unsafe Unmanaged<PostgresConnection>.fromOpaque(connection).takeUnretainedValue().note(result)
        }
        _ = unsafe libpq.setNoticeReceiver(handle, receive, Unmanaged.passUnretained(self).toOpaque())
        // There is no result while it connects: a verbose message has the server's SQLSTATE in its text.
        _ = unsafe libpq.setErrorVerbosity(handle, Libpq.verbose)
    }

    /// Waits until the connection is made.
    /// - Returns: nil then; else the host that did not answer in its time.
    private func awaitConnection(
        _ hosts: [PostgresHost], _ deadline: Instant, _ silent: [String]
    ) throws(PostgresError) -> PostgresHost? {
        guard let handle = unsafe handle else { return nil }
        allowance = Self.unaskedBytesMax
        var (host, end) = (currentHost, share(of: deadline, hosts))
        // Begins as if the last step had asked to write, as libpq wants it.
        var step = unsafe libpq.status(handle) == 1 ? Libpq.pollingFailed : Libpq.pollingWriting
        while step == Libpq.pollingReading || step == Libpq.pollingWriting {
            // Order: the socket is asked for each time, since another host or address has another one.
            let socket = unsafe libpq.socket(handle)
            if Readiness.wait(socket, for: step == Libpq.pollingReading ? .reading : .writing, until: end).isEmpty { return host }
            step = try unsafe spendAllowance(handle, orThrow: .unreachable) { unsafe libpq.connectPoll(handle) }
            isLong = step == Libpq.pollingReading
            if currentHost != host {
                host = currentHost
                let index = hosts.firstIndex { $0.names(host) } ?? 0
                end = share(of: deadline, hosts.dropFirst(index))
            }
        }
        isLong = false
        _ = unsafe libpq.setErrorVerbosity(handle, Libpq.ordinary)
        if step == Libpq.pollingOK, unsafe libpq.setNonblocking(handle, 1) == 0 { return nil }
        var (said, state) = Self.spoken(unsafe libpq.message(handle))
        if unsafe libpq.needsPassword(handle) == 1 { state = "28P01" }
        said = (silent + [said]).joined(separator: "; ")
        cancelAndClose()
        throw PostgresError(.unreachable, sqlState: state, string.withoutSecrets("can't connect: " + string.explained(said)))
    }

    /// The server's message without the SQLSTATE and the source location in it: `FATAL:  28P01: …`.
    private static func spoken(_ text: String) -> (said: String, state: String?) {
        let parts = text.split(separator: "; ").filter { !$0.contains(#/^\S+: +\w+, \w+\.c:\d+$/#) }
        var state: String?
        let said = parts.map { part in
            String(part).replacing(#/(:  )([0-9A-Z]{5}): /#) { match in
                state = String(match.2)
                return ": "
            }
        }
        return (said.joined(separator: "; "), state)
    }

    /// The host that libpq is connecting or connected to.
    package var currentHost: PostgresHost {
        guard let handle = unsafe handle else { return PostgresHost(host: "", address: "", port: "") }
        return unsafe PostgresHost(
            host: Libpq.text(libpq.host(handle)), address: Libpq.text(libpq.hostAddress(handle)), port: Libpq.text(libpq.port(handle)))
    }

    /// When a host's time is over: after as long as the string allows, but not after more than an equal share of what is left for all
    /// remaining hosts.
    private func share(of deadline: Instant, _ hosts: some Collection<PostgresHost>) -> Instant {
        let now = Instant.now
        let share = now + now.duration(to: deadline) / max(hosts.count, 1)
        return min(share, string.patience.map { now + $0 } ?? share)
    }
}

/// Running a statement: sent, awaited, answered (PostgreSQL's documentation, 34.4).
extension PostgresConnection {
    /// The most bytes of a statement's parameters together: the server takes messages of a little more.
    private static let parameterBytesMax = 1_000_000_000

    /// Runs one statement. Outside a transaction it is a transaction of its own, which is as durable as the server makes it when this
    /// returns.
    ///
    /// Its results have binary formats, and match what the statement declares. `COPY` can't be run this way.
    /// - Parameters:
    ///   - isCancelled: whether the server is asked to end the statement when the deadline passes.
    ///   - grace: how much longer than the deadline the answer may take after bytes of it have come.
    /// - Throws: `PostgresError`; its kind says what is known of the statement.
    package func run(
        _ statement: PostgresStatement, _ parameters: [PostgresValue] = [], isCancelled: Bool = true, deadline: Instant,
        extending grace: Duration = .zero
    ) throws(PostgresError) -> PostgresRows {
        defer { withExtendedLifetime(self) {} }
        mayCancel = isCancelled
        let values = parameters.map(\.sent)
        if parameters.count > 65_535 || values.reduce(0, { $0 + $1.count }) > Self.parameterBytesMax {
            throw PostgresError(.refused, "the statement's parameters are larger than a server takes")
        }
        let handle = try unsafe idleHandle(deadline)
        warning = nil
        allowance = statement.bytesMax
        let types = parameters.map(\.type)
        let lengths = values.map { Int32($0.count) }
        let formats = [Int32](repeating: 1, count: parameters.count)
        var name = statement.name
        if let wanted = name, !kept.contains(wanted), try unsafe !keep(statement.sql, as: wanted, types, handle, deadline) { name = nil }
        let isSent = unsafe Libpq.withPointers(values) { pointers in
            if let name { return unsafe libpq.sendQueryPrepared(handle, name, Int32(parameters.count), pointers, lengths, formats, 1) }
            return unsafe libpq.sendQueryParams(handle, statement.sql, Int32(parameters.count), types, pointers, lengths, formats, 1)
        }
        do throws(PostgresError) {
            let rows = try unsafe answer(handle, isSent: isSent, deadline, extending: grace)
            guard let flaw = rows.flaw(as: statement) else { return rows }
            throw giveUp(.malformed, "the server's answer is none to the statement: \(flaw)")
        } catch {
            // The server no longer has the prepared statement, or its tables were made anew: it was not run, and is sent again without its
            // name.
            guard let name, case .refused = error.kind, ["26000", "0A000"].contains(error.sqlState) else { throw error }
            kept.remove(name)
            let unkept = PostgresStatement(statement.sql, answers: statement.columns, rows: statement.rows, bytesMax: statement.bytesMax)
            return try run(unkept, parameters, isCancelled: isCancelled, deadline: deadline, extending: grace)
        }
    }

    /// Prepares a statement on the server; false where the server has another one of this name, as behind a pooler.
    private func keep(
        _ sql: String, as name: String, _ types: [UInt32], _ handle: OpaquePointer, _ deadline: Instant
    ) throws(PostgresError) -> Bool {
        do throws(PostgresError) {
            _ = try unsafe answer(handle, isSent: libpq.sendPrepare(handle, name, sql, Int32(types.count), types), deadline)
        } catch {
            if error.sqlState == "42P05" { return false }
            // The statement itself was not sent.
            throw error.kind == .connectionLost ? PostgresError(.unreachable, sqlState: error.sqlState, error.message) : error
        }
        kept.insert(name)
        return true
    }

    /// Sends what libpq was given, and waits for the server's answer.
    private func answer(
        _ handle: OpaquePointer, isSent: Int32, _ deadline: Instant, extending grace: Duration = .zero
    ) throws(PostgresError) -> PostgresRows {
        // Libpq may have sent a part of it.
        if isSent == 0 { throw unsafe giveUp(.connectionLost, "the statement can't be sent: \(libpq.message(handle))") }
        try unsafe flush(handle, deadline)
        return try unsafe answer(handle, deadline, extending: grace)
    }

    /// The handle, after a check that the connection was there a moment ago.
    private func idleHandle(_ deadline: Instant) throws(PostgresError) -> OpaquePointer {
        guard let handle = unsafe handle else { throw PostgresError(.unreachable, "the connection was given up before") }
        if deadline.millisecondsLeft == 0 { throw PostgresError(.unreachable, "the deadline passed before the statement was sent") }
        allowance = Self.unaskedBytesMax
        // If the server is gone, this is noticed before anything is sent, so that it is certain that nothing was done.
        while unsafe !Readiness.look(libpq.socket(handle), for: .reading).isEmpty, deadline.millisecondsLeft > 0 {
            if try unsafe !receive(handle, orThrow: .unreachable) { throw unsafe giveUp(.unreachable, libpq.message(handle)) }
            // Messages that were not asked for may be long too, and libpq does not count as busy with them.
            isLong = true
        }
        if isBroken { throw unsafe giveUp(.unreachable, libpq.message(handle)) }
        return unsafe handle
    }

    /// Sends what waits to be sent, and reads meanwhile: a server that answers before it has received everything would otherwise wait for
    /// this side.
    private func flush(_ handle: OpaquePointer, _ deadline: Instant) throws(PostgresError) {
        while true {
            // Where this fails, the server's last message, read with the answer, says more.
            if unsafe libpq.flush(handle) <= 0 { return }
            let ready = unsafe Readiness.wait(libpq.socket(handle), for: [.reading, .writing], until: deadline)
            if ready.isEmpty { throw giveUp(.connectionLost, "the deadline passed while the statement was sent") }
            if ready.contains(.reading), try unsafe !receive(handle) { return }
        }
    }

    /// Reads the server's whole answer: the result, and that it is ready for another statement.
    private func answer(
        _ handle: OpaquePointer, _ deadline: Instant, extending grace: Duration
    ) throws(PostgresError) -> PostgresRows {
        var failure: PostgresError?
        var rows: PostgresRows?
        var loss: String?
        while true {
            let lost = try unsafe awaitResult(handle, deadline, extending: grace)
            loss = loss ?? lost
            guard let result = unsafe libpq.getResult(handle) else { break }
            let status = unsafe libpq.resultStatus(result)
            // Order: first, since the rows own the result and clear it, whatever it is.
            let found = unsafe PostgresRows(libpq, owning: result)
            if Libpq.copies.contains(status) { throw giveUp(.connectionLost, "COPY can't be run as a statement") }
            if [Libpq.emptyQuery, Libpq.commandOK, Libpq.tuplesOK].contains(status) {
                rows = consume found
            } else {
                failure = failure ?? found.failure
            }
        }
        // Without an error of the server, as when there is no memory for its answer, the statement may have been done.
        if isBroken || (failure != nil && failure?.sqlState == nil) {
            let said = failure.flatMap { $0.sqlState == nil ? nil : $0.message } ?? loss ?? failure?.message
            throw unsafe giveUp(.connectionLost, sqlState: failure?.sqlState, said ?? libpq.message(handle))
        }
        if let failure { throw PostgresError(.refused, sqlState: failure.sqlState, string.withoutSecrets(failure.message)) }
        guard let rows = consume rows else { throw giveUp(.connectionLost, "the server did not answer the statement") }
        return rows
    }

    /// - Returns: libpq's message where the connection has ended; the last result may have the server's own message.
    private func awaitResult(
        _ handle: OpaquePointer, _ deadline: Instant, extending grace: Duration
    ) throws(PostgresError) -> String? {
        var deadline = deadline
        while unsafe libpq.isBusy(handle) != 0 {
            if unsafe Readiness.wait(libpq.socket(handle), for: .reading, until: deadline).isEmpty {
                throw giveUp(.connectionLost, "the deadline passed before the server answered")
            }
            if try unsafe !receive(handle) { return unsafe libpq.message(handle) }
            if grace > .zero { deadline = max(deadline, .now + grace) }
        }
        return nil
    }

    /// Reads what has come, as far as the allowance goes; false where the connection has ended.
    private func receive(_ handle: OpaquePointer, orThrow kind: PostgresError.Kind = .malformed) throws(PostgresError) -> Bool {
        let answer = try unsafe spendAllowance(handle, orThrow: kind) { unsafe libpq.consumeInput(handle) }
        // By now libpq knows how long the message is that has begun, and has allocated memory for all of it.
        isLong = unsafe libpq.isBusy(handle) != 0
        return answer != 0
    }

    /// Lets libpq read, and subtracts what it has read from the allowance: libpq would take whatever the server sends into memory.
    func spendAllowance(
        _ handle: OpaquePointer, orThrow kind: PostgresError.Kind, reading read: () -> Int32
    ) throws(PostgresError) -> Int32 {
        let socket = unsafe libpq.socket(handle)
        if isLong, gate?.isOf(socket) != true { gate = ReceiveLimiter(socket) }
        let gate = isLong ? gate : nil
        gate?.open(for: allowance)
        // Order: bytes that come between these two queries make the difference smaller than what was read, never larger.
        let before = Readiness.waitingBytes(socket)
        let receivedBefore = Readiness.receivedBytes(socket)
        let answer = read()
        let received = Readiness.receivedBytes(socket) - receivedBefore
        // At least this much was read, since libpq makes room for it first.
        allowance -= max(before + received - Readiness.waitingBytes(socket), min(before, Self.readBytesMin))
        if allowance < 0 || gate?.close() == false { throw giveUp(kind, "the server sends more than belongs to an answer") }
        return answer
    }

    /// The least free room of libpq's buffer when it reads.
    private static let readBytesMin = 8_192

    /// The most bytes that a server may send unasked: settings of the session, notices.
    static let unaskedBytesMax = 1 << 20

    /// Closes the connection, and returns an error with the reason.
    private func giveUp(_ kind: PostgresError.Kind, sqlState: String? = nil, _ message: String) -> PostgresError {
        // Order: the message is a copy, made before libpq frees its text.
        cancelAndClose()
        return PostgresError(kind, sqlState: sqlState, string.withoutSecrets(message))
    }
}
