internal import SchemaEvolution

/// The parts of a file that have a special layout, by path; `*` stands for an item of a list.
struct LayoutRules {
    private enum Kind { case version, projections, other }

    private let kind: Kind

    init(_ root: FileNode) {
        kind = root.member("projections") != nil ? .projections : root.member("events") != nil ? .version : .other
    }

    /// The members of a version file in the order of the format. Files with comments are not reordered.
    func ordered(_ root: FileNode, hasComments: Bool) -> FileNode {
        guard kind == .version, !hasComments, case .map(let members) = root.kind else { return root }
        let known = VersionFile.members.flatMap { name in members.filter { $0.name == name } }
        return FileNode(.map(known + members.filter { !VersionFile.members.contains($0.name) }), at: root.mark)
    }

    /// Whether each entry of a list or map is on a line of its own regardless of its length.
    func isBlock(_ path: [String]) -> Bool {
        guard let first = path.first else { return true }
        switch (kind, first) {
        case (.version, "upcast"): return path.count <= 2 || path.count <= 4 && path[2] == "do"
        case (.version, "adopt"): return path.count <= 2
        case (.version, "events"): return path.count <= 2 || path.count == 3 && path[2] == "properties"
        case (.version, "$defs"): return path.count == 1
        case (.projections, "projections"): return path.count <= 3 || path.count == 4 && path[3] == "on"
        default: return false
        }
    }

    /// Whether the values of a map's members are aligned in one column.
    func alignsValues(of path: [String]) -> Bool {
        switch kind {
        case .version: path.last == "properties" && path.count > 2
        case .projections: path.count == 4 && path[3] == "on"
        case .other: false
        }
    }
}
