internal import Platform
internal import PostgreSQL

extension PostgresServer {
    /// A second server that follows this one through a replication slot, and runs; it is removed with this one.
    /// - Parameter synchronous: whether this server answers a commit only when the standby has it on its disk.
    package func makeStandby(synchronous: Bool) throws -> PostgresServer {
        let standby = try PostgresServer(directory: try PostgresPrograms.makeDirectory())
        let name = standbys.withLock { standbys in
            standbys.append(standby)
            return "standby\(standbys.count)"
        }
        try PostgresPrograms.run(
            "pg_basebackup",
            [
                "--pgdata=\(standby.directory)/data", "--dbname=\(socketConninfo)", "--write-recovery-conf", "--create-slot",
                "--slot=\(name)", "--checkpoint=fast", "--wal-method=stream", "--no-sync",
            ], log: standby.directory + "/basebackup")
        try standby.configure(["cluster_name": name])
        try standby.start()
        let connection = try connect()
        if synchronous {
            _ = try connection.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
            _ = try connection.run("SELECT pg_reload_conf()")
        }
        try waitUntil("following by \(name)") {
            let rows = try connection.run(
                "SELECT state, sync_state FROM pg_stat_replication WHERE application_name = $1", [.text(name)])
            return rows.count == 1 && rows.text(0, 0) == "streaming" && rows.text(0, 1) == (synchronous ? "sync" : "async")
        }
        return standby
    }

    /// Makes a standby a server of its own, which takes writes when this returns.
    package func promote() throws {
        let rows = try connect().run("SELECT pg_promote(true, \(Patience.seconds))", deadline: .now + .patience * 2)
        guard rows.int(0, 0) == 1 else { throw PostgresPrograms.Failure(description: "the standby can't be promoted: \(try log)") }
    }
}
