internal import Bytes
internal import EventModel
internal import System

/// What the process was given to do, as it was given.
enum Arguments {
    /// Refuses arguments that are not UTF-8: they reach a Swift program with U+FFFD in place of what was there, and would be
    /// stored like that.
    static func check(_ arguments: [String]) throws {
        guard arguments.contains(where: { $0.unicodeScalars.contains("\u{fffd}") }) else { return }
        let file = try InputFile(path: "/proc/self/cmdline")
        var given = ByteBuffer(capacity: 65_536)
        while try file.read(into: &given, atMost: 65_536) > 0 {}
        if String(utf8: given.bytes) == nil {
            throw EvstoreError.usage("an argument is not valid UTF-8; give a payload through a file or a pipe to see where")
        }
    }
}
