internal import Bytes
internal import EventLog
public import EventModel
internal import Hashing
internal import LMDB
package import Migration
internal import Platform
internal import Projections

/// Returns an event line without the personal data of the forgotten streams; nil where the line has none.
package typealias LineRedaction = @Sendable (RawSpan) throws(EvstoreError) -> [UInt8]?

/// A stream whose personal data is to be forgotten.
package struct ForgottenStream: Sendable {
    /// Its name in the report.
    package var name: StreamName
    /// The names under which there may be keys for its data.
    package var keyNames: [StreamName]

    package init(name: StreamName, keyNames: [StreamName]) { (self.name, self.keyNames) = (name, keyNames) }
}

/// Makes the personal data of streams unreadable: overwrites their keys, then removes the read models that show it.
package enum Forget {
    /// - Parameter redact: called for each line of an archive.
    /// - Throws: `EvstoreError`: keysRefused where the store has no keys, migrationInProgress.
    package static func run(
        _ context: MigrationContext, _ streams: [ForgottenStream], redact: @escaping LineRedaction
    ) async throws(EvstoreError) -> ForgetReport {
        let lock = try MigrationLock.take(context)
        defer { lock.release() }
        var report = ForgetReport()
        var failure: EvstoreError?
        // Two of the streams may have had one name in turn, and with it one key.
        var seen: Set<StreamName> = []
        let names = streams.flatMap(\.keyNames).filter { seen.insert($0).inserted }
        var done: Set<StreamName> = []
        var forgotten: [StreamName: ForgottenSubject] = [:]
        do throws(EvstoreError) {
            try converting(nil, at: nil) {
                try context.log.forget(names) { name, subject in
                    done.insert(name)
                    forgotten[name] = subject
                }
            }
        } catch { failure = error }
        for stream in streams where done.isSuperset(of: stream.keyNames) {
            let subjects = stream.keyNames.compactMap { forgotten[$0] }
            if subjects.isEmpty {
                report.unknown.append(stream.name)
            } else if subjects.contains(where: \.isNew) {
                report.forgotten.append(stream.name)
            } else {
                report.before.append(stream.name)
            }
        }
        // Order: the keys are overwritten before a read model is built again. If damage hides some keys, or the disk fails, the read models are
        // removed nevertheless. If the process is killed in between, another call of `forget` does the rest.
        if !forgotten.isEmpty || failure?.mayFollowOverwriting == true {
            // Order: before the map is emptied. Where this process is killed behind that, the next build would find them ready.
            for name in try Generation.names(in: context.store) {
                do throws(EvstoreError) { try Generation.retire(named: name, in: context.store) } catch {
                    // The map is emptied nevertheless.
                    context.warn("the read model \(name) could not be marked", error)
                }
            }
            let (noted, ledger) = (report, names.compactMap { forgotten[$0] })
            try await context.log.changing { update in
                update.state.generations = [:]
                try update.note(ledger)
                let outcome = "\(noted.forgotten.count) forgotten, \(noted.before.count) before"
                try Journal.append(.init(.forget, position: update.last.position, outcome: outcome), to: &update)
            }
            report.readModels = try GenerationSweep.run(context, keepingReady: [])
        }
        // Order: the read models of the forgotten streams are removed before the error for the rest is thrown.
        if let failure { throw failure }
        (report.lines, report.archives) = try await awaiting { try await SealedLineFiles(context, redact).forget() }
        try converting {
            report.inUse = try ScratchDirectory.sweep(context)
            report.fileSystem = try FileSystem.keeping(context.store)
        }
        return report
    }

    /// Lends each line of the files of event lines beside the log, opened; lines that can't be opened are left out.
    package static func archived(_ context: MigrationContext, _ body: (RawSpan) throws(EvstoreError) -> Void) throws(EvstoreError) {
        try converting { try SealedLineFiles(context, { _ throws(EvstoreError) in nil }).forEachOpenLine(body) }
    }
}

extension EvstoreError {
    /// Whether some keys may be overwritten although the call failed.
    fileprivate var mayFollowOverwriting: Bool {
        switch self {
        case .keysRefused, .readOnly, .usage, .deadlinePassed, .interrupted: false
        default: true
        }
    }
}

/// Rewrites the files of event lines beside a sealed store's log (archives, and events that a salvage could not confirm) without the
/// personal data that was forgotten.
struct SealedLineFiles {
    private let context: MigrationContext
    private let redact: LineRedaction
    private static let bytesAtOnce = 1 << 20

    init(_ context: MigrationContext, _ redact: @escaping LineRedaction) { (self.context, self.redact) = (context, redact) }

