internal import ArgumentParser
internal import EventModel

/// An error in the arguments: what is wrong, and which help lists the right ones.
struct UsageError: CommandError {
    let exit: Int32 = 2
    let report: ErrorDetails

    init(_ message: String, see command: String = "evstore") {
        report = ErrorDetails("usage", message, fix: "see: \(command) --help")
    }

    /// The argument parser's message in one sentence. The whole message is an `Error:` line, a usage and a hint to the help, each of which
    /// may be missing.
    init(parsing error: any Error, in arguments: [String]) {
        let lines = RootCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
        var message = lines.first ?? "the arguments are not understood"
        if message.hasPrefix("Error: ") { message.removeFirst("Error: ".count) }
        if message.hasPrefix("Missing value"), let value = arguments.first(where: { $0.first == "-" && $0.dropFirst().first != "-" }) {
            message += "; a value that begins with - is written behind =, as in --name=\(value)"
        }
        let usage = lines.first { $0.hasPrefix("Usage: ") }?.dropFirst("Usage: ".count) ?? "evstore"
        if usage.hasSuffix("<subcommand>") {
            message = message.replacing("Unexpected argument", with: "there is no command")
        }
        let words = usage.split(separator: " ").prefix { !$0.hasPrefix("[") && !$0.hasPrefix("<") && !$0.hasPrefix("-") }
        self.init(message, see: words.joined(separator: " "))
    }
}
