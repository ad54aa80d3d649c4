internal import ArgumentParser
internal import EventModel
internal import Evstore
internal import Glibc
internal import Platform
public import Projections
public import SchemaEvolution

/// The command line of evstore, as a program of its own or inside an application.
public enum EvstoreCLI {
    /// Runs one command line and ends the process with its exit code.
    ///
    /// - Parameters:
    ///   - arguments: What follows the program's name.
    ///   - steps: The code behind `swift` ops; a command that needs one which is missing ends with exit code 6.
    ///   - projections: The application's own, which the commands then build and read like those of the version files.
    public nonisolated(nonsending) static func run(
        _ arguments: [String], steps: [any SwiftStep] = [], projections: [any SwiftProjection] = []
    ) async -> Never {
        Descriptor.occupyStandardStreams()
        // Order: before anything suspends. Swift's pool waits for a thread that can't be started, without an end and without a word, and
        // ends the process where it can't open a file.
        do { try requireLimits() } catch {
            ErrorReport(error, again: "").write(to: Output(json: Arguments.own(arguments).contains("--json")))
            exit(1)
        }
        exit(await outcome(of: arguments, Application(steps: steps, projections: projections)))
    }

    static func requireThreads(_ count: Int) throws(EvstoreError) {
        do throws(StorageError) { try WorkerThread.require(count) } catch {
            throw .ioFailure(
                doing: "beginning",
                reason: "\(error); raise the limit of threads: ulimit -u, TasksMax= of the service, or pids.max of the container")
        }
    }

    private static func requireLimits() throws(EvstoreError) {
        try requireThreads(5)
        do throws(StorageError) { try Descriptor.require(8) } catch {
            throw .ioFailure(
                doing: "beginning", reason: "\(error); raise the limit of open files: ulimit -n, or LimitNOFILE= of the service")
        }
    }

    private static func outcome(of arguments: [String], _ application: Application) async -> Int32 {
        // Whoever runs the program can use what it makes, whatever mask it was started with: a part of a store that its own user may not
        // open would keep everybody out of the store.
        umask(umask(0o077) & 0o077)
        let arguments = Arguments.separated(arguments)
        let interrupts = Interrupts()
        let output = Output(json: Arguments.own(arguments).contains("--json"))
        let invocation = (["evstore"] + arguments).map(\.shellWord).joined(separator: " ")
        var code: Int32 = 0
        do {
            do { try await carryOut(arguments, interrupts, output, application) } catch let exit as Exit {
                code = exit.code
            }
            try output.flush()
            return code
        } catch is OutputClosed {
            return code
        } catch {
            let report = ErrorReport(error, again: invocation)
            report.write(to: output)
            return report.exit
        }
    }

    private static func carryOut(
        _ arguments: [String], _ interrupts: Interrupts, _ output: Output, _ application: Application
    ) async throws {
        try Arguments.check(arguments, interrupts)
        guard let command = try parse(arguments, output: output) else { return }
        let bar = ProgressBar(command.global.progress, output: output)
        let session = Session(
            global: command.global, output: output, interrupts: interrupts, bar: bar, application: application,
            words: Array(Arguments.own(arguments)))
        let work = Task { try await command.run(in: session) }
        interrupts.atFirst { work.cancel() }
        defer { bar.finish() }
        try await work.value
    }

    /// Fast way: the command that the first word names, read by its own parser, without those of all others. Nil where it is not the first
    /// word, or can't take the rest: the whole tree then says why.
    static func commandAlone(_ arguments: [String]) -> (any Command)? {
        // The tree takes its own options out first, where these would take such a word as their value.
        let takesAny = zip(arguments, arguments.dropFirst()).contains { ["--from", "--to", "--equals"].contains($0) && $1.hasPrefix("-") }
        if takesAny { return nil }
        let named = RootCommand.configuration.subcommands.first { $0.configuration.commandName == arguments.first }
        do { return try named?.parseAsRoot(Array(arguments.dropFirst())) as? any Command } catch { return nil }
    }

    /// The command that the arguments name; nil where they asked for help, which has then been printed.
    private static func parse(_ arguments: [String], output: Output) throws -> (any Command)? {
        // The parser would print this program's version, and do nothing of what is asked for.
        let own = Arguments.own(arguments)
        let commands = RootCommand.configuration.subcommands.map { $0.configuration.commandName ?? "" }
        if let place = own.firstIndex(of: "--version"), own[..<place].contains(where: commands.contains) {
            let version = place + 1 < own.count ? own[place + 1] : "vN"
            throw UsageError(
                "--version says which program this is, and goes with no command; a version of events is --at or --to \(version)")
        }
        do {
            if let command = commandAlone(arguments) { return command }
            var parsed = try RootCommand.parseAsRoot(arguments)
            if let command = parsed as? any Command { return command }
            if let group = parsed as? any Group {
                if !output.json { output.raw(RootCommand.helpMessage(for: type(of: parsed)) + "\n") }
                throw UsageError("a command is missing", see: type(of: group).path)
            }
            // The only other command is the parser's own `help`.
            try parsed.run()
            return nil
        } catch let error as UsageError {
            throw error
        } catch {
            guard RootCommand.exitCode(for: error).isSuccess else { throw UsageError(parsing: error, in: arguments) }
            try output.put(Array(RootCommand.fullMessage(for: error).utf8))
            return nil
        }
    }
}

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
