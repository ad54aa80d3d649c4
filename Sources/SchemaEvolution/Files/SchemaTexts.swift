package import EventModel
internal import FoundationEssentials

/// The contents of a directory of version files, either as on disk or with edits applied.
package struct SchemaTexts: Sendable {
    package let directory: String
    /// New contents by path, which replace those on disk; nil marks a removed file.
    package private(set) var changed: [String: [UInt8]?] = [:]

    package init(directory: String) { self.directory = directory }

    package func path(_ name: String) -> String { directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)" }

    /// The names of all files, sorted.
    package func names() throws(EvstoreError) -> [String] {
        var names: Set<String>
        do { names = Set(try FileManager.default.contentsOfDirectory(atPath: directory)) } catch {
            guard FileManager.default.fileExists(atPath: directory) else {
                throw .usage("there is no directory \(quoted(directory)) of version files", fix: "check \(.nameSchemas)")
            }
            throw .schemaInvalid([
                Finding(
                    id: "LOG001", file: directory, message: "the directory can't be read",
                    advice: "name the directory that holds v1.yaml: \(.nameSchemas)")
            ])
        }
        let prefix = path("")
        for (path, text) in changed where path.hasPrefix(prefix) && !path.dropFirst(prefix.count).contains("/") {
            let name = String(path.dropFirst(prefix.count))
            if text == nil { names.remove(name) } else { names.insert(name) }
        }
        return names.sorted()
    }

    /// The bytes of a file; a file that can't be read is reported as a finding.
    package func bytes(path: String) throws(EvstoreError) -> [UInt8] {
        if case let text?? = changed[path] { return text }
        return try FileReader.bytes(path: path)
    }

    package func exists(path: String) -> Bool {
        if let text = changed[path] { return text != nil }
        return FileManager.default.fileExists(atPath: path)
    }

    package func read(path: String) throws(EvstoreError) -> FileNode { try FileReader.read(text: bytes(path: path), file: path) }

    /// The lines of a file; empty if the file does not exist.
    package func lines(path: String) -> [[Unicode.Scalar]] {
        text(of: path).map { YAMLFileReader.lines(of: String(decoding: $0, as: UTF8.self)) } ?? []
    }

    /// Whether a version file is released or locked. If the file can't be parsed, whether its text contains the word `released`.
    package func isReleased(path: String) -> Bool {
        guard let name = path.split(separator: "/").last, let number = Int(name.dropFirst().prefix { $0 != "." }), name.hasPrefix("v")
        else {
            return false
        }
        do {
            if try names().contains(SchemaLock.fileName) {
                let lock = try SchemaLock(text: bytes(path: self.path(SchemaLock.fileName)), file: SchemaLock.fileName)
                if lock.digests[SchemaVersion(number)] != nil { return true }
            }
            return try read(path: path).member("released") != nil
        } catch {
            return lines(path: path).contains { String(String.UnicodeScalarView($0)).contains("released") }
        }
    }

    /// The total size of the files in bytes; 0 if they can't be listed.
    package var size: Int {
        do {
            return try names().reduce(0) { sum, name in
                if case let text?? = changed[path(name)] { return sum + text.count }
                let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
                return sum + ((attributes[.size] as? Int) ?? 0)
            }
        } catch { return 0 }
    }

    /// Applies edits, whose line numbers refer to the unedited files, and changes no other bytes. Returns false, without any change, if the
    /// lines to remove do not match.
    package mutating func apply(_ edits: [FileEdit]) -> Bool {
        var made = changed
        for file in Set(edits.map(\.file)) {
            var lines = (text(of: file) ?? []).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
            guard changed[file] == nil && lines.count == 1 || lines.count == self.lines(path: file).count else { return false }
            let isCRLF = lines.count > 1 && lines[0].last == UInt8(ascii: "\r")
            // Edits are applied from the last line to the first, so that line numbers of the remaining edits stay valid.
            for edit in edits.filter({ $0.file == file }).sorted(by: { $0.line > $1.line }) {
                let range = edit.line - 1 ..< edit.line - 1 + edit.remove.count
                guard range.lowerBound >= 0, range.upperBound <= lines.count else { return false }
                for (line, old) in zip(lines[range], edit.remove) {
                    guard (line.last == UInt8(ascii: "\r") ? Array(line.dropLast()) : line) == Array(old.utf8) else { return false }
                }
                lines.replaceSubrange(range, with: edit.insert.map { Array($0.utf8) + (isCRLF ? [UInt8(ascii: "\r")] : []) })
                if let renamed = edit.renamed { made[renamed] = .some(nil) }
            }
            // If the last line had no line ending, it still has none.
            if isCRLF, let last = lines.last, last.last == UInt8(ascii: "\r") { lines[lines.count - 1].removeLast() }
            made[file] = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
        }
        for edit in edits {
            guard let renamed = edit.renamed, case let text?? = made[edit.file] else { continue }
            (made[renamed], made[edit.file]) = (text, .some(nil))
        }
        changed = made
        return true
    }

    private func text(of file: String) -> [UInt8]? {
        if let text = changed[file] { return text }
        return FileManager.default.contents(atPath: file).map { [UInt8]($0) }
    }
}
