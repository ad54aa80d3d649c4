internal import Bytes
package import EventModel
internal import FoundationEssentials
internal import Glibc
package import JSONText
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

enum JSONFileReader {
    static func read(_ text: [UInt8], file: String) throws(FileProblem) -> FileNode {
        var lines = LineCounter(file: file)
        var limits = JSONLimits()
        (limits.bytes, limits.depth, limits.members) = (FileReader.bytesMax, FileReader.depthMax, FileReader.valuesMax)
        do throws(JSONError) {
            _ = try JSONScanner.validate(text.lent, limits: limits)
            var walk = JSONWalker(text.lent)
            walk.skipSpaces()
            return try node(&walk, &lines)
        } catch {
            throw FileProblem(FileRule.syntax, "not valid JSON: \(error.reason)", at: lines.mark(of: error.offset, in: text.lent))
        }
    }

    private static func node(_ walk: inout JSONWalker, _ lines: inout LineCounter) throws(JSONError) -> FileNode {
        let text = walk.text
        let mark = lines.mark(of: walk.offset, in: text)
        if walk.enterObject() {
            var members: [FileNode.Member] = []
            while let name = walk.nextName() {
                let place = lines.mark(of: name.start, in: text)
                members.append(.init(name: decodedString(text.slice(name)) ?? "", place: place, value: try node(&walk, &lines)))
            }
            return FileNode(.map(members), at: mark)
        }
        if walk.enterArray() {
            var nodes: [FileNode] = []
            while walk.nextElement() { nodes.append(try node(&walk, &lines)) }
            return FileNode(.list(nodes), at: mark)
        }
        let found = walk.skipValue()
        return FileNode(try scalar(text.slice(found), at: found.start), at: mark)
    }

    private static func scalar(_ value: RawSpan, at offset: Int) throws(JSONError) -> FileNode.Kind {
        switch try JSONValue(parsing: value) {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text)
        case .string(let text): .string(text)
        case .array, .object: throw JSONError("a value was expected", at: offset)
        }
    }
}

/// Converts byte offsets to lines and columns; fast if the offsets are requested in ascending order.
private struct LineCounter {
    let file: String
    private var offset = 0
    private var line = 1
    private var column = 1

    init(file: String) { self.file = file }

    mutating func mark(of target: Int, in text: RawSpan) -> FileLocation {
        if target < offset { (offset, line, column) = (0, 1, 1) }
        while offset < min(target, text.byteCount) {
            let byte = text.byte(at: offset)
            if byte == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if byte & 0xc0 != 0x80 {
                column += 1
            }
            offset += 1
        }
        return FileLocation(file: file, line: line, column: column)
    }
}

/// Runs calls that read or write files, and gives their errors in the words of the operating system or of the decoder.
package func onFiles<R>(_ doing: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch let error as EvstoreError { throw error } catch {
        let failure =
            (error as? StorageError).map { SystemFailure(code: $0.code) } ?? error as? SystemFailure
            ?? ((error as? CocoaError)?.underlying as? POSIXError).map { SystemFailure(code: $0.code.rawValue) }
        throw .ioFailure(doing: doing, reason: failure?.description ?? SwiftValues.reason(error))
    }
}

/// Files that a command writes beside a person's own: each is there whole or not at all, also where the disk is full.
package enum SourceFile {
    /// Replaces a file, or makes it. A symbolic link stays: its target is written.
    package static func write(_ text: [UInt8], to path: String) throws(EvstoreError) {
        try onFiles("writing \(path)") {
            let target = URL(filePath: path).resolvingSymlinksInPath().path
            try write(text, to: target, Directory.status(target)?.mode) { made in try made.replace(.contents) }
        }
    }

    /// Copies a file, with its mode, to where nothing may be yet.
    package static func copy(_ path: String, to copy: String) throws(EvstoreError) {
        let text = try onFiles("reading \(path)") { try Data(contentsOf: URL(filePath: path)) }
        try make(copy, Array(text), mode: onFiles("reading \(path)") { try Directory.status(path)?.mode })
    }

    /// Makes a file that must not be there yet; of several processes that make it at once, one does.
    /// - Parameter mode: who may read and change it; nil: what the process's mask allows.
    package static func make(_ path: String, _ text: [UInt8], mode: UInt32? = nil) throws(EvstoreError) {
        try onFiles("writing \(path)") {
            try write(text, to: path, mode) { made in if try !made.add(.contents, mayBeEmpty: true) { throw SystemFailure(code: EEXIST) } }
        }
    }

    private static func write(_ text: [UInt8], to path: String, _ mode: UInt32?, _ finish: (WholeFile) throws -> Void) throws {
        let made = try WholeFile(amongOthers: path, mode: 0o666)
        do {
            if let mode { try made.file.set(mode: mode) }
            try made.file.write(text)
            try finish(made)
        } catch {
            made.discard()
            throw error
        }
    }
}

extension EvstoreError {
    package init(_ error: JSONError) { self = .invalidJSON(reason: error.reason, offset: error.offset) }
}
