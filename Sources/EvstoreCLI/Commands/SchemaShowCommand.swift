internal import ArgumentParser
internal import Evstore
internal import JSONText
internal import SchemaEvolution

struct SchemaShowCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the shape of an event type at a version.",
        discussion: """
            Without @vN, at the newest version that has the type. Without --schemas, as the store \
            knows it.

            Example: evstore schema show OrderPlaced@v3 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, with a version or without.", valueName: "type@vN")) var type: TypeChoice

    func run(in session: Session) async throws {
        let (version, shape) = try await type.resolved(in: session.history())
        let stream = shape.stream?.description
        if session.output.json {
            try session.output.object([
                "type": .text(type.type), "version": .version(version), "stream": .optional(stream),
                "shape": .json(Array(shape.shape.canonical.text.utf8)),
            ])
        } else {
            try session.output.line("\(type.type) at \(version)" + (stream.map { ", in stream \($0)" } ?? ""))
            for line in shape.shape.canonical.indented(width: 72) { try session.output.line(line) }
        }
    }
}
