internal import Foundation

/// What was done to a disk, as `Faults/blocks.c` has written it down, and what was promised meanwhile.
package struct BlockLog {
    package enum Entry {
        /// So many bytes of the log from `at` on went to `offset` of the disk.
        case write(offset: Int, at: Int, count: Int)
        case flush
        case mark(String)
    }

    package private(set) var entries: [Entry] = []
    fileprivate let bytes: [UInt8]

    package init(_ file: String) throws {
        bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        var at = 0
        while at + 16 <= bytes.count {
            let (kind, count, offset) = (number(at, 4), number(at + 4, 4), number(at + 8, 8))
            at += 16
            switch kind {
            case 1: entries.append(.write(offset: offset, at: at, count: count))
            case 2: entries.append(.flush)
            case 3: entries.append(.mark(String(decoding: bytes[at ..< at + count], as: UTF8.self)))
            default: throw Failure("\(file) holds an entry of kind \(kind)")
            }
            at += count
        }
    }

    private func number(_ at: Int, _ count: Int) -> Int { bytes[at ..< at + count].reversed().reduce(0) { $0 << 8 | Int($1) } }

    /// The line that says that the job has ended; what follows is the file system's own.
    package static let end = "end\n"

    package var flushes: Int { entries.count { if case .flush = $0 { true } else { false } } }
}

/// A disk on the way through its log: what was flushed is on it, and of the rest whatever chance takes.
package struct CutDisk {
    private let log: BlockLog
    private let flushed: String
    /// Entries that are behind, and writes among them that no flush has made durable.
    private var taken = 0
    private var pending: [Int] = []
    package private(set) var promises: [Promise] = []

    /// - Parameter image: the disk before the first entry; changed from now on.
    package init(_ log: BlockLog, image: String) { (self.log, flushed) = (log, image) }

    /// Goes on to where so many entries are behind.
    package mutating func go(to count: Int) throws {
        while taken < count {
            switch log.entries[taken] {
            case .write: pending.append(taken)
            case .flush:
                try put(pending.map { ($0, nil) }, to: flushed)
                pending.removeAll()
            case .mark(let text):
                for line in text.split(separator: "\n") where text != BlockLog.end { promises.append(try Promise(line)) }
            }
            taken += 1
        }
    }

    /// Writes what a disk may hold when the power goes here, and says what was taken of what was not flushed.
    package func write(to image: String, _ chance: inout some RandomNumberGenerator) throws -> String {
        try SparseFile.copy(file: flushed, to: image)
        let kind = ["none", "all", "the first", "some", "sectors"][Int.random(in: 0 ..< 5, using: &chance)]
        var parts: [(entry: Int, part: Range<Int>?)] = []
        switch kind {
        case "none": break
        case "all": parts = pending.map { ($0, nil) }
        case "the first": parts = pending.prefix(Int.random(in: 0 ... pending.count, using: &chance)).map { ($0, nil) }
        case "some": parts = pending.filter { _ in Bool.random(using: &chance) }.map { ($0, nil) }
        default:
            for entry in pending {
                guard case .write(_, _, let count) = log.entries[entry] else { continue }
                for start in stride(from: 0, to: count, by: 512) where Bool.random(using: &chance) {
                    parts.append((entry, start ..< min(start + 512, count)))
                }
            }
        }
        try put(parts, to: image)
        return "\(kind) of \(pending.count) writes since the last flush"
    }

    private func put(_ parts: [(entry: Int, part: Range<Int>?)], to image: String) throws {
        if parts.isEmpty { return }
        let file = unsafe open(image, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure("\(image) can't be opened: \(errno)") }
        defer { close(file) }
        for (entry, part) in parts {
            guard case .write(let offset, let at, let count) = log.entries[entry] else { continue }
            let part = part ?? 0 ..< count
            let put = unsafe log.bytes.withUnsafeBytes { bytes -> Int in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe pwrite(file, base + at + part.lowerBound, part.count, off_t(offset + part.lowerBound))
            }
            guard put == part.count else { throw Failure("\(image) can't be written: \(errno)") }
        }
    }
}

/// The server of a disk that writes down what is done to it.
package enum BlockServer {
    /// Built for this run.
    package static let program = Result { try FaultyDisk.build("blocks.c", as: "evstore-blocks") }
}