    /// Returns how many lines were changed, and the paths below the store of files that may still hold the data: those with lines that can't
    /// be read, which stay, and those that could not be written anew. The log says why, and another call continues from there.
    ///
    /// Order: the new file is durable and has the suffix `.forgotten` before the key of the old file is overwritten, and then the old file
    /// itself. The new file gets the old name last, so that after a crash the next call continues from there.
    func forget() async throws -> (lines: Int, unread: [String]) {
        var (lines, changed, failed, unread) = (0, [String](), [String](), [String]())
        let left = try paths { name, isOurs in name.hasSuffix(Self.whole) && isOurs(name.dropLast(Self.whole.count)) }
        let unfinished = try paths { name, isOurs in name.hasSuffix(".tmp") && isOurs(name.dropLast(4)) }
        try await replace(left.map { String($0.dropLast(Self.whole.count)) }, discarding: unfinished)
        for path in try paths({ name, isOurs in isOurs(name[...]) }) {
            try context.job.check()
            context.job.report("forget", Directory.name(of: path))
            do {
                let found = try countLines(SealedLineFile(path))
                if found.unread > 0 { unread.append(path) }
                if found.changed == 0 { continue }
                try write(path)
                lines += found.changed
                changed.append(path)
            } catch {
                context.warn("\(path) may still show what was forgotten", error)
                failed.append(path)
                await discard(path + ".tmp")
            }
        }
        do { try await replace(changed, keeping: failed) } catch {
            context.warn("what was written anew has not replaced the files of lines yet; another forget does that", error)
            (lines, failed) = (0, failed + changed)
        }
        return (lines, Set(unread + failed).sorted().map { String($0.dropFirst(context.store.count + 1)) })
    }

    /// Removes a file that could not be written to its end, so that it does not take the room that others need.
    private func discard(_ unfinished: String) async {
        do {
            if try Directory.status(unfinished) != nil { try await replace([], discarding: [unfinished]) }
        } catch { context.warn("\(unfinished) could not be removed; another forget does that", error) }
    }

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
    /// - Parameter others: old files that stay, which may share keys with those that go.
    private func replace(_ paths: [String], discarding unfinished: [String] = [], keeping others: [String] = []) async throws {
        var slots: Set<UInt32> = []
        for path in paths + unfinished { slots.formUnion(try SealedLineFile(path).slots()) }
        // Lines that can't be opened are unchanged in the new file, so their keys stay.
        for path in paths { slots.subtract(try SealedLineFile(path + Self.whole).slots()) }
        for path in others { slots.subtract(try SealedLineFile(path).slots()) }
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

/// The result of forgetting the personal data of streams.
public struct ForgetReport: Hashable, Sendable {
    /// Streams whose data this call has made unreadable.
    public var forgotten: [StreamName] = []
    /// Streams that had been forgotten before this call.
    public var before: [StreamName] = []
    /// Streams without personal data in the log.
    public var unknown: [StreamName] = []
    /// How many read models were removed; each is built anew when a query needs it.
    public var readModels = 0
    /// How many lines of archives, and of the events that a salvage could not confirm, were rewritten without the data.
    public var lines = 0
    /// The paths, below the store, of files with lines that can't be read, which may still hold the data.
    public var archives: [String] = []
    /// Copies of the store that another process is using, such as a drill's; each is removed when that process ends.
    public var inUse: [String] = []
    /// Events that still show a personal member at the live version, or at another that is promised: they were written before the member was
    /// personal, before the store was sealed, or at a version that has the value in a member without that mark. So it is not separate from
    /// the rest of the payload.
    public var stillShown: [EventsOfStream] = []
    /// Forgotten events that have no image at the live version: a step can't convert the plainest value of a personal member.
    public var withoutImage: [EventsOfStream] = []
    /// The store's file system, if it keeps copies of overwritten bytes: the keys may stay on its disk for some time, wrapped under the
    /// store's master key. Nil if it keeps none.
    public var fileSystem: String?

    /// Some events of a stream.
    public struct EventsOfStream: Hashable, Sendable {
        public var stream: StreamName
        /// How many events there are.
        public var count = 0
        /// The position of the first of them.
        public var first: Position

        package init(_ stream: StreamName, first: Position) { (self.stream, self.first) = (stream, first) }
    }

    /// Whether nothing that this call has looked at may still show the data: no event, no archive, and no copy in use.
    public var isComplete: Bool { archives.isEmpty && inUse.isEmpty && stillShown.isEmpty && withoutImage.isEmpty }

    public init() {}
}
