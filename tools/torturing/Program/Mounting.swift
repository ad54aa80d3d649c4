import Foundation
import System
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
            let outcome = try Child("/usr/bin/unshare", ["-m", "sh", "-c", script], files: said).wait()
            return outcome.ending == .exit(0) ? nil : "nothing can be mounted here: \(outcome.errors)"
        } catch { return "\(error)" }
    }()

    static func make(_ maker: String, _ image: String, megabytes: Int, _ options: [String] = []) throws {
        guard FileManager.default.createFile(atPath: image, contents: nil), unsafe truncate(image, off_t(megabytes) << 20) == 0 else {
            throw Failure("\(image) can't be made: \(errno)")
        }
        try run("/usr/sbin/mkfs.\(maker)", ["-q"] + options + [image])
    }

    static func mount(_ image: String, at place: String, _ maker: String) throws {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        // Copies of one image have one identity, which xfs asks for.
        try run("/bin/mount", ["-o", maker == "xfs" ? "loop,nouuid" : "loop", image, place])
    }

    static func unmount(_ place: String) throws {
        for _ in 1 ... 1_500 {
            if try Child("/bin/umount", [place], files: place + "-said").wait().ending == .exit(0) { return }
            _ = poll(nil, 0, 20)
        }
        throw Failure("\(place) stays busy")
    }

    private static func run(_ program: String, _ words: [String]) throws {
        let outcome = try Child(program, words, files: (words.last ?? "") + "-said").wait()
        guard outcome.ending == .exit(0) else { throw Failure("\(program): \(outcome.errors)") }
    }
}
