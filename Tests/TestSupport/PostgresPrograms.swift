internal import Foundation
internal import Glibc
internal import Platform

/// The programs of Debian's package postgresql-15, run as a user who may: PostgreSQL refuses root.
enum PostgresPrograms {
    private static let folder = "/usr/lib/postgresql/15/bin"

    /// A program that is not there, or failed.
    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Starts a program of the package, or another by its path; where the tests run as root, it is the user `postgres`.
    /// - Parameter script: what a shell does before it becomes the program, with the arguments from `$3` on, this process as `$1`.
    static func start(
        _ name: String, _ arguments: [String], script: String = "", directory: String = "", log: String
    ) throws -> ChildProcess {
        let program = name.hasPrefix("/") ? name : folder + "/" + name
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Failure(description: "\(program) is not there: apt-get install postgresql-15")
        }
        // Where the tests are, that user may not be.
        let shell = ["/bin/sh", "-c", "cd / && \(script) shift 2 && exec \"$@\"", "sh", "\(getpid())", directory, program] + arguments
        let asUser = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        let command = getuid() == 0 ? asUser + shell : shell
        return try ChildProcess(
            command[0], Array(command.dropFirst()), environment: ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"],
            files: .init(output: log, errors: log + ".err"), inOwnGroup: true)
    }

    /// Runs a program to its end, which must be a success.
    static func run(_ name: String, _ arguments: [String], log: String) throws {
        let ending = try start(name, arguments, log: log).wait()
        guard ending == .exit(0) else {
            throw Failure(description: "\(name) ended with \(ending): \(try String(contentsOfFile: log + ".err", encoding: .utf8))")
        }
    }

    /// Makes a directory that belongs to the user of the servers. It lies in `/tmp`, where that user gets in, and where the path of a
    /// socket is short enough.
    static func makeDirectory() throws -> String {
        let path = "/tmp/evstore-pg-\(UUID().uuidString.prefix(13).lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o711])
        if getuid() == 0 {
            try FileManager.default.setAttributes([.ownerAccountName: "postgres", .groupOwnerAccountName: "postgres"], ofItemAtPath: path)
        }
        return path
    }

    /// What `initdb` makes, once in a process: each server gets a copy. It is removed when this process has ended.
    static let template = Result { () throws -> String in
        let directory = try makeDirectory()
        try initialize(directory)
        let watching = "( ( while [ -d /proc/$1 ]; do sleep 0.5; done; rm -rf \"$2\" ) & ) &&"
        _ = try start("postgres", ["--version"], script: watching, directory: directory, log: directory + "/watch").wait()
        return directory + "/data"
    }

    /// Makes a system of its own below a directory.
    static func initialize(_ directory: String) throws {
        try run(
            "initdb",
            [
                "--pgdata=\(directory)/data", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
                "--no-instructions",
            ], log: directory + "/initdb")
    }

    /// Copies a directory with its owner.
    static func copy(_ source: String, to target: String) throws {
        let command = ["-a", "--reflink=auto", source, target]
        let ending = try ChildProcess(
            "/bin/cp", command, environment: [], files: .init(output: "/dev/null", errors: nil)
        ).wait()
        guard ending == .exit(0) else { throw Failure(description: "\(source) can't be copied to \(target)") }
    }

    /// A port of 127.0.0.1 that nobody has.
    static func freePort() throws -> Int {
        let listener = try PlainListener(isListening: false)
        return listener.port
    }
}
