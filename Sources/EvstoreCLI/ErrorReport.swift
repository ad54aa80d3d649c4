internal import EventModel

/// Prints an error, its place and what to do next, for people on standard error or as one JSON object on standard output.
struct ErrorReport {
    let details: ErrorDetails
    let exit: Int32

    /// - Parameter again: the command line that goes on where an interrupted one stopped.
    init(_ error: any Error, again: String) {
        let interrupted = EvstoreError.interrupted(again: "run it again: \(again)")
        (details, exit) =
            switch error {
            case EvstoreError.interrupted, is CancellationError: (interrupted.details, interrupted.exit)
            case let error as any CommandError: (error.report, error.exit)
            default: (ErrorDetails("internalFailure", "an unforeseen failure: \(error)"), 1)
            }
    }

    func write(to output: Output) throws {
        if output.json { try output.object(members) } else { note(to: output) }
    }

    /// Writes the error for people, also where results are JSON that can't be written.
    func note(to output: Output) {
        let red = output.coloured ? ("\u{1b}[1;31m", "\u{1b}[0m") : ("", "")
        let lines = details.message.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }
        output.raw("\(red.0)evstore: \(red.1)\(lines.joined(separator: "\n"))\n")
        if let place = details.place.words { output.note("  at \(place)") }
        if let fix = details.fix { output.note("  -> \(fix)") }
    }

    private var members: Members {
        let place = details.place
        let at: Members = [
            "file": place.file, "line": place.line, "column": place.column, "pointer": place.pointer, "position": place.position,
            "stream": place.stream, "type": place.type,
        ]
        return ["error": ["code": details.code, "exit": exit, "message": details.message, "at": at, "fix": details.fix] as Members]
    }
}

extension ErrorLocation {
    /// `v3.yaml:12:5, /customer, position 12`, or nil where nothing is known.
    var words: String? {
        let file = file.map { [$0, line.map(String.init), column.map(String.init)].compactMap(\.self).joined(separator: ":") }
        let parts = [
            file ?? line.map { "line \($0)" }, stream.map { "stream \($0)" }, type, pointer.flatMap { $0.isEmpty ? nil : $0 },
            position.map { "position \(grouped($0.rawValue))" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
