import Foundation
import Platform
import TestSupport
import Torturing

/// File systems in files, mounted for this process and those that it starts.
enum Mounting {
    /// Why nothing can be mounted here; nil where it can. Root in a container may lack the right, or the loop devices.
    static let obstacle: String? = {
        if geteuid() != 0 { return "mounting needs root" }
        do {
            let said = FileManager.default.temporaryDirectory.path + "/evstore-mounting-\(UUID().uuidString)"
            defer { for name in [".out", ".err"] { unsafe unlink(said + name) } }
            let script = "mount -t tmpfs none /mnt && /sbin/losetup --find >/dev/null"
            let outcome = try Running("/usr/bin/unshare", ["-m", "sh", "-c", script], files: said).wait()
            return outcome.ending == .exit(0) ? nil : "nothing can be mounted here: \(outcome.errors)"
        } catch { return "\(error)" }
    }()

    static func make(_ maker: String, _ image: String, megabytes: Int, _ options: [String] = []) throws {
        guard FileManager.default.createFile(atPath: image, contents: nil), unsafe truncate(image, off_t(megabytes) << 20) == 0 else {
            throw Failure("\(image) can't be made: \(errno)")
        }
        try run("/usr/sbin/mkfs.\(maker)", ["-q"] + options + [image])
    }

    /// Runs a worker that has a new file system of its own, mounted at a place.
    static func worker(_ words: [String], on image: String, at place: String, _ maker: String, said: String) throws -> Running.Outcome {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        // An image of xfs takes at least 300 MiB; both are sparse.
        let script = """
            truncate -s 320m "$1" && mkfs.\(maker) -q "$1" && mount -o loop "$1" "$2" || exit 5
            place=$2; shift 2; "$0" worker "$@"; status=$?
            umount "$place"; exit $status
            """
        let arguments = ["-m", "sh", "-c", script, CommandLine.arguments[0], image, place] + words
        let outcome = try Running("/usr/bin/unshare", arguments, files: said, seconds: 300).wait()
        guard outcome.ending == .exit(0) else { throw Failure("\(maker): \(outcome.ending) \(outcome.errors.suffix(400))") }
        return outcome
    }

    /// Stops the file system at a place as when the power goes: nothing more reaches its disk, not even what the journal holds.
    static func stop(_ place: String) throws {
        let directory = unsafe open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Failure("\(place) can't be opened: \(errno)") }
        defer { close(directory) }
        var how = withoutJournal
        guard unsafe ioctl(directory, shutdown, &how) == 0 else { throw Failure("the file system can't be stopped: \(errno)") }
    }

    /// `FS_IOC_SHUTDOWN`.
    private static let shutdown: UInt = 0x8004_587d
    private static let withoutJournal: UInt32 = 2

    static func mount(_ image: String, at place: String, _ maker: String, _ options: String? = nil) throws {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        // Copies of one image have one identity, which xfs asks for.
        let all = ["loop", maker == "xfs" ? "nouuid" : nil, options].compactMap(\.self).joined(separator: ",")
        try run("/bin/mount", ["-o", all, image, place])
    }

    static func unmount(_ place: String) throws {
        for _ in 1 ... 1_500 {
            if try Running("/bin/umount", [place], files: place + "-said").wait().ending == .exit(0) { return }
            _ = poll(nil, 0, 20)
        }
        throw Failure("\(place) stays busy")
    }

    private static func run(_ program: String, _ words: [String]) throws {
        let outcome = try Running(program, words, files: (words.last ?? "") + "-said").wait()
        guard outcome.ending == .exit(0) else { throw Failure("\(program): \(outcome.errors)") }
    }
}
