internal import ArgumentParser
internal import Bytes
internal import Evstore
internal import JSONText
internal import SchemaEvolution

struct SchemaValidateCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Holds payloads, one a line, against the shape of a type; prints a verdict a line.",
        discussion: """
            A line is a payload alone, not an event line. Empty lines are passed over.

            Example: evstore schema validate OrderPlaced@v3 payloads.jsonl --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, with a version or without.", valueName: "type@vN")) var type: TypeChoice
    @Argument(help: ArgumentHelp("The file of payloads; - is standard input.", valueName: "file")) var file: String

    func run(in session: Session) async throws {
        let (_, shape) = try await type.resolved(in: session.history())
        var (number, refused) = (0, 0)
        try Input.lines(file, atMost: Options().eventBytesMax, session.interrupts) { line in
            try session.interrupts.check()
            number += 1
            if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t") }) { return }
            let verdict = Verdict(of: line, against: shape)
            if verdict.error != nil { refused += 1 }
            try verdict.write(line: number, to: session.output)
        }
        if refused > 0 { throw Exit.refused }
    }
}

/// Whether a payload fits its shape, and if not, where and why.
private struct Verdict {
    var pointer: String?
    var error: String?

    init(of payload: [UInt8], against shape: EventShape) {
        do {
            let kind = try JSONScanner.validate(payload.lent, limits: JSONLimits())
            if kind != .object {
                (pointer, error) = ("", "should be an object")
                return
            }
        } catch {
            (pointer, self.error) = (nil, "not valid JSON at byte \(error.offset): \(error.reason)")
            return
        }
        do { _ = try shape.validatedStream(of: payload.lent) } catch { (pointer, self.error) = (error.pointer, error.reason) }
    }

    func write(line: Int, to output: Output) throws {
        try output.print(["line": line, "ok": error == nil, "pointer": pointer, "error": error]) {
            let place = (pointer ?? "").isEmpty ? "" : "\(pointer ?? "") "
            "\(line): " + (error.map { "REFUSED \(place)\($0)" } ?? "ok")
        }
    }
}
