internal import Bytes
package import EventModel
internal import JSONText
package import SchemaEvolution

extension DefinitionSet {
    /// Reads a projection file and checks it against the shapes of every version that its definitions span.
    /// - Throws: `EvstoreError.schemaInvalid` with all errors.
    package static func load(file path: String, history: History) throws(EvstoreError) -> DefinitionSet {
        try read(try FileReader.read(path: path), history: history)
    }

    /// Reads and checks a projection file given as text; `file` is the name in findings.
    package static func load(text: [UInt8], file: String, history: History) throws(EvstoreError) -> DefinitionSet {
        try read(try FileReader.read(text: text, file: file), history: history)
    }

    private static func read(_ root: FileNode, history: History) throws(EvstoreError) -> DefinitionSet {
        var problems = FindingList()
        var result = DefinitionSet()
        do throws(FileProblem) { try result.take(root, &problems) } catch { problems.add(error) }
        problems.add(result.check(against: history).filter { $0.severity == .error })
        if problems.hasErrors { throw .schemaInvalid(problems.findings) }
        return result
    }

    private mutating func take(_ root: FileNode, _ problems: inout FindingList) throws(FileProblem) {
        try root.map("a projection file", allowing: ["evstore", "projections"])
        let format = try root.required("evstore", of: "a projection file")
        guard try format.integer("evstore", from: 1) == 1 else {
            throw format.problem("this program knows format 1 of projection files", rule: FileRule.format, fix: "use a newer evstore")
        }
        for member in try root.required("projections", of: "a projection file").map("projections") {
            do throws(FileProblem) { try take(member, &problems) } catch { problems.add(error) }
        }
    }

    private mutating func take(_ projection: FileNode.Member, _ problems: inout FindingList) throws(FileProblem) {
        let name = projection.name
        guard Self.isName(name) else {
            throw projection.problem("\(quoted(name)) is no name for a projection", fix: "letters, digits, _, - and . (the first a letter)")
        }
        var (previous, last): (FileNode?, SchemaVersion?) = (nil, nil)
        for node in try projection.value.list("the definitions of \(name)") {
            do throws(FileProblem) {
                try node.map("the definition of \(name)", allowing: DeclaredProjection.members)
                let sinceNode = try node.required("since", of: "the definition of \(name)")
                let since = SchemaVersion(try sinceNode.integer("since", from: 1, through: Int(Int32.max)))
                if let last, since <= last { throw sinceNode.problem("the definitions of \(name) must be in the order of since") }
                var complete = node
                if let like = node.member("like") {
                    guard case .string("previous") = like.kind else { throw like.problem("like must be previous") }
                    guard let previous else { throw like.problem("there is no definition of \(name) before this one") }
                    complete = try node.completed(from: previous)
                }
                (previous, last) = (complete, since)
                put(.declared(try DeclaredProjection(name: name, since: since, complete)), named: name)
            } catch { problems.add(error) }
        }
    }

    static func isName(_ text: String) -> Bool {
        let letters = { (byte: UInt8) in (65 ... 90).contains(byte) || (97 ... 122).contains(byte) }
        guard let first = text.utf8.first, letters(first), text.utf8.count <= 200 else { return false }
        return text.utf8.allSatisfy { letters($0) || (48 ... 57).contains($0) || [45, 46, 95].contains($0) }
    }

    /// The definitions that a store keeps.
    /// - Throws: `EvstoreError.schemaNewer` if a newer program registered a definition that this one can't read.
    package init(stored rows: [StoredDefinition]) throws(EvstoreError) {
        self.init()
        for row in rows {
            do {
                let file = "\(row.name)@\(row.since).json"
                let node = try FileReader.read(text: row.json, file: file)
                if let swift = node.member("swift") {
                    put(.swift(try SwiftDeclaration(name: row.name, since: row.since, swift)), named: row.name)
                } else {
                    put(.declared(try DeclaredProjection(name: row.name, since: row.since, node)), named: row.name)
                }
            } catch {
                throw .schemaNewer(version: row.since, reason: "the projection \(row.name): \(error)")
            }
        }
    }
}
