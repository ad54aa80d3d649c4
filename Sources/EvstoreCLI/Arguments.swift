internal import EventModel

/// The arguments of the process.
enum Arguments {
    /// Gives an empty value behind `=` a word of its own: an option whose value may begin with `-` would take the next word instead.
    static func separated(_ arguments: [String]) -> [String] {
        let own = own(arguments)
        let words = own.flatMap { $0.hasPrefix("--") && $0.firstIndex(of: "=") == $0.indices.last ? [String($0.dropLast()), ""] : [$0] }
        return words + arguments[own.count...]
    }

    /// Those of this program, which end at two dashes.
    static func own(_ arguments: [String]) -> ArraySlice<String> { arguments.prefix { $0 != "--" } }

    /// Refuses arguments that are not UTF-8: a Swift program gets them with U+FFFD in place of other bytes, and would store them so.
    static func check(_ arguments: [String], _ interrupts: Interrupts) throws {
        guard arguments.contains(where: { $0.unicodeScalars.contains("\u{fffd}") }) else { return }
        if String(validating: try Input.all("/proc/self/cmdline", atMost: .max, interrupts), as: UTF8.self) == nil {
            throw EvstoreError.usage("an argument is not valid UTF-8; give a payload through a file or a pipe to see where")
        }
    }
}
