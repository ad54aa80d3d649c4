internal import Foundation
internal import Glibc
package import Platform
package import PostgreSQL

/// A real PostgreSQL server of one test, in a directory of its own. It ends with the process of the tests at the latest: a shell beside it
/// looks whether that still lives.
package final class PostgresServer: Sendable {
    /// How a server stops: it ends its connections; it stops as in a crash; it waits until its clients have gone.
    package enum StopMode: Sendable { case fast, immediate, smart }

    package struct Options: Sendable {
        /// False where a test asks nothing of a disk.
        package var fsync = true
        /// Whether connections over TCP need a password; those over the socket never do.
        package var asksPasswords = false
        /// Whether it has a certificate for 127.0.0.1, which it signed itself.
        package var hasTLS = false
        /// The size of the disk that its data lie on, which is then one in memory of its own (`PostgresServer.canMount`); nil for the disk of
        /// the tests.
        package var diskBytes: Int?
        /// Whether it has a system identifier of its own; the others have one together.
        package var isOwnSystem = false
        /// Beside these, as in `postgresql.conf`.
        package var settings: [String: String] = [:]

        package init(fsync: Bool = true, asksPasswords: Bool = false, hasTLS: Bool = false, settings: [String: String] = [:]) {
            (self.fsync, self.asksPasswords, self.hasTLS, self.settings) = (fsync, asksPasswords, hasTLS, settings)
        }
    }

    package let port: Int
    /// Holds the socket, the log, and `data`.
    package let directory: String
    private let process = Monitor<ChildProcess?>(nil)
    let standbys = Monitor<[PostgresServer]>([])

    init(directory: String) throws { (self.directory, port) = (directory, try PostgresPrograms.freePort()) }

    /// A server with nothing in it, that runs.
    static func make(_ options: Options) throws -> PostgresServer {
        let server = try PostgresServer(directory: try PostgresPrograms.makeDirectory())
        do {
            if let bytes = options.diskBytes { try server.mount(bytes) }
            let data = options.diskBytes == nil ? "/data" : "/disk/data"
            if options.isOwnSystem {
                try PostgresPrograms.initialize(server.directory)
            } else {
                try PostgresPrograms.copy(PostgresPrograms.template.get(), to: server.directory + data)
            }
            if options.asksPasswords {
                try server.write("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n", to: "pg_hba.conf")
            }
            if options.hasTLS { try server.makeCertificate() }
            try server.configure(options.settings.merging(["fsync": options.fsync ? "on" : "off"]) { old, _ in old })
            try server.start()
        } catch {
            server.remove()
            throw error
        }
        return server
    }

    /// Whether this user may mount a file system.
    package static let canMount: Bool = {
        do { return try BuiltProgram(path: "/usr/bin/unshare").run("-m", "mount", "-t", "tmpfs", "none", "/mnt").exit == 0 } catch {
            return false
        }
    }()

    private func mount(_ bytes: Int) throws {
        try BuiltProgram.shell("mkdir \(directory)/disk; mount -t tmpfs -o size=\(bytes),mode=777 none \(directory)/disk")
        try BuiltProgram.shell("ln -s \(directory)/disk/data \(directory)/data")
    }

    /// Fills the disk that it was given to the last byte, or takes back what filled it.
    package func fillDisk(_ isFull: Bool) throws {
        let filler = directory + "/disk/filler"
        try BuiltProgram.shell(isFull ? "dd if=/dev/zero of=\(filler) bs=4k 2>/dev/null || true" : "rm \(filler)")
    }

    package var certificate: String { directory + "/data/server.crt" }

    private func makeCertificate() throws {
        try PostgresPrograms.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=tests",
                "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory + "/data/server.key", "-out", certificate,
            ], log: directory + "/openssl")
        try configure(["ssl": "on"])
    }

    /// Over TCP, as the superuser `postgres`, who has no password before a test gives one.
    package var conninfo: String { "host=127.0.0.1 port=\(port) user=postgres dbname=postgres \(Self.patience)" }

    /// Over the server's Unix socket.
    package var socketConninfo: String { "host=\(directory) port=\(port) user=postgres dbname=postgres \(Self.patience)" }

    /// In a connection string: a host that takes long is not passed over.
    package static let patience = "connect_timeout=\(Patience.seconds)"

    /// What the server wrote.
    package var log: String {
        get throws { try String(contentsOfFile: directory + "/log.err", encoding: .utf8) }
    }

    /// Adds settings, which are in force from the next start on.
    package func configure(_ settings: [String: String]) throws {
        let own = [
            "listen_addresses": "127.0.0.1", "port": "\(port)", "unix_socket_directories": directory, "max_connections": "50",
            "shared_buffers": "32MB", "wal_level": "replica",
        ]
        let file = try String(contentsOfFile: directory + "/data/postgresql.conf", encoding: .utf8)
        try write(file + own.merging(settings) { $1 }.map { "\($0) = '\($1)'\n" }.joined(), to: "postgresql.conf")
    }

    /// Not atomically, which would give the file to the user of the tests.
    func write(_ text: String, to name: String) throws {
        try text.write(toFile: directory + "/data/" + name, atomically: false, encoding: .utf8)
    }

    /// Returns when the server takes connections.
    package func start() throws {
        let watching = """
            ( ( while [ -d /proc/$1 ] && [ -d /proc/$$ ]; do sleep 0.3; done
            [ -d /proc/$1 ] && exit; kill -QUIT $$; for i in 1 2 3 4 5 6 7 8 9 10; do [ -d /proc/$$ ] && sleep 1; done
            rm -rf "$2" ) & ) &&
            """
        let started = try PostgresPrograms.start(
            "postgres", ["-D", directory + "/data"], script: watching, directory: directory, log: directory + "/log")
        let id = started.id
        process.withLock { $0 = started }
        try waitUntil("the server's start") {
            // Its eighth line says how far it is.
            guard let file = FileManager.default.contents(atPath: self.directory + "/data/postmaster.pid") else { return false }
            let lines = String(decoding: file, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            return lines.count > 7 && lines[0] == "\(id)" && ["ready", "standby"].contains(lines[7].trimmingCharacters(in: .whitespaces))
        }
    }

    package var isRunning: Bool { process.withLock { $0?.isRunning ?? false } }

    /// Returns when the server has stopped; nothing where it does not run.
    package func stop(_ mode: StopMode = .fast) {
        process.withLock { process in
            process?.send(signal: mode == .fast ? SIGINT : mode == .immediate ? SIGQUIT : SIGTERM)
            _ = process?.wait()
            process = nil
        }
    }

    package func restart(_ mode: StopMode = .fast) throws {
        stop(mode)
        try start()
    }

    /// Sends a signal to one of the server's processes: `SIGSTOP` makes a connection hang. After a `SIGKILL` the server ends all its
    /// connections and recovers; this returns when it has begun to.
    package func send(_ signal: Int32, toBackend id: Int64) {
        kill(Int32(id), signal)
        // The server has noticed when it has taken what was left of the process.
        let deadline = Instant.now + .patience
        while signal == SIGKILL, .now < deadline, FileManager.default.fileExists(atPath: "/proc/\(id)") { usleep(5_000) }
    }

    /// A connection; waits for a server that recovers from a crash.
    package func connect() throws(PostgresError) -> PostgresConnection {
        let deadline = Instant.now + .patience
        while true {
            do throws(PostgresError) {
                return try PostgresConnection(
                    socketConninfo + " target_session_attrs=any", deadline: deadline, application: "evstore-tests")
            } catch {
                if error.kind != .unreachable || .now > deadline { throw error }
                usleep(20_000)
            }
        }
    }

    /// Waits until one of the server's processes waits for something itself, by the name that `pg_stat_activity` has for it.
    package func waitUntil(backend id: Int64, waitsFor event: String) throws {
        let connection = try connect()
        try waitUntil("waiting for \(event)") {
            try connection.run("SELECT count(*) FROM pg_stat_activity WHERE pid = \(id) AND wait_event = '\(event)'").int(0, 0) == 1
        }
    }

    /// Waits until something is so, as long as the server runs.
    package func waitUntil(_ what: String, until isSo: () throws -> Bool) throws {
        let deadline = Instant.now + .patience
        while try !isSo() {
            guard isRunning, .now < deadline else { throw PostgresPrograms.Failure(description: "\(what) failed: \(try log)") }
            usleep(10_000)
        }
    }

    /// Stops it with its standbys, and removes what it had.
    func remove() {
        for standby in standbys.withLock({ $0 }) { standby.remove() }
        stop(.immediate)
        do {
            if FileManager.default.fileExists(atPath: directory + "/disk") { try BuiltProgram.shell("umount \(directory)/disk") }
            try FileManager.default.removeItem(atPath: directory)
        } catch {}
    }
}

/// Runs `body` with a server of its own, which is stopped and removed behind it.
package func withPostgres<R>(_ options: PostgresServer.Options = .init(), _ body: (PostgresServer) throws -> R) throws -> R {
    let server = try PostgresServer.make(options)
    defer { server.remove() }
    return try body(server)
}

/// The same for what waits.
package func withPostgres<R>(_ options: PostgresServer.Options = .init(), _ body: (PostgresServer) async throws -> R) async throws -> R {
    let server = try PostgresServer.make(options)
    defer { server.remove() }
    return try await body(server)
}

extension PostgresConnection {
    /// Runs a statement whose answer may have whatever columns and rows the test then looks at.
    package func run(
        _ sql: String, _ parameters: [PostgresValue] = [], keptAs name: String? = nil,
        deadline: Instant = .now + .patience
    ) throws(PostgresError) -> PostgresRows {
        let statement = PostgresStatement(sql, answers: nil, keptAs: name, bytesMax: .max)
        return try run(statement, parameters, deadline: deadline)
    }
}
