import Foundation
import System
import Torturing

/// File systems in files, mounted for this process and those that it starts.
enum Mounting {
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
        for _ in 1 ... 50 {
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
