internal import Bytes
package import EventModel
internal import Platform

/// Reads version and projection files: strict YAML, or JSON.
///
/// Plain scalars are texts, except `true`, `false`, `null` and JSON numbers. Anchors, aliases, tags, merge keys, duplicate members, tabs,
/// members without a value and multiple documents are refused, with their location.
package enum FileReader {
    /// The maximum size of a file, in bytes.
    package static let bytesMax = 4 << 20

    /// The maximum nesting depth of lists and maps.
    package static let depthMax = 64

    /// The maximum number of texts, numbers, lists and maps in a file.
    package static let valuesMax = 100_000

    /// Reads YAML, or JSON if the name ends in `.json`.
    package static func read(text: [UInt8], file: String) throws(EvstoreError) -> FileNode {
        do throws(FileProblem) {
            let start = FileLocation(file: file, line: 1, column: 1)
            guard text.count <= bytesMax else {
                throw FileProblem(
                    FileRule.syntax, "the file has \(text.count) bytes, more than the \(bytesMax) a schema may have", at: start)
            }
            let root = try file.hasSuffix(".json") ? JSONFileReader.read(text, file: file) : YAMLFileReader.read(text, file: file)
            guard root.count <= valuesMax else {
                throw FileProblem(
                    FileRule.syntax, "the file has \(root.count) values, more than the \(valuesMax) a schema may have", at: start)
            }
            return root
        } catch { throw .schemaInvalid([error.finding]) }
    }

    /// Reads the file at a path; a file that can't be opened is reported as a finding.
    package static func read(path: String) throws(EvstoreError) -> FileNode { try read(text: bytes(path: path), file: path) }

    /// The bytes of a regular file; anything else is reported as a finding.
    package static func bytes(path: String, atMost bytesMax: Int = bytesMax) throws(EvstoreError) -> [UInt8] {
        func refused(_ message: String, _ fix: String) -> EvstoreError {
            .schemaInvalid([Finding(id: FileRule.syntax, file: path, message: message, fix: fix)])
        }
        do throws(SystemFailure) {
            if let bytes = try InputFile.regular(path).all(atMost: bytesMax) { return bytes }
        } catch {
            if error.isNotRegularFile { throw refused("it is no regular file", "put a file in its place") }
            throw refused("the file can't be read", "check that it exists and may be read")
        }
        throw refused("the file has more than the \(bytesMax) bytes it may have", "take out what does not belong in it")
    }
}
