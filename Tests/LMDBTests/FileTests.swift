import EvstoreTesting
import Foundation
import Glibc
import LMDB
import Platform
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

    @Test("a lock ends with its file, also while processes are started beside it, which have the file until they run their program")
    func startedBeside() async throws {
        let directory = try TemporaryDirectory()
        let isOver = Monitor(false)
        let starting = Task.detached {
            while !isOver.withLock({ $0 }) {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/true")
                try process.run()
                process.waitUntilExit()
            }
        }
        var kept = 0
        for _ in 0 ..< 20_000 {
            let file = try File(directory.path + "/locks", .create)
            if try !file.lock(byte: 0, shared: false) { kept += 1 }
        }
        isOver.change { $0 = true }
        try await starting.value
        #expect(kept == 0)
    }
}
