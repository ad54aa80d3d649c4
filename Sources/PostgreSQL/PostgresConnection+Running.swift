/// Running a statement: sent, awaited, answered (PostgreSQL's documentation, 34.4).
extension PostgresConnection {
    /// The most bytes of a statement's parameters together: the server takes messages of a little more.
    private static let parameterBytesMax = 1_000_000_000

    /// Runs one statement. Outside a transaction it is a transaction of its own, which is as durable as the server makes it when this
    /// returns.
    ///
    /// Its results have binary formats, and match what the statement declares. `COPY` can't be run this way.
    /// - Parameter isCancelled: whether the server is asked to end the statement when the deadline passes.
    /// - Throws: `PostgresError`; its kind says what is known of the statement.
    package func run(
        _ statement: PostgresStatement, _ parameters: [PostgresValue] = [], isCancelled: Bool = true, deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresRows {
        defer { withExtendedLifetime(self) {} }
        mayCancel = isCancelled
        let values = parameters.map(\.sent)
        if parameters.count > 65_535 || values.reduce(0, { $0 + ($1?.count ?? 0) }) > Self.parameterBytesMax {
            throw PostgresError(.refused, "the statement's parameters are larger than a server takes")
        }
        let handle = try unsafe idleHandle(deadline)
        warning = nil
        allowance = statement.bytesMax
        let types = parameters.map(\.type)
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: parameters.count)
        var name = statement.name
        if let wanted = name, !kept.contains(wanted), try unsafe !keep(statement.sql, as: wanted, types, handle, deadline) { name = nil }
        let isSent = unsafe Libpq.withPointers(values) { pointers in
            if let name { return unsafe libpq.sendQueryPrepared(handle, name, Int32(parameters.count), pointers, lengths, formats, 1) }
            return unsafe libpq.sendQueryParams(handle, statement.sql, Int32(parameters.count), types, pointers, lengths, formats, 1)
        }
        do throws(PostgresError) {
            let rows = try unsafe answer(handle, isSent: isSent, deadline)
            guard let flaw = rows.flaw(as: statement) else { return rows }
            throw giveUp(.malformed, "the server's answer is none to the statement: \(flaw)")
        } catch {
            // The server no longer has the prepared statement, or its tables were made anew: it was not run, and is sent again without its
            // name.
            guard let name, case .refused = error.kind, ["26000", "0A000"].contains(error.sqlState) else { throw error }
            kept.remove(name)
            return try run(statement.withoutName, parameters, isCancelled: isCancelled, deadline: deadline)
        }
    }

    /// Prepares a statement on the server; false where the server has another one of this name, as behind a pooler.
    private func keep(
        _ sql: String, as name: String, _ types: [UInt32], _ handle: OpaquePointer, _ deadline: ContinuousClock.Instant
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
        _ handle: OpaquePointer, isSent: Int32, _ deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresRows {
        // Libpq may have sent a part of it.
        if isSent == 0 { throw unsafe giveUp(.connectionLost, "the statement can't be sent: \(libpq.message(handle))") }
        try unsafe flush(handle, deadline)
        return try unsafe answer(handle, deadline)
    }

    /// The handle, after a check that the connection was there a moment ago.
    private func idleHandle(_ deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer {
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
    private func flush(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            // Where this fails, the server's last message, read with the answer, says more.
            if unsafe libpq.flush(handle) <= 0 { return }
            let ready = unsafe Readiness.wait(libpq.socket(handle), for: [.reading, .writing], until: deadline)
            if ready.isEmpty { throw giveUp(.connectionLost, "the deadline passed while the statement was sent") }
            if ready.contains(.reading), try unsafe !receive(handle) { return }
        }
    }

    /// Reads the server's whole answer: the result, and that it is ready for another statement.
    private func answer(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresRows {
        var failure: PostgresError?
        var rows: PostgresRows?
        var loss: String?
        while true {
            let lost = try unsafe awaitResult(handle, deadline)
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
    private func awaitResult(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant) throws(PostgresError) -> String? {
        while unsafe libpq.isBusy(handle) != 0 {
            if unsafe Readiness.wait(libpq.socket(handle), for: .reading, until: deadline).isEmpty {
                throw giveUp(.connectionLost, "the deadline passed before the server answered")
            }
            if try unsafe !receive(handle) { return unsafe libpq.message(handle) }
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
