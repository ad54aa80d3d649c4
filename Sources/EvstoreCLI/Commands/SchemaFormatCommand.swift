internal import ArgumentParser
internal import Evstore
internal import FoundationEssentials
internal import SchemaEvolution
internal import SchemaTools

struct SchemaFormatCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "fmt",
        abstract: "Writes version, projection and rules files in their one layout, as YAML or JSON.",
        discussion: """
            Without files, those of --schemas. A file's values, and so its digest, stay the same; so do its \
            comments. --to writes the other form under the other name and removes the old file; JSON has no \
            comments, so that a file with some is refused unless --drop-comments is given.

            Example: evstore schema fmt --check --schemas Schemas/shop
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: ArgumentHelp("Files to lay out.", valueName: "file")) var files: [String] = []
    @Flag(help: "Change nothing; say which files are laid out otherwise, and exit with 3 where there are some.") var check = false
    @Option(help: ArgumentHelp("The form to write: yaml or json.", valueName: "form"), transform: oneOf) var to: FileLayout.Form?
    @Flag(help: "Write JSON also where comments are lost.") var dropComments = false

    func run(in session: Session) throws {
        var findings: [Finding] = []
        var changed: [String] = []
        let all = try files.isEmpty ? Self.files(in: global.schemasPath(for: "schema fmt without files")) : files
        for file in all {
            do {
                let target = target(of: file)
                let old = try FileReader.bytes(path: file)
                let new = Array(try FileLayout.format(old, file: file, as: form(of: file), droppingComments: dropComments).utf8)
                if target == file, old == new { continue }
                changed.append(target)
                if check { findings.append(finding(file, old, new)) } else { try write(new, to: target, insteadOf: file) }
            } catch EvstoreError.schemaInvalid(let problems) { findings += problems }
        }
        let unchanged = all.count - changed.count
        let report = CheckReport(
            findings, checked: counted(all.count, "file"), outcome: findings.isEmpty ? nil : .refused,
            extra: ["written": check ? [] : changed, "unchanged": unchanged])
        try session.output.print(report.members) {
            if !check { changed }
            if check || !findings.isEmpty { report.lines } else { "\(counted(changed.count, "file")) written, \(unchanged) as they were" }
        }
        if let outcome = report.outcome { throw outcome }
    }

    private func form(of file: String) -> FileLayout.Form { to ?? (file.hasSuffix(".json") ? .json : .yaml) }

    private func target(of file: String) -> String {
        let stem = file.hasSuffix(".json") || file.hasSuffix(".yaml") ? String(file.dropLast(5)) : file
        return stem + ".\(form(of: file).rawValue)"
    }

    private func finding(_ file: String, _ old: [UInt8], _ new: [UInt8]) -> Finding {
        let (before, after) = (
            old.split(separator: 10, omittingEmptySubsequences: false), new.split(separator: 10, omittingEmptySubsequences: false)
        )
        let same = zip(before, after).prefix { $0 == $1 }.count
        return Finding(
            id: Rule.layout, file: file, line: same + 1, column: 1, message: "the file is not in its layout",
            fix: "evstore schema fmt \(file)" + (to.map { " --to \($0.rawValue)" } ?? ""))
    }

    /// Order: the new file is written before the old one is removed.
    private func write(_ text: [UInt8], to target: String, insteadOf file: String) throws {
        try onFiles("writing \(target)") {
            // A symbolic link stays: its target is written.
            try Data(text).write(to: URL(filePath: target).resolvingSymlinksInPath(), options: .atomic)
            if target != file { try FileManager.default.removeItem(atPath: file) }
        }
    }

    /// The files of a directory that have a layout, in the order of their names.
    private static func files(in directory: String) throws -> [String] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted() } catch {
            throw EvstoreError.usage("\(quoted(directory)) can't be listed")
        }
        let stems = ["projections", "rules"]
        return names.filter { name in
            guard name.hasSuffix(".yaml") || name.hasSuffix(".json") else { return false }
            let stem = name.dropLast(5)
            return stems.contains(String(stem)) || stem.hasPrefix("v") && Int(stem.dropFirst()) != nil
        }.map(SchemaTexts(directory: directory).path)
    }
}
