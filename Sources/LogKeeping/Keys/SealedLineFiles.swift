internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Migration
internal import Platform

/// Rewrites the files of event lines beside a sealed store's log (archives, and events that a salvage could not confirm) without the
/// personal data that was forgotten.
struct SealedLineFiles {
    private let context: MigrationContext
    private let redact: LineRedaction
    private static let bytesAtOnce = 1 << 20

    init(_ context: MigrationContext, _ redact: @escaping LineRedaction) { (self.context, self.redact) = (context, redact) }

    /// Returns how many lines were changed, and the paths below the store of files with lines that can't be read; those lines stay.
    ///
    /// Order: the new file is durable and has the suffix `.forgotten` before the key of the old file is overwritten, and then the old file
    /// itself. The new file gets the old name last, so that after a crash the next call continues from there.
    func forget() async throws -> (lines: Int, unread: [String]) {
        let left = try paths { name, isOurs in name.hasSuffix(Self.whole) && isOurs(name.dropLast(Self.whole.count)) }
        let unfinished = try paths { name, isOurs in name.hasSuffix(".tmp") && isOurs(name.dropLast(4)) }
        try await replace(left.map { String($0.dropLast(Self.whole.count)) }, discarding: unfinished)
        var (lines, unread, changed) = (0, [String](), [String]())
        for path in try paths({ name, isOurs in isOurs(name[...]) }) {
            try context.job.check()
            context.job.report("forget", Directory.name(of: path))
            let found = try countLines(SealedLineFile(path))
            lines += found.changed
            if found.unread > 0 { unread.append(String(path.dropFirst(context.store.count + 1))) }
            if found.changed > 0 {
                try write(path)
                changed.append(path)
            }
        }
        try await replace(changed)
        return (lines, unread)
    }

    /// Lends each line that can be opened.
    func forEachOpenLine(_ body: (RawSpan) throws(EvstoreError) -> Void) throws {
        let sealer = context.log.lineSealer
        for path in try paths({ name, isOurs in isOurs(name[...]) }) {
            try context.job.check()
            try SealedLineFile(path).forEachLine { line in if let text = self.line(line, sealer).text { try body(text.lent) } }
        }
    }

    private static let whole = ".forgotten"

    /// The files beside the log whose names are wanted.
    /// - Parameter isWanted: called with a name, and with a function that says whether a file of lines has a name.
    private func paths(_ isWanted: (String, (Substring) -> Bool) -> Bool) throws -> [String] {
        let archive = "\(context.store)/archive"
        return try [archive, context.store].flatMap { directory in
            guard try Directory.status(directory)?.isDirectory == true else { return [String]() }
            let isOurs = { (name: Substring) in directory == archive ? name.hasSuffix(".jsonl") : name == SalvageReport.unconfirmedName }
            return try Directory.names(directory).filter { isWanted($0, isOurs) }.map { directory + "/" + $0 }
        }
    }

    /// Replaces the old files by the new ones, and removes unfinished ones.
    private func replace(_ paths: [String], discarding unfinished: [String] = []) async throws {
        var slots: Set<UInt32> = []
        for path in paths + unfinished { slots.formUnion(try SealedLineFile(path).slots()) }
        // Lines that can't be opened are unchanged in the new file, so their keys stay.
        for path in paths { slots.subtract(try SealedLineFile(path + Self.whole).slots()) }
        try await SealedLineFile.forget(slots, of: context.log)
        for path in unfinished { try SealedLineFile(path).remove() }
        for path in paths { try finish(path) }
    }

    private func countLines(_ file: SealedLineFile) throws -> (changed: Int, unread: Int) {
        var (changed, unread) = (0, 0)
        let sealer = context.log.lineSealer
        try file.forEachLine { line in
            switch self.line(line, sealer).what {
            case .kept: return
            case .changed: changed += 1
            case .unread: unread += 1
            }
        }
        return (changed, unread)
    }

    private enum Line { case kept, changed, unread }

    /// Opens a line and removes the personal data; the text is nil where the line can't be opened.
    private func line(_ line: RawSpan, _ sealer: LineSealer?) -> (what: Line, text: [UInt8]?) {
        var text: [UInt8]?
        do throws(EvstoreError) {
            var open = ByteBuffer(capacity: line.byteCount)
            if let sealed = SealedLine(line) { try sealed.open(by: sealer, into: &open) } else { open.append(line) }
            text = open.array()
            guard let redacted = try redact(open.bytes) else { return (.kept, text) }
            return (.changed, redacted)
        } catch { return (.unread, text) }
    }

    /// Writes the new file, and seals every line that can be opened under a key of that file.
    private func write(_ path: String) throws {
        let made = try WholeFile(path + Self.whole, under: "\(path).tmp")
        var buffer = ByteBuffer(capacity: Self.bytesAtOnce)
        var offset = 0
        func flush() throws {
            try made.file.write(buffer.bytes, at: offset)
            offset += buffer.count
            buffer.removeAll()
        }
        let sealer = try context.log.makeLineSealer()
        try SealedLineFile(path).forEachLine { line in
            let text = self.line(line, sealer).text
            if let text, let sealer, let sealed = SealedLine(line) {
                try SealedLine.write(text.lent, sealed.epoch, sealed.position, by: sealer, into: &buffer)
            } else if let text {
                buffer.append(text)
            } else {
                buffer.append(line)
            }
            buffer.append(UInt8(ascii: "\n"))
            if buffer.count >= Self.bytesAtOnce { try flush() }
        }
        try flush()
        try made.replace()
    }

    private func finish(_ path: String) throws {
        try Directory.overwrite(path)
        var hasher = SHA256Hasher()
        let file = try File(path + Self.whole, .read)
        var offset = 0
        while case let bytes = try file.read(Self.bytesAtOnce, at: offset), !bytes.isEmpty {
            hasher.update(bytes)
            offset += bytes.count
        }
        try Archive.setDigest(hasher.finalize(), ofLines: path)
        try Directory.rename(path + Self.whole, to: path)
        try Directory.sync(Directory.parent(of: path))
    }
}
