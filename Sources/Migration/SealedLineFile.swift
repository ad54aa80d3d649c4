internal import Bytes
package import EventLog
internal import LMDB
internal import Platform

/// A file of event lines beside the log of a sealed store; the lines of a file are sealed under the file's own key.
package struct SealedLineFile {
    private let path: String
    private static let bytesAtOnce = 1 << 20

    package init(_ path: String) { self.path = path }

    /// Removes files of lines after overwriting their keys.
    static func discard(_ paths: [String], of log: EventLog) async throws {
        try await forget(paths.reduce(into: []) { slots, path in slots.formUnion(try SealedLineFile(path).slots()) }, of: log)
        for path in paths { try SealedLineFile(path).remove() }
    }

    /// Overwrites the keys of lines. The ledger records a key before the last line that names it is removed.
    package static func forget(_ slots: Set<UInt32>, of log: EventLog) async throws {
        let forgotten = try log.forgetLines(slots)
        if !forgotten.isEmpty { try await log.update { update in try update.note(forgotten) } }
    }

    /// Overwrites and removes the file, if there is one.
    package func remove() throws {
        try Directory.removeFiles(in: Directory.parent(of: path), overwriting: true) { $0 == Directory.name(of: path) }
    }

    /// The slots that the lines name; empty where there is no file.
    package func slots() throws -> Set<UInt32> {
        guard try Directory.ownStatus(path)?.isFile == true else { return [] }
        var slots: Set<UInt32> = []
        try forEachLine { line in if let slot = SealedLine(line)?.slot { slots.insert(slot) } }
        return slots
    }

    /// Lends each line without its line feed.
    package func forEachLine(_ body: (RawSpan) throws -> Void) throws {
        let file = try File(path, .read)
        var (rest, offset, searched) = ([UInt8](), 0, 0)
        while true {
            let more = try file.read(Self.bytesAtOnce, at: offset)
            offset += more.count
            rest += more
            var start = 0
            while let end = rest[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n")) {
                try body(rest.lent.slice(start, end - start))
                (start, searched) = (end + 1, end + 1)
            }
            rest.removeFirst(start)
            searched = rest.count
            if more.isEmpty {
                if !rest.isEmpty { try body(rest.lent) }
                return
            }
        }
    }
}
