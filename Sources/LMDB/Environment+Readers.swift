internal import CLMDB
package import Platform

extension Environment {
    /// Frees the slots of readers whose process has ended; returns how many there were.
    @discardableResult
    package func clearStaleReaders() throws(StorageError) -> Int {
        try enter()
        defer { gate.leave() }
        return try reapReaders()
    }

    func reapReaders() throws(StorageError) -> Int {
        guard Guard.readerCheck.isOn else { return 0 }
        try awaitReaderTable()
        var dead: Int32 = 0
        try check(unsafe mdb_reader_check(handle, &dead), "looking for dead readers of \(directory)")
        return Int(dead)
    }

    /// The same for every environment that this process has open. Skips one whose map is growing, instead of waiting: the thread that grows
    /// it clears its readers, and may itself be waiting for this one.
    package static func clearAllStaleReaders() throws(StorageError) {
        for environment in Registry.shared.environments where environment.gate.enterIfOpen() {
            defer { environment.gate.leave() }
            _ = try environment.reapReaders()
        }
    }

    /// A reader, of whatever process, and the commit that it reads: no page that belongs to it is used again.
    package struct Reader: Hashable, Sendable {
        package let process: Int32
        package let transaction: UInt
    }

    /// The reader of the oldest commit; nil where nobody reads.
    package var oldestReader: Reader? {
        get throws(StorageError) {
            try enter()
            defer { gate.leave() }
            let list = ReaderList()
            let code = unsafe mdb_reader_list(
                handle,
                { line, context in
                    guard let line = unsafe line, let context = unsafe context else { return 0 }
                    unsafe Unmanaged<ReaderList>.fromOpaque(context).takeUnretainedValue().add(String(cString: line))
                    return 0
                }, Unmanaged.passUnretained(list).toOpaque())
            // It returns what the last line returned, or a code below zero.
            if code < 0 { throw StorageError(lmdb: code, "asking for the readers of \(directory)") }
            return list.oldest
        }
    }
}

/// What LMDB prints of its readers: after a title a line each with the process, the thread and the commit in decimal, or `-`
/// where none is read.
private final class ReaderList {
    private(set) var oldest: Environment.Reader?

    func add(_ line: String) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let process = Int32(words[0]), let transaction = UInt(words[2]) else { return }
        if oldest.map({ transaction < $0.transaction }) ?? true { oldest = Environment.Reader(process: process, transaction: transaction) }
    }
}
