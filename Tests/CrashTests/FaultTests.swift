import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

/// A call of the C library that fails once in a process of ours.
struct Fault: CustomTestStringConvertible, Sendable {
    let call: String
    let error: Int32

    var testDescription: String { "\(call) fails with \(error == EIO ? "EIO" : "ENOSPC")" }

    static let all = ["write", "sync"].flatMap { call in [EIO, ENOSPC].map { Fault(call: call, error: $0) } }

    /// A program whose `nth` such call on a file of this name fails.
    func program(_ program: BuiltProgram, nth: Int, on file: String) throws -> BuiltProgram {
        try program.withFault(DiskFault(.fail, error: error, at: nth), at: call, of: file)
    }
}

@Suite("A disk that fails", .serialized)
struct FaultTests {
    @Test(
        "each failing call of an import is an error, nothing is half there, and running it again adds every line once", arguments: Fault.all
    )
    func imports(fault: Fault) throws {
        for nth in 1 ... 20 {
            let orders = try Orders(count: 10)
            let lines = Orders.lines(10 ..< 200)
            let faulty = try fault.program(orders.program, nth: nth, on: "/log/data.mdb")
            let outcome = try faulty.run(["import", "-", "--as", "v1"], input: lines)
            #expect(outcome.signal == nil && [0, 1].contains(outcome.exit), "call \(nth): \(outcome.errors)")
            // A full disk is said to be one, but of the write that may have made the commit: that leaves the outcome open.
            if outcome.exit == 1, !outcome.errors.contains("failed during a commit") {
                #expect(fault.error == ENOSPC && outcome.errors.contains("full"), "\(outcome.errors)")
            }
            try orders.program.must("verify", "--deep")
            let left = try orders.program.must("export").lines.count
            #expect(outcome.exit == 0 ? left == 200 : left >= 10)
            try orders.program.must("import", "-", "--as", "v1", input: lines)
            #expect(try orders.program.must("export").lines.count == 200)
            if outcome.exit == 0 { return }
        }
        Issue.record("an import makes more than twenty such calls")
    }

    @Test("a call that fails anywhere in a replay leaves the old or the new state, and running it again finishes", arguments: Fault.all)
    func replays(fault: Fault) throws {
        var nth = 1
        while true {
            let orders = try Orders(count: 50)
            let faulty = try fault.program(orders.program, nth: nth, on: "/data.mdb")
            let replay = ["replay", "--to", "v5", "--schemas", Orders.schemas]
            let outcome = try faulty.run(replay)
            #expect(outcome.signal == nil && [0, 1].contains(outcome.exit), "call \(nth): exit \(outcome.exit) \(outcome.errors)")
            try orders.program.must("verify", "--deep")
            #expect(try [1, 5].contains(orders.live))
            try orders.program.must(replay)
            #expect(try orders.live == 5)
            let fresh = try orders.program.must("replay", "--to", "v5", "--dry-run", "--json").output
            #expect(try fresh.contains(#require(orders.digests(at: 5)["orders"])), "call \(nth)")
            if outcome.exit == 0 { break }
            // Every call at first, then at growing distances: a replay makes many, and each round runs six processes.
            nth += 1 + nth / 4
        }
        #expect(nth > 1, "no call failed")
    }

    @Test("an anchor that a full disk has no room for takes nothing back: a command is done, and once", arguments: 1 ... 4)
    func anchor(nth: Int) throws {
        let orders = try Orders(count: 10)
        let faulty = try Fault(call: "write", error: ENOSPC).program(orders.program, nth: nth, on: "/anchor")
        let outcome = try faulty.run(["snapshot", "take", "here"])
        #expect(outcome.exit == 0, "call \(nth): \(outcome.errors)")
        #expect(try orders.program.must("snapshot", "list").output.contains("here"))
        try orders.program.must("verify", "--deep")
        try orders.program.must("import", "-", "--as", "v1", input: Orders.lines(10 ..< 12))
    }

    @Test("under a limit on address space a command works or ends with an error, never a crash")
    func addressSpace() throws {
        let orders = try Orders(count: 20)
        for megabytes in [16_000, 2_000, 600] {
            let shell = BuiltProgram(path: "/bin/sh", environment: orders.program.environment)
            let outcome = try shell.run("-c", "ulimit -v \(megabytes * 1_024); exec \(orders.program.path) export")
            #expect(outcome.signal == nil)
            #expect(outcome.exit == 0 ? outcome.lines.count == 20 : outcome.errors.contains("memory"), "\(megabytes) MB: \(outcome.errors)")
        }
        try orders.program.must("verify", "--deep")
    }

