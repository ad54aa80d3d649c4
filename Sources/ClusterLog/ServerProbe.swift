internal import EventLog
package import EventModel
internal import Platform
internal import PostgreSQL

/// The state of one host of a connection string.
package struct ServerProbe: Sendable {
    /// `host:port`; "" where the string names only one host.
    package var host: String
    /// Why the host can't be asked; nil where it answers.
    package var failure: String?
    package var takesWrites = false
    /// Nil where the server takes no writes, or does not say it.
    package var mark: ServerMark?

    /// Asks each host of a connection string, one after the other.
    /// - Throws: `EvstoreError.logUnavailable` where the string can't be parsed, or libpq can't be loaded.
    package static func all(_ conninfo: String, of log: String) throws(EvstoreError) -> [ServerProbe] {
        do {
            let hosts = try PostgresConnection.hosts(conninfo)
            if hosts.isEmpty { return [look(conninfo, nil, by: .now + interval)] }
            return hosts.map { look(conninfo, $0, by: .now + interval) }
        } catch { throw .logUnavailable(log: log, reason: error.message) }
    }

    private static let interval = Duration.seconds(3)
    /// The longest time that connecting takes for asking all other hosts; a process that connects repeatedly asks them only now and then.
    private static let asideInterval = Duration.seconds(1)
    private static let againAfter = Duration.seconds(5)
    private static let asked = Monitor<[String: (at: ContinuousClock.Instant, newer: PostgresHost?)]>([:])

    /// A host of the connection string that takes writes on a newer timeline than the current host, which then was replaced and started
    /// again; nil where there is none.
    /// - Parameter own: the current host, which takes writes too; only the others are asked, each in its share of the time.
    static func newer(
        than mark: ServerMark, at own: PostgresHost, _ conninfo: String, by deadline: ContinuousClock.Instant
    ) -> PostgresHost? {
        if let last = asked.withLock({ $0[conninfo] }), last.at.duration(to: .now) < againAfter { return last.newer }
        let end = min(deadline, .now + asideInterval)
        var newer: PostgresHost?
        do {
            let others = try PostgresConnection.hosts(conninfo).filter { !$0.names(own) }
            newer = others.indices.first { index in
                let share = ContinuousClock.now.duration(to: end) / (others.count - index)
                let look = look(conninfo, others[index], by: .now + share)
                return look.takesWrites && look.mark.map { $0.system == mark.system && $0.timeline > mark.timeline } ?? false
            }.map { others[$0] }
        } catch { return nil }
        asked.withLock { $0[conninfo] = (.now, newer) }
        return newer
    }

    private static func look(_ conninfo: String, _ host: PostgresHost?, by deadline: ContinuousClock.Instant) -> ServerProbe {
        let name = host.map { "\($0.host.isEmpty ? $0.address : $0.host)\($0.port.isEmpty ? "" : ":\($0.port)")" } ?? ""
        var look = ServerProbe(host: name)
        do {
            let made = try PostgresConnection(
                conninfo, deadline: deadline, application: "evstore", .init(host.map { [$0] }, takesAny: true))
            let isReadOnly = try made.run(FrameTable.isReadOnly, [], deadline: deadline).int(0, 0) != 0
            look.takesWrites = !isReadOnly
            look.mark = try made.serverMark(by: deadline)
        } catch { look.failure = error.message }
        return look
    }
}
