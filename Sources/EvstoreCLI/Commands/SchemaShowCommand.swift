internal import ArgumentParser
internal import Evstore
internal import JSONText
internal import SchemaEvolution
internal import SchemaTools

struct SchemaShowCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the shape of an event type at a version, or which types there are.",
        discussion: """
            Without @vN, at the newest version that has the type. Without --schemas, as the store \
            knows it. Without a type, every version with its types.

            Example: evstore schema show OrderPlaced@v3 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, with a version or without.", valueName: "type@vN")) var type: TypeChoice?

    func run(in session: Session) async throws {
        let history = try await session.history()
        guard let type else { return try list(history.versions, session.output) }
        let (version, shape) = try type.resolved(in: history)
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

    private func list(_ versions: [VersionFile], _ output: Output) throws {
        if output.json {
            let all = versions.map { file -> OutputValue in
                [
                    "version": .version(file.number), "labels": .list(file.labels.map { .text($0) }), "released": .optional(file.released),
                    "description": .optional(file.description), "types": .list(file.types.map { .text($0) }),
                ]
            }
            return try output.object(["versions": .list(all)])
        }
        for file in versions {
            let labels = file.labels.isEmpty ? "" : " (\(file.labels.joined(separator: ", ")))"
            let state = file.released.map { "released \($0)" } ?? "not released"
            try output.line("\(file.number)\(labels), \(state)" + (file.description.map { ": \($0)" } ?? ""))
            for type in file.types { try output.line("  \(type)") }
        }
    }
}