    @Test("with too few open files a command says so, and does not crash", arguments: [3, 4, 5, 6, 8, 10])
    func fewFiles(_ count: Int) throws {
        let outcome = try BuiltProgram(path: "/bin/sh").run("-c", "ulimit -n \(count); exec \(BuiltProgram().path) --version")
        // With fewer, not even the program's libraries can be loaded.
        if count > 3 { #expect(outcome.exit == 1 && outcome.errors.contains("raise the limit of open files"), "\(outcome)") }
        #expect(outcome.signal == nil, "\(outcome)")
    }

    /// Runs a command line as a user of whom the system starts no more than `count` threads: such a limit does not hold for root.
    private func run(_ line: String, withThreads count: Int) throws -> BuiltProgram.Outcome {
        let limited = "ulimit -u \(count); exec \(BuiltProgram().path) \(line)"
        return try BuiltProgram(path: "/bin/sh").run(
            "-c", "exec timeout -s KILL \(Patience.seconds) setpriv --reuid 54321 --clear-groups bash -c '\(limited)'")
    }

    @Test("with too few threads a command says so at once", .enabled(if: getuid() == 0), arguments: 1 ... 5)
    func fewThreads(_ count: Int) throws {
        // The user may not be allowed to read the program.
        guard try run("--version", withThreads: 50).exit == 0 else { return }
        let outcome = try run("--version", withThreads: count)
        #expect(outcome.exit == 1 && outcome.errors.contains("raise the limit of threads"), "\(count): \(outcome)")
    }

    @Test("a limit on the size of files is an error, not a signal")
    func fileSize() throws {
        let orders = try Orders(count: 20)
        let shell = BuiltProgram(path: "/bin/sh", environment: orders.program.environment)
        let outcome = try shell.run(
            ["-c", "ulimit -f 400; exec \(orders.program.path) import - --as v1"], input: Orders.lines(20 ..< 3_000))
        #expect(outcome.signal == nil && outcome.exit == 1, "\(outcome.errors)")
        try orders.program.must("verify", "--deep")
        #expect(try orders.program.must("export").lines.count >= 20)
    }

    @Test(
        "a forget with no room for an archive's new lines names the archive, leaves no part of it, and is completed by another one",
        .enabled(if: MountedDisk.isPossible, mounting))
    func forgetting() throws {
        let script = """
            head -c 32 /dev/urandom >"$DISK/key" && chmod 600 "$DISK/key" && mkdir "$DISK/s"
            echo 'evstore: 1
            version: 1
            events: {Joined: {stream: "person-{/id}", required: [id, name], properties: {id: {type: string}, name: {type: string, personal: true}}}}
            ' >"$DISK/s/v1.yaml"
            e() { evstore --any-file-system --key-file "$DISK/key" "$@"; }
            e init --at v1 --schemas "$DISK/s" >&2
            e snapshot take here >&2
            yes '{"stream":"person-1","type":"Joined","data":{"id":"1","name":"Ada King, Countess of Lovelace"}}' | head -n 20000 | e import - --as v1 >&2
            e rollback --to-snapshot here --discard-tail >&2
            e append person-1 Joined '{"id":"1","name":"Ada King"}' >&2
            free=$(df --output=avail -B1 "$DISK" | tail -n 1)
            fallocate -l $((free - 400000)) "$DISK/filler"
            tell e forget person-1 --for-good
            ls "$DISK/store/archive" | tr '\\n' ' '; echo
            rm "$DISK/filler"
            tell e forget person-1 --for-good
            tell e read person-1
            """
        let told = try MountedDisk().run("tmpfs -o size=64m", script).lines
        try #require(told.count == 4, "\(told)")
        #expect(told[0].hasPrefix("8 ") && told[0].contains("archive/") && told[0].contains("forgotten  person-1"), "\(told)")
        #expect(!told[1].contains(".tmp"), "\(told)")
        #expect(told[2].hasPrefix("0 ") && !told[3].contains("Ada"), "\(told)")
    }

    @Test("a file system that has become read-only is told by status", .enabled(if: MountedDisk.isPossible, mounting))
    func remounted() throws {
        let disk = try MountedDisk()
        let script = """
            evstore --any-file-system init --at v1 --schemas "$SCHEMAS" >&2
            tell evstore --any-file-system status --exit-code
            mount -o remount,ro "$DISK"
            tell evstore --any-file-system status --exit-code --json
            """
        let told = try disk.run("tmpfs", script).lines
        try #require(told.count == 2, "\(told)")
        #expect(told[0].hasPrefix("0 ") && told[1].hasPrefix("1 ") && told[1].contains(#""code":"readOnly""#), "\(told)")
    }

    @Test(
        "on a read-only file system everything can be read, and an append says why it can't be made",
        .enabled(if: MountedDisk.isPossible, mounting))
    func readOnly() throws {
        let orders = try Orders(count: 20)
        func mounted(_ command: String) throws -> BuiltProgram.Outcome {
            let place = orders.directory.path
            let script = "mount --bind \(place) \(place) && mount -o remount,ro,bind \(place) && exec \(orders.program.path) \(command)"
            return try BuiltProgram(path: "/usr/bin/unshare", environment: orders.program.environment).run("-m", "sh", "-c", script)
        }
        for command in ["status", "export", "query orders", "verify --deep", "journal"] {
            let outcome = try mounted(command)
            #expect(outcome.exit == 0, "\(command): \(outcome.errors)")
        }
        #expect(try mounted("export").lines.count == 20)
        // The mount alone can't be written, as that of a container that reads: the store is well.
        #expect(try mounted("status --exit-code").exit == 0)
        let away = orders.directory.path + "-away"
        try FileManager.default.createDirectory(atPath: away, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: away) }
        let key = Data((0 ..< 32).map { _ in UInt8.random(in: 0 ... 255) })
        #expect(FileManager.default.createFile(atPath: away + "/key", contents: key, attributes: [.posixPermissions: 0o600]))
        let sealed = try mounted("recipher --into \(away)/store --new-key-file \(away)/key")
        #expect(sealed.exit == 0, "\(sealed.errors)")
        #expect(try orders.program.must("export", "--store", away + "/store", "--key-file", away + "/key").lines == mounted("export").lines)
        for command in ["append s OrderPlaced '{}'", "replay --to v5 --schemas \(Orders.schemas)", "snapshot take here"] {
            let outcome = try mounted(command)
            #expect(outcome.exit == 1 && outcome.errors.contains("can't be written"), "\(command): \(outcome.exit) \(outcome.errors)")
        }
    }
}
