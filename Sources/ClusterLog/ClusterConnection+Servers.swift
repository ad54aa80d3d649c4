internal import EventLog
internal import EventModel
internal import PostgreSQL

extension ClusterConnection {
    /// Connects to the first server that may be used. If that server was replaced, according to this node or to another host of the
    /// connection string, it tries the others.
    /// - Throws: `PostgresError`; `EvstoreError` where the only server that answers may not be used.
    func admitted(by deadline: ContinuousClock.Instant) throws -> PostgresConnection {
        var (hosts, refusal): ([PostgresHost]?, (any Error)?) = (nil, nil)
        while true {
            let made: PostgresConnection
            do {
                made = try PostgresConnection(conninfo, deadline: deadline, application: application, .init(hosts))
                _ = try made.run(FrameTable.beginning, [], deadline: deadline)
            } catch { throw refusal ?? error }
            do {
                guard let mark = try made.serverMark(by: deadline) else { return made }
                try check(mark)
                guard hosts == nil, let newer = ServerProbe.newer(than: mark, at: made.currentHost, conninfo, by: deadline)
                else { return made }
                made.cancelAndClose()
                (hosts, refusal) = ([newer], nil)
            } catch let error as EvstoreError {
                let own = made.currentHost
                let others = try (hosts ?? PostgresConnection.hosts(conninfo)).filter { !$0.names(own) }
                made.cancelAndClose()
                if others.isEmpty { throw error }
                (hosts, refusal) = (others, error)
            }
        }
    }
}

extension PostgresConnection {
    /// Identifies the server; nil where it takes no writes, or does not say it, such as a server that only speaks the protocol.
    func serverMark(by deadline: ContinuousClock.Instant) throws(PostgresError) -> ServerMark? {
        do throws(PostgresError) {
            let rows = try run(FrameTable.server, [], deadline: deadline)
            guard let system = rows.int(0, 0), let timeline = rows.int(0, 1), timeline > 0 else { return nil }
            return ServerMark(system: UInt64(bitPattern: system), timeline: UInt32(clamping: timeline))
        } catch {
            guard case .refused = error.kind else { throw error }
            return nil
        }
    }
}
