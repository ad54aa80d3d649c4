internal import ArgumentParser
internal import Evstore
internal import JSONText
internal import SchemaEvolution
internal import SchemaTools

struct SchemaExplainCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says what happens to one event of a type between two versions, member by member.",
        discussion: """
            Up or down: --from may be the newer version. Without --from, from the oldest version that \
            has the type; without --to, to the newest. From v0, what becomes of data from before versions existed, \
            whatever its type. Without --schemas, as the store knows it. Below each member stands what each step does with \
            it: where a new one comes from, why one is gone. With --json, outcomes: for each event that it can be seen as, \
            its type (null where there is none), stream, changes and members.

            Example: evstore schema explain OrderPlaced --from v1 --to v5 --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("An event type, as it is called at --from.", valueName: "type")) var type: String
    @Option(help: ArgumentHelp("The version that the event is of.", valueName: "version")) var from: String?
    @Option(help: ArgumentHelp("The version that it is seen at.", valueName: "version")) var to: String?

    func run(in session: Session) async throws {
        let history = try await session.history()
        let from =
            try from.map { try history.resolve($0) }
            ?? history.versions.first { $0.events[type] != nil }?.number ?? history.head
        let to = try to.map { try history.resolve($0) } ?? history.head
        let explanation = try history.explain(type, from: from, to: to)
        try session.output.print(explanation)
    }
}

extension Explanation: Report {
    var members: Members {
        [
            "type": type, "from": from, "to": to, "opByOp": opByOp?.words,
            "outcomes": outcomes.map {
                ["type": $0.type, "stream": $0.stream, "changes": $0.changes, "members": $0.members] as Members
            },
        ]
    }

    var lines: [String] {
        "\(type), from \(from) to \(to)"
        for outcome in outcomes {
            ""
            outcome.type.map { "\($0)" + (outcome.stream.map { ", in stream \($0)" } ?? "") } ?? "no event"
            for change in outcome.changes { "  \(change.version)  it \(change.words)" }
            let width = outcome.members.map { $0.title.count }.max() ?? 0
            for member in outcome.members {
                "  \(member.title.padded(to: width))  \(member.nouns)"
                for change in member.changes { "      \(change.version)  \(change.words)" }
            }
        }
        if let opByOp {
            ""
            "op by op: \(opByOp.words)"
        }
    }
}

extension Explanation.Member: PrintableObject {
    var members: Members {
        ["from": before?.description, "to": after?.description, "was": wasNoun, "is": noun, "changes": changes]
    }

    fileprivate var title: String {
        switch (before?.description, after?.description) {
        case (let before?, let after?): before == after ? before : "\(before) -> \(after)"
        case (let before?, nil): "\(before) -> gone"
        case (nil, let after): "new -> \(after ?? "")"
        }
    }

    fileprivate var nouns: String {
        switch (wasNoun, noun) {
        case (let was?, let noun?): was == noun ? (changes.isEmpty ? "\(was), unchanged" : was) : "\(was) -> \(noun)"
        default: wasNoun ?? noun ?? ""
        }
    }
}

extension Explanation.Change: PrintableObject {
    var members: Members { ["version": version, "words": words] }
}
