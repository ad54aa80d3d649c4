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
            let misfit = Self.misfit(of: line, shape)
            if misfit != nil { refused += 1 }
            let object: Members = ["line": number, "ok": misfit == nil, "pointer": misfit?.pointer, "error": misfit?.reason]
            try session.output.row(object) {
                let place = misfit?.pointer.map { $0.isEmpty ? "" : "\($0) " } ?? ""
                "\(number): " + (misfit.map { "REFUSED \(place)\($0.reason)" } ?? "ok")
            }
        }
        if refused > 0 { throw Exit.refused }
    }

    /// Where and why a payload does not fit its shape; nil where it does.
    private static func misfit(of payload: [UInt8], _ shape: EventShape) -> (pointer: String?, reason: String)? {
        do {
            if try JSONScanner.validate(payload.lent, limits: JSONLimits()) != .object { return ("", "should be an object") }
        } catch { return (nil, "not valid JSON at byte \(error.offset): \(error.reason)") }
        do { _ = try shape.validatedStream(of: payload.lent) } catch { return (error.pointer, error.reason) }
        return nil
    }
}
