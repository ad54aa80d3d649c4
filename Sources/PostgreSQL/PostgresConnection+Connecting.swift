/// Connecting step by step, so that a deadline can end it (PostgreSQL's documentation, 34.1: `PQconnectPoll`).
extension PostgresConnection {
    /// Goes on with the next hosts where one does not answer: libpq does not watch the time when it connects step by step.
    func connect(application: String, _ choice: HostChoice, deadline: ContinuousClock.Instant) throws(PostgresError) {
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
        _ hosts: [PostgresHost], _ deadline: ContinuousClock.Instant, _ silent: [String]
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
    private func share(of deadline: ContinuousClock.Instant, _ hosts: some Collection<PostgresHost>) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let share = now + now.duration(to: deadline) / max(hosts.count, 1)
        return min(share, string.patience.map { now + $0 } ?? share)
    }
}
