package import EventModel
internal import JSONText

/// How data from before versions existed becomes events of version 1: by the first case whose guard holds.
package struct Adoption: Sendable {
    package private(set) var cases: [Adopt] = []
    package private(set) var findings: [Finding] = []

    /// Nil if version 1 adopts nothing.
    package init?(_ file: VersionFile?) {
        guard let file, let adopt = file.adopt else { return nil }
        var found: [Finding] = []
        let nodes = found.attempt { () throws(FileProblem) in try adopt.list("adopt") } ?? []
        for (index, node) in nodes.enumerated() {
            let isLast = index == nodes.count - 1
            let made = found.attempt { () throws(FileProblem) -> Adopt? in
                if let otherwise = node.member("otherwise") {
                    let why = "what no case takes is kept, and listed in quarantine"
                    _ = try otherwise.word("otherwise", of: ["quarantine"], why: why)
                    guard isLast else {
                        throw node.problem(
                            "otherwise: quarantine is the last case", rule: Rule.opArgument, fix: "move it after the other cases")
                    }
                    return nil
                }
                guard !isLast else {
                    throw node.problem("the last case says what becomes of the rest", rule: Rule.opArgument, fix: "- otherwise: quarantine")
                }
                return try Adopt(node, number: index + 1, file)
            }
            if let one = made ?? nil { cases.append(one) }
        }
        findings = found
    }
}

extension History {
    /// Whether version 1 declares how to adopt data from before versions existed.
    package var adopts: Bool { versions.first?.adopt != nil }
}

/// Selects a case of adoption depending on the data.
final class PathAdoption: Sendable {
    struct Branch: Sendable {
        let test: Guard?
        let stream: StreamTemplate?
        let segment: PathSegment
    }

    let branches: [Branch]

    init(branches: [Branch]) { self.branches = branches }
}
