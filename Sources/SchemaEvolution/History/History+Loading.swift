internal import Bytes
package import EventModel
internal import FoundationEssentials
package import Hashing
internal import JSONText

extension History {
    /// Reads every `vN.yaml` or `vN.json` of a directory, and its `schemas.lock`.
    /// - Throws: `schemaInvalid` with all errors, each with its location and fix.
    package static func load(directory: String) throws(EvstoreError) -> History { try load(SchemaTexts(directory: directory)) }

    /// Reads the version files from their texts.
    /// - Parameter reportsAll: whether findings that mostly repeat others are reported too.
    package static func load(_ texts: SchemaTexts, reportsAll: Bool = false) throws(EvstoreError) -> History {
        let (names, directory, prefix) = (try texts.names(), texts.directory, texts.path(""))
        var findings: [Finding] = []
        var found: [Int: VersionFile?] = [:]
        for name in names {
            guard let number = number(inName: name, path: prefix + name, &findings) else { continue }
            if found.keys.contains(number) {
                findings.append(
                    Finding(
                        id: "LOG001", file: prefix + name, line: 1, column: 1, message: "version \(number) has two files",
                        fix: "keep v\(number).yaml or v\(number).json"))
                continue
            }
            // A file that can't be read still occupies its number, so that no gap is reported.
            found[number] = .some(nil)
            do throws(EvstoreError) {
                let file = try VersionFile(texts.read(path: prefix + name))
                if file.number.number == number {
                    found[number] = file
                } else {
                    findings.append(
                        Finding(
                            "LOG001", at: file.numberMark, "the file says version \(file.number.number) and its name says \(number)",
                            fix: "write version: \(number), or rename the file", repairs: [file.numberMark.repair(.set("\(number)"))]))
                }
            } catch {
                guard case .schemaInvalid(let problems) = error else { throw error }
                findings += problems
            }
        }
        var missing = gaps(found.keys.sorted(), in: directory)
        if !missing.isEmpty, let next = found.keys.sorted().enumerated().first(where: { $0.element != $0.offset + 1 })?.element {
            // A gap is reported at the version after it.
            if case let file?? = found[next] {
                (missing[0].file, missing[0].line, missing[0].column) = (file.file, file.numberMark.line, file.numberMark.column)
            }
            missing[0].repairs = renumbering(found, in: prefix)
        }
        findings += missing
        let files = found.sorted { $0.key < $1.key }.compactMap(\.value)
        findings += labelProblems(files)
        let lock = prefix + SchemaLock.fileName
        if names.contains(SchemaLock.fileName) {
            do throws(EvstoreError) {
                // The lock is checked only if every file was read; unreadable files already have findings.
                let locked = try SchemaLock(text: texts.bytes(path: lock), file: lock)
                if files.count == found.count { findings += locked.check(files, file: lock) }
            } catch {
                guard case .schemaInvalid(let problems) = error else { throw error }
                findings += problems
            }
        } else {
            var finding = Finding(
                id: "LOG002", severity: .warning, file: lock,
                message: "there is no \(SchemaLock.fileName): released versions may change unnoticed",
                advice: "\(.lockVersions) writes it: commit it with the version files")
            if files.count == found.count {
                finding.repairs = [Repair(file: lock, .lines(SchemaLock(locking: files).text.split(separator: "\n").map(String.init)))]
            }
            findings.append(finding)
        }
        if findings.hasErrors { throw .schemaInvalid(findings) }
        return History(versions: files, warnings: findings, reportsAll: reportsAll)
    }

    /// Whether a directory contains no version files, including unreadable ones.
    /// - Throws: `usage` or `schemaInvalid` if the directory can't be listed.
    package static func isEmpty(directory: String) throws(EvstoreError) -> Bool {
        try !SchemaTexts(directory: directory).names().contains { name in
            let parts = name.split(separator: ".", maxSplits: 1)
            return name.hasPrefix("v") && parts.count == 2 && Int(parts[0].dropFirst()) != nil
                && ["yaml", "yml", "json"].contains(parts[1])
        }
    }

    /// A history of files that have been read, in any order.
    /// - Throws: `schemaInvalid` if a version is missing or has two files, or if labels do not increase.
    package init(files: [VersionFile]) throws(EvstoreError) {
        let files = files.sorted { $0.number < $1.number }
        var findings: [Finding] = []
        for (file, next) in zip(files, files.dropFirst()) where file.number == next.number {
            findings.append(
                Finding(id: "LOG001", file: next.file, message: "version \(file.number.number) has two files", fix: "keep one of them"))
        }
        findings += Self.gaps(files.map(\.number.number), in: files.first?.file ?? "the versions")
        findings += Self.labelProblems(files)
        if findings.hasErrors { throw .schemaInvalid(findings) }
        self.init(versions: files, warnings: findings)
    }

