package import EventModel
internal import JSONText
package import SchemaEvolution

/// `rules.yaml`: the rules of a directory of version files, beyond those of the product.
///
/// `{forbid: [remove, drop-event], error: [LOSS202], forward: 4, waive: [{id, file, because, until}]}`
package struct LintRules: Sendable {
    package static let fileName = "rules.yaml"

    struct Waiver: Sendable {
        let id: String
        /// The end of a file's path; nil applies to every file.
        let file: String?
        /// The last day on which it is valid, such as `2026-12-31`.
        let until: String
        let mark: FileLocation
    }

    /// Ops that no step may use.
    private(set) var forbidden: [String] = []
    /// Ids of findings that are treated as errors.
    private(set) var errors: Set<String> = []
    /// The oldest version at which events of every version must be readable.
    private(set) var forward: SchemaVersion?
    private(set) var waivers: [Waiver] = []

    package init() {}

    /// The rules of a directory; empty if the file does not exist.
    package static func load(directory: String) throws(EvstoreError) -> LintRules { try load(SchemaTexts(directory: directory)) }

    package static func load(_ texts: SchemaTexts) throws(EvstoreError) -> LintRules {
        let path = texts.path(fileName)
        guard texts.exists(path: path) else { return LintRules() }
        let root = try texts.read(path: path)
        do throws(FileProblem) { return try LintRules(root) } catch { throw .schemaInvalid([error.finding]) }
    }

    package init(_ root: FileNode) throws(FileProblem) {
        try root.map("rules", allowing: ["forbid", "error", "forward", "waive"])
        if let node = root.member("forbid") {
            let known = OpRegistry.names
            forbidden = try node.texts("forbid")
            if let unknown = forbidden.first(where: { !known.contains($0) }) {
                let guess = nearest(to: unknown, among: known)
                throw node.problem(
                    "there is no op \(quoted(unknown)) to forbid", rule: Rule.unknownOp, fix: guess.map { "did you mean \($0)?" }
                )
                .withRepairs(guess.map { node.mark.repair(.swap(unknown, "\"\($0)\"")) })
            }
        }
        errors = Set(try root.member("error")?.texts("error") ?? [])
        forward = try root.member("forward")?.integer("forward", from: 1).asVersion
        for node in try root.member("waive")?.list("waive") ?? [] {
            try node.map("a waiver", allowing: ["id", "file", "because", "until"])
            let because = try node.member("because")?.text("because") ?? ""
            let until = try node.member("until")?.text("until") ?? ""
            guard !because.isEmpty, Self.isDay(until) else {
                throw node.problem(
                    "a waiver says why and until when", rule: Rule.waiver, fix: "because: \"…\", until: 2026-12-31"
                ).withRepairs(Self.isDay(until) ? node.mark.repair("because", to: .string(unexplainedReason)) : nil)
            }
            waivers.append(
                Waiver(
                    id: try node.required("id", of: "a waiver").text("id"), file: try node.member("file")?.text("file"), until: until,
                    mark: node.mark))
        }
    }

    private static func isDay(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [4, 2, 2] && parts.allSatisfy { $0.allSatisfy(\.isNumber) }
    }
}

extension Int {
    fileprivate var asVersion: SchemaVersion { SchemaVersion(self) }
}
