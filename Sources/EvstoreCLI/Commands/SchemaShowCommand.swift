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
        let text = CheckedJSON(text: Array(shape.shape.canonical.text.utf8))
        try session.output.print(["type": type.type, "version": version, "stream": stream, "shape": text]) {
            "\(type.type) at \(version)" + (stream.map { ", in stream \($0)" } ?? "")
            shape.shape.canonical.indented(width: 72)
        }
    }

    private func list(_ versions: [VersionFile], _ output: Output) throws {
        let all = versions.map { file -> Members in
            [
                "version": file.number, "labels": file.labels, "released": file.released, "description": file.description,
                "types": file.types,
            ]
        }
        try output.print(["versions": all]) {
            for file in versions {
                let labels = file.labels.isEmpty ? "" : " (\(file.labels.joined(separator: ", ")))"
                let state = file.released.map { "released \($0)" } ?? "not released"
                "\(file.number)\(labels), \(state)" + (file.description.map { ": \($0)" } ?? "")
                for type in file.types { "  \(type)" }
            }
        }
    }
}