    /// The history that a store holds.
    /// - Throws: `schemaNewer` for a version that this program can't read because a newer one registered it.
    package init(stored: [StoredVersion]) throws(EvstoreError) {
        var files: [VersionFile] = []
        for version in stored {
            do throws(EvstoreError) {
                files.append(try VersionFile(FileReader.read(text: version.canonical, file: "\(version.number).json")))
            } catch {
                guard case .schemaInvalid(let problems) = error else { throw error }
                throw .schemaNewer(version: version.number, reason: problems.first?.message ?? "it can't be read")
            }
        }
        if files.isEmpty { self = .empty } else { try self.init(files: files) }
    }

    /// The number in `v3.yaml` or `v3.json`; nil for other files. A name such as `v03.yaml` produces a finding.
    private static func number(inName name: String, path: String, _ findings: inout [Finding]) -> Int? {
        guard let dot = name.lastIndex(of: "."), name.hasPrefix("v") else { return nil }
        let digits = name[name.index(after: name.startIndex) ..< dot]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48 ... 57).contains($0) }) else { return nil }
        let ending = name[dot...]
        guard [".yaml", ".yml", ".json"].contains(ending) else { return nil }
        guard let number = Int(digits), number > 0, String(number) == digits, ending != ".yml" else {
            let better = "v\(Int(digits).map { max($0, 1) } ?? 1).\(ending == ".json" ? "json" : "yaml")"
            findings.append(
                Finding(
                    "LOG001", at: FileLocation(file: path, line: 1, column: 1), "\(name) is not a name of a version file",
                    fix: "rename it to \(better)", repairs: [Repair(file: path, .move(String(path.dropLast(name.count)) + better))]))
            return nil
        }
        return number
    }

    /// The repairs that renumber the versions after a gap, with their fixtures; none if one of them was released.
    private static func renumbering(_ found: [Int: VersionFile?], in prefix: String) -> [Repair] {
        var repairs: [Repair] = []
        for (index, number) in found.keys.sorted().enumerated() where number != index + 1 {
            guard case let file?? = found[number], !file.isReleased else { return [] }
            let ending = file.file.hasSuffix(".json") ? "json" : "yaml"
            repairs.append(file.numberMark.repair(.set("\(index + 1)")))
            repairs.append(Repair(file: file.file, .move("\(prefix)v\(index + 1).\(ending)")))
            for name in names(in: "\(prefix)fixtures/v\(number)") where name.hasSuffix(".jsonl") {
                repairs.append(Repair(file: "\(prefix)fixtures/v\(number)/\(name)", .move("\(prefix)fixtures/v\(index + 1)/\(name)")))
            }
        }
        return repairs
    }

    private static func names(in directory: String) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: directory).sorted() } catch { return [] }
    }

    private static func gaps(_ numbers: [Int], in directory: String) -> [Finding] {
        guard let newest = numbers.last else {
            return [
                Finding(
                    id: "LOG001", file: directory, message: "there are no version files",
                    advice: "\(.newVersion(directory: directory)) writes v1.yaml")
            ]
        }
        let there = Set(numbers)
        guard there.count < newest else { return [] }
        let names = there.sorted().map { "v\($0)" }.joined(separator: ", ")
        return (1 ... newest).lazy.filter { !there.contains($0) }.prefix(5).map { missing in
            Finding(
                id: "LOG001", file: directory, message: "version \(missing) is missing: there are \(names)",
                fix: "add v\(missing).yaml, or renumber the later ones if they were never released")
        }
    }

    /// Findings about labels that two versions share, or that decrease from one version to a later one.
    private static func labelProblems(_ files: [VersionFile]) -> [Finding] {
        var findings: [Finding] = []
        var newest: (label: DottedNumber, version: SchemaVersion)?
        for file in files {
            let labels = file.labels.compactMap(DottedNumber.init).sorted()
            if let newest, let lowest = labels.first, lowest <= newest.label {
                findings.append(
                    Finding(
                        "LOG001", at: file.labelsMark,
                        "the label \(lowest) of \(file.number) is not above \(newest.label), which is \(newest.version)",
                        fix: "a later version has later labels"))
            }
            if let last = labels.last, newest.map({ $0.label < last }) ?? true { newest = (last, file.number) }
        }
        return findings
    }
}

/// The changes that registering version files makes to a store's history.
package struct Registration: Sendable {
    package var history: History
    /// Versions that the store did not know.
    package var added: [VersionFile] = []
    /// Unreleased versions whose digest changed.
    package var replaced: [VersionFile] = []
    /// Versions with an unchanged digest whose labels, release or descriptions changed.
    package var annotated: [VersionFile] = []

    /// All versions to write.
    package var changed: [VersionFile] { (added + replaced + annotated).sorted { $0.number < $1.number } }
}

