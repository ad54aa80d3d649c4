internal import Bytes
internal import EventModel
internal import Platform

/// The arguments of the process.
enum Arguments {
    /// Refuses arguments that are not UTF-8: a Swift program gets them with U+FFFD in place of other bytes, and would store them so.
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
