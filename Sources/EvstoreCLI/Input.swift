internal import Bytes
internal import Evstore
internal import Platform

/// A file or standard input (`-`); ^C ends a read.
enum Input {
    /// The text without the byte order mark with which some programs begin one in UTF-8; RFC 8259 lets a reader ignore it.
    static func withoutMark(_ text: [UInt8]) -> [UInt8] { text.starts(with: [0xef, 0xbb, 0xbf]) ? Array(text.dropFirst(3)) : text }

    /// The whole input, of at most `bytesMax` bytes; no more than that is read of an endless one.
    /// - Parameter refusal: makes the error for a larger input from its size.
    static func all(
        _ path: String, atMost bytesMax: Int, _ interrupts: Interrupts, refusal: ((Int) -> EvstoreError)? = nil
    ) throws -> [UInt8] {
        var bytes = ByteBuffer()
        let file = try open(path)
        while try more(of: file, into: &bytes, path, interrupts) {
            if bytes.count > bytesMax { throw refusal?(bytes.count) ?? tooLarge(path, bytesMax) }
        }
        return bytes.array()
    }

    /// Calls `body` with each line, without its line feed and the first without a byte order mark; none may have more than `bytesMax` bytes.
    static func lines(_ path: String, atMost bytesMax: Int, _ interrupts: Interrupts, _ body: ([UInt8]) throws -> Void) throws {
        let file = try open(path)
        var piece = ByteBuffer()
        var line: [UInt8] = []
        var isFirst = true
        func end() throws {
            try body(isFirst ? withoutMark(line) : line)
            isFirst = false
            line.removeAll(keepingCapacity: true)
        }
        while try more(of: file, into: &piece, path, interrupts) {
            for part in piece.array().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
                if part.offset > 0 { try end() }
                line += part.element
                if line.count > bytesMax { throw tooLarge(path, bytesMax) }
            }
            piece.removeAll()
        }
        if !line.isEmpty { try end() }
    }

    /// Whether it is read as one run of bytes: a file may be a link or a named pipe.
    static func isFile(_ path: String) -> Bool { path == "-" || InputFile.isThere(path) }

    /// Returns as many bytes as it is asked for, fewer only at the end.
    static func pieces(_ path: String, _ interrupts: Interrupts) throws -> (Int) throws -> [UInt8] {
        let file = try open(path)
        var bytes = ByteBuffer()
        return { count in
            while bytes.count < count, try more(of: file, into: &bytes, path, interrupts) {}
            let taken = min(count, bytes.count)
            defer { bytes.removeFirst(taken) }
            return [UInt8](copying: bytes.slice(0, taken))
        }
    }

    private static func tooLarge(_ path: String, _ bytesMax: Int) -> EvstoreError {
        .usage(
            "\(path == "-" ? "standard input" : quoted(path)) is too large: it, or a line of it, has more than \(grouped(bytesMax)) bytes")
    }

    private static func open(_ path: String) throws(EvstoreError) -> InputFile {
        do {
            return try path == "-" ? InputFile(descriptor: 0) : InputFile(path: path)
        } catch {
            throw .usage("\(quoted(path)) can't be read: \(error)")
        }
    }

    private static func more(
        of file: borrowing InputFile, into bytes: inout ByteBuffer, _ path: String, _ interrupts: Interrupts
    ) throws(EvstoreError) -> Bool {
        while !file.isReady(withinMilliseconds: 200) {
            if interrupts.isCancelled { throw .interrupted(again: "") }
        }
        do {
            return try file.read(into: &bytes, atMost: 64 << 10) > 0
        } catch {
            throw .ioFailure(doing: "reading \(path == "-" ? "standard input" : path)", reason: error.description)
        }
    }
}