extension History {
    /// Adds version files to the known ones. A file whose digest differs from the known one's is refused, unless the known one was never
    /// released and `mayReplace` allows it.
    /// - Throws: `versionDiffers`, or `schemaInvalid` if the files together form no history.
    package func adding(
        _ files: [VersionFile], mayReplace: (VersionFile) -> Bool = { _ in false }
    ) throws(EvstoreError) -> Registration {
        var registration = Registration(history: self)
        var result = versions
        for file in files.sorted(by: { $0.number < $1.number }) {
            guard let known = self[file.number] else {
                registration.added.append(file)
                result.append(file)
                continue
            }
            if file.digest == known.digest {
                // An older checkout removes neither labels nor the release.
                let extends = Set(file.labels).isSuperset(of: known.labels) && (file.isReleased || !known.isReleased)
                guard file != known, extends else { continue }
                registration.annotated.append(file)
            } else {
                guard !known.isReleased, mayReplace(known) else {
                    throw .versionDiffers(file.number, file: file.digest.hex, stored: known.digest.hex)
                }
                registration.replaced.append(file)
            }
            result[file.number.number - 1] = file
        }
        registration.history = result.isEmpty ? .empty : try History(files: result).with(swiftSteps)
        return registration
    }
}

/// `schemas.lock`: the digests of the released versions, so that no change goes unnoticed.
package struct SchemaLock: Hashable, Sendable {
    package static let fileName = "schemas.lock"
    package static let algorithm = "sha256-rfc8785"

    package var digests: [SchemaVersion: Digest]

    /// The lock that `evstore schema lock` writes for these versions: their released ones.
    package init(locking history: History) { self.init(locking: history.versions) }

    init(locking files: [VersionFile]) {
        digests = [:]
        for file in files where file.isReleased { digests[file.number] = file.digest }
    }

    package init(text: [UInt8], file: String) throws(EvstoreError) {
        digests = [:]
        do throws(FileProblem) {
            // The lock is JSON regardless of its file name.
            let root = try JSONFileReader.read(text, file: file)
            try root.map("the lock", allowing: ["algorithm", "versions"])
            let algorithm = try root.required("algorithm", of: "the lock")
            let name = try algorithm.text("algorithm")
            guard name == Self.algorithm else {
                throw algorithm.problem(
                    "the digests use \(quoted(name)) and this program knows only \(Self.algorithm)", rule: "LOG003",
                    fix: "use a newer evstore")
            }
            for member in try root.required("versions", of: "the lock").map("versions") {
                guard let number = Int(member.name), (1 ... 1_000_000).contains(number), String(number) == member.name else {
                    throw member.problem("\(quoted(member.name)) is not the number of a version", rule: FileRule.value)
                }
                guard let digest = Digest(hex: try member.value.text("a digest")) else {
                    throw member.value.problem("a digest has 64 hexadecimal digits", rule: FileRule.value)
                }
                digests[SchemaVersion(number)] = digest
            }
        } catch { throw .schemaInvalid([error.finding]) }
    }

    package var text: String {
        let lines = digests.sorted { $0.key < $1.key }.map { "    \"\($0.key.number)\": \"\($0.value.hex)\"" }
        let versions = lines.isEmpty ? "{}" : "{\n\(lines.joined(separator: ",\n"))\n  }"
        return "{\n  \"algorithm\": \"\(Self.algorithm)\",\n  \"versions\": \(versions)\n}\n"
    }

    /// Errors for released versions whose digest differs from the lock and for locked versions without a file; warnings for released
    /// versions that the lock does not contain.
    package func check(_ versions: [VersionFile], file: String) -> [Finding] {
        var findings: [Finding] = []
        for version in versions {
            switch digests[version.number] {
            case let locked? where locked != version.digest:
                findings.append(
                    Finding(
                        id: "LOG002", file: version.file, line: 1, column: 1,
                        message:
                            "\(version.number) was released and has been changed: its digest is \(version.digest.hex.prefix(16))… and \(file) says \(locked.hex.prefix(16))…",
                        fix: "undo the change (git restore \(version.file)) and make it in a new version, v\(versions.count + 1)"))
            case nil where version.isReleased:
                var finding = Finding(
                    id: "LOG002", severity: .warning, file: version.file, line: 1, column: 1,
                    message: "\(version.number) is released and \(file) does not hold its digest", advice: "write it: \(.lockVersions)")
                finding.repairs = [Repair(file: file, path: ["versions", "\(version.number.number)"], .set("\"\(version.digest.hex)\""))]
                findings.append(finding)
            default: break
            }
        }
        for number in digests.keys.sorted() where !versions.contains(where: { $0.number == number }) {
            findings.append(
                Finding(
                    id: "LOG002", file: file, message: "\(number) is in the lock and its file is gone",
                    fix: "restore \(number).yaml: events born at \(number) need it"))
        }
        return findings
    }
}
