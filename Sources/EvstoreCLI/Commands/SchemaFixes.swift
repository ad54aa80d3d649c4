internal import EventModel
internal import FoundationEssentials
internal import SchemaEvolution
internal import SchemaTools

/// The fixes that `schema check --fix` applies: those that need no decision, in files that are not released. No fix renames a file or
/// removes what its author wrote.
struct SchemaFixes: Sendable {
    /// The findings that were fixed, with the edits as they applied to the files at that moment.
    private(set) var made: [Finding] = []
    private(set) var texts: SchemaTexts
    /// The copies of the original files, which lie beside them.
    private(set) var copies: [String] = []

    init(_ texts: SchemaTexts) { self.texts = texts }

    /// Applies fixes until none is left, at most twice as many at once as the time before. Applies none twice, since two fixes might undo
    /// each other.
    mutating func makeAll() throws {
        var (done, refused): (Set<String>, Set<String>) = ([], [])
        var most = 1
        while true {
            let fixed = try next(most, done, &refused)
            if fixed.isEmpty { return }
            done.formUnion(fixed.map(\.diagnosticLine))
            made += fixed
            guard texts.apply(fixed.flatMap(\.edits)) else { return }
            most = 2 * fixed.count
        }
    }

    /// The next findings with their edits: up to `most` of them if they can be fixed at once, otherwise the first that can be fixed.
    /// - Parameter refused: findings that could not be fixed when each was tried.
    private func next(_ most: Int, _ done: Set<String>, _ refused: inout Set<String>) throws -> [Finding] {
        let certain = try SchemaCheckCommand.said(of: texts).findings.filter {
            $0.severity != .note && !$0.repairs.isEmpty && $0.isCertain && !done.contains($0.diagnosticLine)
        }
        let released = Set(certain.flatMap(\.repairs).map(\.file)).filter { texts.isReleased(path: $0) }
        let findings = certain.filter { !$0.repairs.contains { released.contains($0.file) } }
        if findings.isEmpty { return [] }
        let trial = try RepairTrial(texts, SchemaCheckCommand.whole)
        let several = findings.filter { !refused.contains($0.diagnosticLine) }.prefix(most)
        if several.count > 1, let fixed = try trial.fixes(for: Array(several)) { return fixed }
        for finding in findings {
            guard let repair = try trial.repair(for: finding), repair.isCertain,
                !repair.edits.contains(where: { texts.isReleased(path: $0.file) })
            else {
                refused.insert(finding.diagnosticLine)
                continue
            }
            var fixed = finding
            fixed.edits = repair.edits
            return [fixed]
        }
        return []
    }

    /// Replaces each changed file by a rename, and keeps a copy of the original beside it.
    mutating func write() throws {
        for (path, text) in texts.changed.sorted(by: { $0.key < $1.key }) {
            guard let text else { continue }
            try onFiles("writing \(path)") {
                // A symbolic link stays: its target is written.
                let place = URL(filePath: path).resolvingSymlinksInPath()
                copies.append(try Self.copy(place.path))
                try Data(text).write(to: place, options: .atomic)
            }
        }
    }

    /// Copies a file to the first of `v2.yaml.bak`, `v2.yaml.bak2`, … that is free.
    private static func copy(_ path: String) throws -> String {
        var (copy, number) = (path + ".bak", 2)
        while FileManager.default.fileExists(atPath: copy) { (copy, number) = ("\(path).bak\(number)", number + 1) }
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        return copy
    }

    @TextLines
    func lines(isDryRun: Bool) -> [String] {
        for finding in made {
            "fixed      \(finding.diagnosticLine)"
            finding.editLines
        }
        for copy in copies { "kept       \(copy)" }
        if isDryRun { "nothing was written: --dry-run" }
    }
}
