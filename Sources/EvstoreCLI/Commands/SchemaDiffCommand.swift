internal import ArgumentParser
internal import Evstore
internal import JSONText
internal import SchemaEvolution
internal import SchemaTools

struct SchemaDiffCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Says how the events of two versions differ.",
        discussion: """
            Types are paired by what the steps make of them, so that a renamed type is not one gone and \
            one new. Without --schemas, as the store knows them.

            Example: evstore schema diff v2 v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("A version.", valueName: "version")) var from: String
    @Argument(help: ArgumentHelp("Another version.", valueName: "version")) var to: String

    func run(in session: Session) async throws {
        let history = try await session.history()
        let diff = try history.diff(from: try history.resolve(from), to: try history.resolve(to))
        try session.output.print(diff)
    }
}

extension SchemaDiff: Report {
    var members: Members {
        [
            "from": from, "to": to, "added": added, "removed": removed,
            "changed": changed.map { change -> Members in
                [
                    "type": change.type, "was": change.was,
                    "differences": change.differences.map {
                        ["pointer": $0.pointer.description, "kind": $0.kind, "words": $0.words] as Members
                    },
                ]
            }, "unchanged": unchanged,
        ]
    }

    var lines: [String] {
        "\(from) -> \(to)"
        for type in added { "+ \(type)" }
        for type in removed { "- \(type)" }
        for change in changed {
            "~ \(change.type)" + (change.was == [change.type] ? "" : ", which was \(change.was.joined(separator: " and "))")
            for difference in change.differences {
                let place = difference.pointer.isRoot ? "" : "\(difference.pointer)  "
                "    \(place)\(difference.words)"
            }
        }
        if !unchanged.isEmpty { "= \(unchanged.joined(separator: ", "))" }
    }
}
