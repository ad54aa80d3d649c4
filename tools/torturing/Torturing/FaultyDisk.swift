internal import Foundation
package import TestSupport

/// What happens at one call of the C library that changes something below a directory.
package struct DiskFault: Hashable, Sendable, CustomStringConvertible {
    package enum Deed: String, CaseIterable, Sendable { case kill, stop, tear, sectors, fail, failing, late, short, alter, stall }

    package var deed: Deed
    /// What a failing call says, as `errno`.
    package var error: Int32
    /// The number of the call, from 1.
    package var call: Int

    package init(_ deed: Deed, error: Int32 = EIO, at call: Int) { (self.deed, self.error, self.call) = (deed, error, call) }

    /// What a system says of a disk that can't be written, by name.
    package static let errors = [
        EIO: "EIO", ENOSPC: "ENOSPC", EROFS: "EROFS", EPERM: "EPERM", EFBIG: "EFBIG", EINVAL: "EINVAL", EDQUOT: "EDQUOT",
    ]
    private var errorName: String { Self.errors[error] ?? "\(error)" }

    package var isDeadly: Bool { [.kill, .tear, .sectors].contains(deed) }

    package var description: String {
        switch deed {
        case .kill: "kill -9 at call \(call)"
        case .stop: "stopped at call \(call)"
        case .tear: "half of call \(call), then kill -9"
        case .sectors: "the sectors of half of call \(call), then kill -9"
        case .short: "half of call \(call)"
        case .alter: "another byte at call \(call)"
        case .fail: "\(errorName) at call \(call)"
        case .failing: "\(errorName) from call \(call) on"
        case .stall: "call \(call) held up"
        case .late: "call \(call) is done and says \(errorName)"
        }
    }
}

/// A library, preloaded into a process, that writes down what the process does to its disk and makes calls fail
/// (`Faults/disk.c`).
package struct FaultyDisk: Sendable {
    /// The directory below which calls are seen.
    package var root: String
    /// Where they are written down.
    package var log: String?
    /// Where they are counted.
    package var counter: String?
    package var fault: DiskFault?
    /// Only these calls count: `write`, `sync`, `name` or `size`.
    package var calls: String?
    /// Only calls on files whose path ends like this count.
    package var file: String?

    /// How long a slow sync takes, and that every so many are.
    package var slow: (milliseconds: Int, every: Int)?

    /// How long a call is held up that the fault says so of.
    package var stallMilliseconds = 0

    package init(root: String) { self.root = root }

    private static let library: Result<String, any Error> = Result {
        try build("disk.c", as: "evstore-disk", "-shared", "-fPIC", "-ldl")
    }

    /// What a process gets beside its environment.
    package var environment: [String: String] {
        get throws {
            var values = ["LD_PRELOAD": try Self.library.get(), "DISK_ROOT": root]
            values["DISK_LOG"] = log
            values["DISK_CALLS"] = counter
            values["DISK_CALL"] = calls
            values["DISK_FILE"] = file
            values["DISK_SLOW"] = slow.map { "\($0.milliseconds)" }
            values["DISK_EVERY"] = slow.map { "\($0.every)" }
            values["DISK_STALL"] = "\(stallMilliseconds)"
            guard let fault else { return values }
            values["DISK_DOES"] = fault.deed.rawValue
            values["DISK_AT"] = "\(fault.call)"
            values["DISK_ERRNO"] = "\(fault.error)"
            return values
        }
    }

    /// Counts from 0 again.
    package func resetCounter() throws {
        if let counter { try Data(count: 16).write(to: URL(filePath: counter)) }
    }

    /// The calls that there were, and whether the fault was reached.
    package func count() throws -> (calls: Int, isReached: Bool) {
        guard let counter else { return (0, false) }
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: counter)))
        return (bytes.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }, bytes[8] != 0)
    }

    /// Builds what lies in `Faults` for this run, in a directory that goes with the system's temporary files.
    static func build(_ name: String, as target: String, _ options: String...) throws -> String {
        let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Faults/\(name)").path
        let target = FileManager.default.temporaryDirectory.appending(path: "\(target)-\(UUID().uuidString)").path
        let outcome = try BuiltProgram(path: "/usr/bin/env").run(["clang", "-O1", "-o", target, source] + options)
        guard outcome.exit == 0 else { throw Failure("\(name) can't be built: \(outcome.errors)") }
        return target
    }
}

extension BuiltProgram {
    private static let clock: Result<String, any Error> = Result {
        try FaultyDisk.build("clock.c", as: "evstore-clock", "-shared", "-fPIC", "-ldl")
    }

    /// This program on a machine whose wall clock is off by so much.
    package func withClock(off days: Int) throws -> BuiltProgram {
        var program = self
        program.environment["LD_PRELOAD"] = try Self.clock.get()
        program.environment["CLOCK_OFF"] = "\(days * 86_400)"
        return program
    }

    private static let lmdb: Result<String, any Error> = Result {
        try FaultyDisk.build("lmdb.c", as: "evstore-lmdb", "-shared", "-fPIC", "-ldl")
    }

    /// This program with a library of LMDB that says it is another release, or writes another data format.
    package func withLMDB(says release: String? = nil, writes format: Int? = nil) throws -> BuiltProgram {
        var program = self
        program.environment["LD_PRELOAD"] = try Self.lmdb.get()
        program.environment["LMDB_SAYS"] = release
        program.environment["LMDB_WRITES"] = format.map(String.init)
        return program
    }

    /// This program, where something happens at a call on the files whose paths end so.
    package func withFault(_ fault: DiskFault, at calls: String, of file: String) throws -> BuiltProgram {
        var disk = FaultyDisk(root: FileManager.default.temporaryDirectory.path)
        (disk.fault, disk.calls, disk.file) = (fault, calls, file)
        var faulty = self
        faulty.environment.merge(try disk.environment) { $1 }
        return faulty
    }
}

/// Something that must not be, in words.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
