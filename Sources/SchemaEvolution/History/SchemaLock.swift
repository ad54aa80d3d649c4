internal import Bytes
package import EventModel
package import Hashing
internal import JSONText

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

    /// The lock as file contents.
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
