internal import Bytes
internal import Evstore
internal import System

/// A file or standard input (`-`), read in a way that ^C can end.
enum Input {
    /// Everything that comes.
    static func all(_ path: String, _ cancellation: Cancellation) throws -> [UInt8] {
        var bytes = ByteBuffer()
        let file = try open(path)
        while try more(of: file, into: &bytes, path, cancellation) {}
        return bytes.array()
    }

    /// Gives each line to `body`, without its line feed.
    static func lines(_ path: String, _ cancellation: Cancellation, _ body: ([UInt8]) throws -> Void) throws {
        let file = try open(path)
        var piece = ByteBuffer()
        var line: [UInt8] = []
        while try more(of: file, into: &piece, path, cancellation) {
            for part in piece.array().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
                if part.offset > 0 {
                    try body(line)
                    line.removeAll(keepingCapacity: true)
                }
                line += part.element
            }
            piece.removeAll()
        }
        if !line.isEmpty { try body(line) }
    }

    private static func open(_ path: String) throws(EvstoreError) -> InputFile {
        do {
            return try path == "-" ? InputFile(descriptor: 0) : InputFile(path: path)
        } catch {
            throw .usage("\(quoted(path)) can't be read: \(error)")
        }
    }

    /// Appends what comes next; false at the end.
    private static func more(
        of file: borrowing InputFile, into bytes: inout ByteBuffer, _ path: String, _ cancellation: Cancellation
    ) throws(EvstoreError) -> Bool {
        while !file.isReady(withinMilliseconds: 200) {
            if cancellation.isCancelled { throw .interrupted(again: "") }
        }
        do {
            return try file.read(into: &bytes, atMost: 64 << 10) > 0
        } catch {
            throw .ioFailure(doing: "reading \(path == "-" ? "standard input" : path)", reason: error.description)
        }
    }
}
