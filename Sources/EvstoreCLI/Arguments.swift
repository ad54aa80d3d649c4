internal import Bytes
internal import EventModel
internal import Platform

/// The arguments of the process.
enum Arguments {
    /// Gives an empty value behind `=` a word of its own: an option whose value may begin with `-` would take the next word instead.
    static func separated(_ arguments: [String]) -> [String] {
        let own = arguments.prefix { $0 != "--" }
        let words = own.flatMap { $0.hasPrefix("--") && $0.firstIndex(of: "=") == $0.indices.last ? [String($0.dropLast()), ""] : [$0] }
        return words + arguments[own.count...]
    }

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
