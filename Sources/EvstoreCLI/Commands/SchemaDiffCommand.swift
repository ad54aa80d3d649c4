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
        if session.output.json { try session.output.object(diff.object) } else { try diff.write(to: session.output) }
    }
}

extension SchemaDiff {
    fileprivate var object: OutputValue {
        [
            "from": .version(from), "to": .version(to), "added": .list(added.map { .text($0) }),
            "removed": .list(removed.map { .text($0) }),
            "changed": .list(
                changed.map { change in
                    [
                        "type": .text(change.type), "was": .list(change.was.map { .text($0) }),
                        "differences": .list(
                            change.differences.map { difference in
                                [
                                    "pointer": .text(difference.pointer.description), "kind": .text(difference.kind),
                                    "words": .text(difference.words),
                                ]
                            }),
                    ]
                }),
            "unchanged": .list(unchanged.map { .text($0) }),
        ]
    }

    fileprivate func write(to output: Output) throws {
        try output.line("\(from) -> \(to)")
        for type in added { try output.line("+ \(type)") }
        for type in removed { try output.line("- \(type)") }
        for change in changed {
            try output.line(
                "~ \(change.type)" + (change.was == [change.type] ? "" : ", which was \(change.was.joined(separator: " and "))"))
            for difference in change.differences {
                let place = difference.pointer.isRoot ? "" : "\(difference.pointer)  "
                try output.line("    \(place)\(difference.words)")
            }
        }
        if !unchanged.isEmpty { try output.line("= \(unchanged.joined(separator: ", "))") }
    }
}
