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

    /// Applies one fix after another until none is left; applies none twice, since two fixes might undo each other.
    mutating func makeAll() throws {
        var done: Set<String> = []
        while let repair = try next(done) {
            done.insert(repair.diagnosticLine)
            made.append(repair)
            guard texts.apply(repair.edits) else { return }
        }
    }

    private func next(_ done: Set<String>) throws -> Finding? {
        let findings = try SchemaCheckCommand.said(of: texts).findings.filter {
            $0.severity != .note && !$0.repairs.isEmpty && $0.isCertain && !done.contains($0.diagnosticLine)
        }
        if findings.isEmpty { return nil }
        let trial = try RepairTrial(texts, SchemaCheckCommand.whole)
        for finding in findings {
            guard let repair = try trial.repair(for: finding), repair.isCertain,
                !repair.edits.contains(where: { texts.isReleased(path: $0.file) })
            else { continue }
            var mended = finding
            mended.edits = repair.edits
            return mended
        }
        return nil
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
