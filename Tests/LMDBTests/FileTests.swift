import EvstoreTesting
import Foundation
import Glibc
import LMDB
import Platform
import TestSupport
import Testing

@Suite("A file")
struct FileTests {
    @Test("is opened only where it is one: a pipe, a directory, a device or a link is refused at once, and stays closed")
    func others() throws {
        let directory = try TemporaryDirectory()
        let (pipe, link) = (directory.path + "/pipe", directory.path + "/link")
        let made = unsafe mkfifo(pipe, 0o600)
        try #require(made == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path + "/data.mdb")
        for path in [pipe, directory.path, "/dev/zero", link] {
            for access in [File.Access.read, .write, .create] {
                #expect(throws: StorageError.self, "\(path) \(access)") { try File(path, access) }
            }
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        }
        #expect(!open.contains(pipe) && !open.contains(directory.path))
        #expect(try #require(throws: StorageError.self) { try File(pipe, .read) }.message.contains("a pipe"))
    }

    @Test("a lock's holder is named as the kernel knows it, and nobody where nobody has it")
    func holder() throws {
        let directory = try TemporaryDirectory()
        let (one, other) = (try File(directory.path + "/locks", .create), try File(directory.path + "/locks", .create))
        #expect(try one.lock(byte: 1 << 32, shared: false))
        #expect(try other.lockHolder(byte: 1 << 32) == LockHolder(process: getpid(), isShared: false))
        #expect(try other.lockHolder(byte: 1 << 32, expecting: 1)?.process == getpid())
        #expect(try other.lockHolder(byte: 1) == nil)
        try one.unlock(byte: 1 << 32)
        #expect(try other.lockHolder(byte: 1 << 32, expecting: getpid()) == nil)
    }

    @Test("a holder whose control group is frozen is seen to be, and one that was thawed is not")
    func frozen() throws {
        let mounts = try String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)
        let mount = mounts.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.count > 2 && $0[2] == "cgroup2" }
        let group = "\(mount?[1] ?? "/nowhere")/evstore-\(getpid())"
        let files = FileManager.default
        do { try files.createDirectory(atPath: group, withIntermediateDirectories: false) } catch {
            return print("control groups can't be made here, and whether a frozen holder is seen was not tried: \(error)")
        }
        defer { unsafe rmdir(group) }
        guard files.isWritableFile(atPath: group + "/cgroup.freeze") else { return print("control groups can't be frozen here") }
        func write(_ text: String, _ file: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(group)/\(file)")) }
        let process = Process()
        (process.executableURL, process.arguments) = (URL(fileURLWithPath: "/bin/sleep"), ["600"])
        try process.run()
        let holder = LockHolder(process: process.processIdentifier, isShared: false)
        #expect(!holder.isFrozen)
        try write("\(process.processIdentifier)", "cgroup.procs")
        #expect(!holder.isFrozen)
        try write("1", "cgroup.freeze")
        func wait(until isSo: () -> Bool) {
            let end = Instant.now + .patience
            while !isSo(), .now < end { Thread.sleep(forTimeInterval: 0.01) }
        }
        wait { holder.isFrozen }
        #expect(holder.isFrozen && !holder.isStopped)
        try write("0", "cgroup.freeze")
        wait { !holder.isFrozen }
        #expect(!holder.isFrozen)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(!holder.isFrozen)
    }

    @Test("a lock ends with its file, also while processes are started beside it, which have the file until they run their program")
    func startedBeside() async throws {
        let directory = try TemporaryDirectory()
        let started = Monitor(0)
        let starting = Task.detached {
            // However it ends, nobody waits for it.
            defer { started.change { $0 = 40 } }
            while started.withLock({ $0 < 40 }) {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/true")
                try process.run()
                started.change { $0 += 1 }
                process.waitUntilExit()
            }
        }
        var kept = 0
        while started.withLock({ $0 < 40 }) {
            let file = try File(directory.path + "/locks", .create)
            if try !file.lock(byte: 0, shared: false) { kept += 1 }
        }
        try await starting.value
        #expect(kept == 0)
    }
}

@Suite("What systemd asks for")
struct WatchdogTests {
    @Test(
        "is a number of microseconds; anything else is not asked for",
        arguments: ["inf", "nan", "1e300", "-1", "0", "", "18446744073709551616", "1.5"])
    func nothing(_ text: String) { #expect(NotifySocket.watchdogInterval(["WATCHDOG_USEC": text]) == nil) }

    @Test("is answered in half of the time, but no more than 100 times a second")
    func half() {
        func interval(_ text: String) -> Duration? { NotifySocket.watchdogInterval(["WATCHDOG_USEC": text]) }
        #expect(interval("30000000") == .seconds(15) && interval("1") == .milliseconds(10))
        #expect(interval("18446744073709551615").map { $0 > .seconds(1 << 40) } == true)
    }
}
