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
    private var flushes = 0
    private static let head = 4_096
    package private(set) var promises: [Promise] = []

    /// - Parameter image: the disk before the first entry; changed from now on.
    package init(_ log: BlockLog, image: String) { (self.log, flushed) = (log, image) }

    /// Goes on to where so many entries are behind.
    package mutating func go(to count: Int) throws {
        while taken < count {
            switch log.entries[taken] {
            case .write: pending.append(taken)
            case .flush:
                try put(pending.map { .init(entry: $0) }, to: flushed)
                pending.removeAll()
                flushes += 1
            case .mark(let text):
                for line in text.split(separator: "\n") where text != BlockLog.end && !Refusal.isOne(line) {
                    promises.append(try Promise(line))
                }
            }
            taken += 1
        }
    }

    /// What a power cut leaves on the disk: what was flushed, and some of what was not.
    package struct Cut: Hashable {
        /// Of an entry; all of it where nil.
        fileprivate struct Part: Hashable {
            let entry: Int
            var range: Range<Int>?
        }

        fileprivate let flushes: Int
        fileprivate var parts: [Part] = []
    }

    /// One of the cuts that are possible here, and in words what was taken.
    package func draw(_ chance: inout some RandomNumberGenerator) -> (cut: Cut, what: String) {
        var cut = Cut(flushes: flushes)
        let kind = ["none", "all", "the first", "some", "sectors"][Int.random(in: 0 ..< 5, using: &chance)]
        switch kind {
        case "none": break
        case "all": cut.parts = pending.map { .init(entry: $0) }
        case "the first": cut.parts = pending.prefix(Int.random(in: 0 ... pending.count, using: &chance)).map { .init(entry: $0) }
        case "some": cut.parts = pending.filter { _ in Bool.random(using: &chance) }.map { .init(entry: $0) }
        default:
            for entry in pending {
                guard case .write(let offset, _, let count) = log.entries[entry] else { continue }
                var start = 0
                while start < count {
                    // The superblock of ext4 has two sectors under one checksum: a disk that tears it leaves nothing to mount.
                    let end = min(start + max(512, Self.head - offset - start), count)
                    if Bool.random(using: &chance) { cut.parts.append(.init(entry: entry, range: start ..< end)) }
                    start = end
                }
            }
        }
        return (cut, "\(kind) of \(pending.count) writes since the last flush")
    }

    /// Writes the disk that a cut leaves, before another flush has changed what lies below it.
    package func write(_ cut: Cut, to image: String) throws {
        guard cut.flushes == flushes else { throw Failure("the disk has gone on since the cut was drawn") }
        try SparseFile.copy(file: flushed, to: image)
        try put(cut.parts, to: image)
    }

    private func put(_ parts: [Cut.Part], to image: String) throws {
        if parts.isEmpty { return }
        let file = unsafe open(image, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure("\(image) can't be opened: \(errno)") }
        defer { close(file) }
        for item in parts {
            guard case .write(let offset, let at, let count) = log.entries[item.entry] else { continue }
            let part = item.range ?? 0 ..< count
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
