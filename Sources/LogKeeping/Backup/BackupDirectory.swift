internal import Bytes
internal import EventLog
internal import EventModel
internal import FoundationEssentials
internal import Hashing
internal import JSONText
internal import LMDB
internal import Migration
internal import Platform
internal import Projections
internal import Sealing

/// A directory of backups that share their blocks: each run writes the blocks since the run before, and the current state of the store's
/// other rows.
///
///     blocks/<number>-<last position>.evf    frames of blocks; the frames of each file follow those of the file before. Where a run that
///                                            adds no events joins files that end there, its own file has the next position in its name
///     rows/<number>.evf                      frames of rows, and the end
///     runs/<number>.json                     the files of a run, in order; written last
///     forgotten                              the ledger of what was forgotten, of a store whose events are sealed
///
/// The files of a run, one after the other, have the form of a backup in a pipe (`BackupFrame`). Names are numbers of ten and of twenty
/// digits.
struct BackupDirectory {
    struct Run: Codable {
        struct Blocks: Codable, Hashable {
            var file: String
            var bytes: Int
            var epoch: UInt32
            var position: UInt64
            /// The links of the last block and of the last frame, in hexadecimal.
            var link: String
            var frame: UInt64
            var frameLink: String
            /// A digest over the slots of the key file in the run; nil where it has none.
            var slots: String?
        }

        var format = 1
        var number: UInt64
        var store: String
        var time: String
        var epoch: UInt32
        var position: UInt64
        var content: String
        var blocks: [Blocks]
        var rows: String
        /// What the ledger was at its end; nil in runs of older programs.
        var forgotten: LedgerNote?

        /// Whether its numbers are possible ones for a log and for files: otherwise nothing of it is added up or shown.
        var isPossible: Bool {
            let most = Position.largest.rawValue
            return position <= most && epoch < .max
                && blocks.allSatisfy { $0.position <= most && $0.frame <= most && $0.bytes >= 0 && $0.bytes <= most && $0.epoch < .max }
        }
    }

    let path: String

    private static let formatKnown = 1
    /// The largest size of a run's file, which lists the block files of all runs before it.
    private static let fileBytesMax = 64 << 20

    /// Creates the directory if it is missing.
    /// - Throws: `EvstoreError.usage` where it holds other files than those of backups.
    init(making path: String) throws {
        self.path = path
        if try Directory.status(path) != nil, try !Directory.isEmpty(path), try Directory.status(path + "/runs") == nil {
            throw EvstoreError.usage("\(path) holds other things than backups: name an empty directory, or one of its own")
        }
        guard try Directory.status(Directory.parent(of: path)) != nil else {
            throw EvstoreError.usage("there is no directory \(Directory.parent(of: path))")
        }
        // Order: `runs` is created first, since it marks a directory as one of backups.
        for name in ["", "/runs", "/blocks", "/rows"] {
            if try Directory.status(path + name) == nil { try Directory.create(path + name) }
            // Synced even if an earlier run has created it, since that may have been killed before its sync.
            if name.isEmpty { try Directory.syncName(of: path) } else { try Directory.sync(path) }
        }
    }

    init(_ path: String) { self.path = path }

    /// The numbers of the runs, in rising order.
    func numbers() throws -> [UInt64] {
        guard try Directory.status(path + "/runs") != nil else { return [] }
        return try Directory.names(path + "/runs").compactMap { name in
            guard let number = UInt64(name.prefix(10)), name == Self.fileName(number) else { return nil }
            return number
        }
    }

    /// Whether there are files of runs, apart from those that a run which was killed had not written to their ends.
    var hasFilesOfRuns: Bool {
        get throws {
            try ["blocks", "rows"].contains { directory in
                guard try Directory.status("\(path)/\(directory)") != nil else { return false }
                return try !Directory.names("\(path)/\(directory)").allSatisfy(Self.isUnfinished)
            }
        }
    }

    private static func fileName(_ number: UInt64) -> String { "\(padded(Int64(clamping: number), 10)).json" }

    func run(_ number: UInt64) throws -> Run {
        let name = "\(path)/runs/\(Self.fileName(number))"
        let file = try File(name, .read)
        let bytes = try file.read(min(file.status().bytes, Self.fileBytesMax))
        guard Self.isAsWritten(bytes) else { throw damaged("\(name) is not as it was written") }
        let run: Run
        do { run = try JSONDecoder().decode(Run.self, from: Data(bytes)) } catch { throw damaged("\(name) can't be read") }
        guard run.format <= Self.formatKnown else { throw EvstoreError.storeNewer(path: name, format: run.format, known: Self.formatKnown) }
        // A file name that leads out of the directory is refused.
        guard run.number == number, run.rows == Self.rowsName(number), run.blocks.allSatisfy({ Self.isBlocksName($0.file) }) else {
            throw damaged("\(name) names files that no backup has written")
        }
        guard run.isPossible else { throw damaged("\(name) has a number that no backup has") }
        return run
    }

    /// The content of a run's file, or why it can't be read.
    func read(_ number: UInt64) -> Result<Run, EvstoreError> {
        do {
            let run = try run(number)
            guard Timestamp(run.time) != nil else { throw damaged("run \(number) has an invalid time") }
            return .success(run)
        } catch { return .failure(EvstoreError(converting: error, at: path, doing: "reading run \(number) of the backups in \(path)")) }
    }

    /// The runs whose files can't be read: other runs don't depend on them.
    func unreadable() throws -> [(number: UInt64, error: EvstoreError)] {
        try numbers().compactMap { number in
            guard case .failure(let error) = read(number) else { return nil }
            return (number, error)
        }
    }

    /// The newest run whose file can be read; nil where there is none.
    func newestReadable() throws -> Run? {
        for number in try numbers().reversed() { if case .success(let run) = read(number) { return run } }
        return nil
    }

    /// The run that the next one builds on; nil in a new directory.
    /// - Throws: `EvstoreError`: storeNewer where a newer program made the newest run, backupDamaged where no run can be read.
    func base() throws -> Run? {
        guard let newest = try numbers().last else { return nil }
        guard case .failure(let error) = read(newest) else { return try run(newest) }
        if case .storeNewer = error { throw error }
        guard let older = try newestReadable() else { throw error }
        return older
    }

    /// The run with a number; the newest one if the number is nil.
    func chosen(_ number: UInt64?) throws -> Run {
        let numbers = try numbers()
        guard let number = number ?? numbers.last else { throw damaged(EvstoreError.noRunFinished) }
        guard numbers.contains(number) else {
            let known = numbers.isEmpty ? "none was ever finished" : "there are " + numbers.map(String.init).joined(separator: ", ")
            throw EvstoreError.usage("\(path) has no run \(number): \(known)")
        }
        switch read(number) {
        case .success(let run): return run
        case .failure(.backupDamaged(_, let reason)):
            throw damaged(reason + (try newestReadable().map { "; run \($0.number) is the newest one that can be read" } ?? ""))
        case .failure(let error): throw error
        }
    }

    func damaged(_ reason: String) -> EvstoreError { .backupDamaged(path: path, reason: reason) }

    static func rowsName(_ number: UInt64) -> String { "rows/\(padded(Int64(number), 10)).evf" }

    static func blocksName(_ number: UInt64, _ position: Position) -> String {
        "blocks/\(padded(Int64(number), 10))-\(padded(Int64(position.rawValue), 20)).evf"
    }

    private static func isRowsName(_ name: String) -> Bool {
        let digits = name.dropFirst(5).dropLast(4)
        return name.hasPrefix("rows/") && name.hasSuffix(".evf") && digits.count == 10 && UInt64(digits) != nil
    }

    private static func isBlocksName(_ name: String) -> Bool {
        let digits = name.dropFirst(7).dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
        return name.hasPrefix("blocks/") && name.hasSuffix(".evf") && digits.map(\.count) == [10, 20]
            && digits.joined().utf8.allSatisfy { (UInt8(ascii: "0") ... UInt8(ascii: "9")).contains($0) }
    }

    private static func isUnfinished(_ name: String) -> Bool { name.hasSuffix(".new") && UInt64(name.dropLast(4)) != nil }

    /// Writes a run's file durably: from then on the run is valid.
    func finish(_ run: Run) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let name = "\(path)/runs/\(Self.fileName(run.number))"
        let text = Self.withChecksum([UInt8](try encoder.encode(run)))
        guard text.count <= Self.fileBytesMax else { throw damaged("it has too many runs: begin a new directory") }
        try write(text, to: name)
    }

    /// The members of a run's file beside its checksum.
    private static let members: Set = [
        "format", "number", "store", "time", "epoch", "position", "content", "blocks", "rows", "forgotten",
    ]

    /// Appends the last member to a run's object: XXH3-64 of everything before it, in hexadecimal. Programs that don't know it pass over it.
    private static func withChecksum(_ object: [UInt8]) -> [UInt8] {
        let text = Array(object.dropLast())
        return text + Array(#","xxh3":"\#(hex(bytes(checksum(text.lent).byteSwapped)))"}"#.utf8) + [10]
    }

    /// Whether a run's file is as a program has written it: with its checksum, or by an older one without, and then without other members.
    private static func isAsWritten(_ file: [UInt8]) -> Bool {
        let added = withChecksum([]).count
        if file.count > added, withChecksum(file.dropLast(added) + [0]) == file { return true }
        do throws(JSONError) {
            let limits = JSONLimits(depth: 16, members: .max, bytes: fileBytesMax)
            guard case .object(let found) = try JSONValue(parsing: file.lent, limits: limits) else { return false }
            return found.allSatisfy { members.contains($0.name) }
        } catch { return false }
    }

    /// Writes a file durably, completely or not at all.
    func write(_ text: [UInt8], to name: String) throws {
        let directory = Directory.parent(of: name)
        try Directory.removeFiles(in: directory, overwriting: false) { $0 == Directory.name(of: name) + ".new" }
        try WholeFile.write(text, to: name)
    }

    /// Returns a run's block files up to the first one that is missing, or whose size, frames or codes are not those that were written.
    /// - Parameters:
    ///   - last: the number of the frame before theirs; nil where they begin a backup.
    ///   - codes: nil where frames have no codes.
    func whole(_ blocks: [Run.Blocks], after last: UInt64? = nil, provenBy codes: StoreCodes?) throws -> [Run.Blocks] {
        var whole: [Run.Blocks] = []
        for part in blocks {
            guard let status = try Directory.status(path + "/" + part.file), status.bytes == part.bytes,
                try hasFrames(part, after: whole.last?.frame ?? last, codes)
            else { break }
            whole.append(part)
        }
        return whole
    }

    /// Whether the frames of a file follow a frame by their numbers, and end with the frame that a run notes. Only headers are read.
    private func hasFrames(_ part: Run.Blocks, after last: UInt64?, _ codes: StoreCodes?) throws -> Bool {
        let file = try File(path + "/" + part.file, .read)
        var (offset, number, link) = (0, last, "")
        while offset < part.bytes {
            let bytes = try file.read(BackupFrame.headerBytes + BackupFrame.codeBytes, at: offset)
            guard let header = BackupFrame.header(bytes, provenBy: codes) else { return false }
            guard header.number == number.map({ $0 &+ 1 }) ?? 0 else { return false }
            (offset, number, link) = (offset + header.frameBytes, header.number, hex(header.link))
        }
        return offset == part.bytes && number == part.frame && link == part.frameLink
    }

    /// Removes all runs of this history except the newest ones, then the files that no run names; returns how many runs were removed. A run
    /// whose file can't be read stays.
    @discardableResult
    func prune(keeping count: Int, overwriting: Bool, _ isOfThisHistory: (Run) throws -> Bool) throws -> Int {
        let old = try numbers().filter { number in
            guard case .success(let run) = read(number) else { return false }
            return try isOfThisHistory(run)
        }.dropLast(count)
        let names = Set(old.map(Self.fileName))
        try Directory.removeFiles(in: path + "/runs", overwriting: false, named: names.contains)
        try sweep(overwriting: overwriting)
        return old.count
    }

    /// Removes the files that no run names: those of removed runs, and of runs that were killed. A run whose own file can't be read may
    /// name its rows, and the block files of all runs up to it.
    /// - Parameter overwriting: whether the files are overwritten first, since those of a sealed store hold wrapped keys.
    func sweep(overwriting: Bool) throws {
        // Order: the removal of the runs is durable before their files are removed.
        try Directory.sync(path + "/runs")
        // A run names all files that bear its number. Only where there are others is it worth reading what each run names.
        let numbers = try numbers()
        let finished = Set(numbers.map { Self.fileName($0).prefix(10) })
        let directories = try ["blocks", "rows"].filter { directory in
            try Directory.names("\(path)/\(directory)").contains { Self.isUnfinished($0) || !finished.contains($0.prefix(10)) }
        }
        if directories.isEmpty { return }
        var named: Set<String> = []
        var lastUnread: UInt64 = 0
        for number in numbers {
            switch read(number) {
            case .success(let run): named.formUnion(run.blocks.map(\.file) + [run.rows])
            case .failure:
                named.insert(Self.rowsName(number))
                lastUnread = number
            }
        }
        for directory in directories {
            try Directory.removeFiles(in: "\(path)/\(directory)", overwriting: overwriting) { name in
                let file = "\(directory)/\(name)"
                if Self.isBlocksName(file), UInt64(name.prefix(10)).map({ $0 <= lastUnread }) ?? true { return false }
                // Only files that a backup has written are removed.
                return !named.contains(file) && (Self.isBlocksName(file) || Self.isRowsName(file) || Self.isUnfinished(name))
            }
        }
    }
}

extension BackupDirectory.Run.Blocks {
    init(file: String, bytes: Int, _ base: BackupBase, slots: Digest?) {
        (self.file, self.bytes, epoch, position) = (file, bytes, base.last.epoch.rawValue, base.last.position.rawValue)
        (link, frame, frameLink) = (base.link.hex, base.frame, base.frameLink.hex)
        self.slots = slots?.hex
    }

    /// Where the next file's frames continue; nil where the run's file has it in an invalid form.
    var base: BackupBase? {
        guard let link = Digest(hex: link), let frameLink = Digest(hex: frameLink) else { return nil }
        return BackupBase(
            last: Checkpoint(epoch: Epoch(epoch), position: Position(position)), link: link, frame: frame, frameLink: frameLink)
    }
}

/// Block files of a directory are joined as it grows, so that a run names few of them, however many runs there were. A file's level is the
/// power of 16 that its size has reached. Where a run finds 16 files of one level, or of lower ones, at the end, they become one file:
/// their frames follow each other already. The old files stay as long as an older run names them. So each byte is copied about once a
/// level, as in the size-tiered compaction of log-structured stores.
extension BackupDirectory {
    private static let filesOfLevelMax = 15
    /// Files that reach this size together are not joined: what it costs a run stays bounded.
    static let joinedBytesMax = 1 << 30
    /// The name of a file that is being written; runs are counted from 1.
    private static let unfinished = "blocks/0.new"

    /// The block files of the run before, some of them joined where it is time, for a new run. From the first one on whose frames turn out
    /// to be damaged they are left out, so that the run writes their blocks anew. Where the files can't be joined, they stay as they are.
    func joined(_ files: [Run.Blocks], by number: UInt64, _ context: MigrationContext) throws -> [Run.Blocks] {
        guard let range = Self.joinable(files.map(\.bytes)), let last = files[range].last else { return files }
        var joined = last
        joined.file = Self.blocksName(number, Position(last.position))
        joined.bytes = files[range].sum(\.bytes)
        let base = range.lowerBound > 0 ? files[range.lowerBound - 1].base : nil
        do {
            try copy(files[range], context.job)
            if try damage(of: joined, in: Self.unfinished, after: base, context.job) == nil {
                try Directory.rename("\(path)/\(Self.unfinished)", to: "\(path)/\(joined.file)")
                return files[..<range.lowerBound] + [joined] + files[range.upperBound...]
            }
        } catch EvstoreError.interrupted {
            throw context.job.interrupted
        } catch {
            context.warn("\(range.count) files of the backups in \(path) could not be joined", error)
            try removeUnfinished(context)
            return files
        }
        try removeUnfinished(context)
        for index in range {
            let file = files[index]
            let base = index > 0 ? files[index - 1].base : nil
            guard let damage = try damage(of: file, in: file.file, after: base, context.job) else { continue }
            context.warn("of the backups in \(path), \(damage): this run has its blocks anew; verify the older runs")
            return Array(files[..<index])
        }
        return files
    }

    /// In a sealed store the file has wrapped keys: it is overwritten first.
    private func removeUnfinished(_ context: MigrationContext) throws {
        try Directory.removeFiles(in: path + "/blocks", overwriting: context.log.keyFile != nil) { "blocks/\($0)" == Self.unfinished }
    }

    /// The files that become one; nil where none do.
    static func joinable(_ sizes: [Int]) -> Range<Int>? {
        guard let last = sizes.last else { return nil }
        var (range, bytes) = (sizes.count - 1 ..< sizes.count, last)
        while range.upperBound == sizes.count {
            let start = sizes[..<range.lowerBound].lastIndex { level($0) > level(bytes) }.map { $0 + 1 } ?? 0
            // A directory of an older program may have more than one file holds: the first ones come first.
            var (end, sum) = (start, 0)
            while end < sizes.count, sum.plus(sizes[end]) <= joinedBytesMax { (end, sum) = (end + 1, sum + sizes[end]) }
            guard range.lowerBound - start >= filesOfLevelMax, end - start > filesOfLevelMax else { break }
            (range, bytes) = (start ..< end, sum)
        }
        return range.count > 1 ? range : nil
    }

    /// 0 below 64 KiB, 1 below 1 MiB, 2 below 16 MiB …
    private static func level(_ bytes: Int) -> Int { (Int.bitWidth - (bytes >> 16).leadingZeroBitCount + 3) / 4 }

    /// Writes the frames of some files into one.
    private func copy(_ files: some Sequence<Run.Blocks>, _ job: Job) throws {
        var file = FileWriter("\(path)/\(Self.unfinished)")
        let read = FileSequence(files.map { "\(path)/\($0.file)" }).reading(job)
        while true {
            let bytes = try read(1 << 20)
            if bytes.isEmpty { break }
            try file.write(bytes.lent)
        }
        try file.finish()
    }
}

/// The file `forgotten` beside backups: a line for each row of the log's ledger of what was forgotten (`ForgottenLedger`), with the number,
/// the code, the last slot and the proof; bytes are in hexadecimal.
extension BackupDirectory {
    private static let head = "evstore forgotten 1"
    private static let bytesMax = 1 << 30

    private var ledgerPath: String { path + "/forgotten" }

    /// Reads the entries; only the store's keys can prove them.
    func ledger() throws -> [ForgottenLedger.Entry] {
        guard try Directory.ownStatus(ledgerPath) != nil else { return [] }
        let file = try File(ledgerPath, .read)
        let text = try file.read(min(file.status().bytes, Self.bytesMax))
        var lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.popLast() == "", lines.first == Self.head else { throw damagedLedger }
        var entries: [ForgottenLedger.Entry] = []
        for line in lines.dropFirst() {
            guard let entry = Self.entry(line) else { throw damagedLedger }
            entries.append(entry)
        }
        return entries
    }

    private static func entry(_ line: String) -> ForgottenLedger.Entry? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 4, let number = UInt64(words[0]), let through = UInt32(words[2]) else { return nil }
        guard let code = bytes(hex: words[1]), code.count == 16, let proof = bytes(hex: words[3]) else { return nil }
        return ForgottenLedger.Entry(number: number, ForgottenSubject(code: code, through: through), proof: proof)
    }

    /// Adds the missing entries; returns what a run notes about all of them. Entries are never removed: if an older copy of the store is
    /// put back, its ledger is shorter.
    func add(_ entries: [ForgottenLedger.Entry]) throws -> LedgerNote {
        let known = try ledger()
        let there = Set(known)
        let missing = entries.filter { !there.contains($0) }
        let all = known + missing
        if !missing.isEmpty { try write(Array((Self.head + "\n" + Self.text(all[...])).utf8), to: ledgerPath) }
        return LedgerNote(rows: all.count, digest: Self.digest(all[...]))
    }

    private static func text(_ entries: ArraySlice<ForgottenLedger.Entry>) -> String {
        entries.map { "\($0.number) \(hex($0.forgotten.code)) \($0.forgotten.through) \(hex($0.proof))\n" }.joined()
    }

    private static func digest(_ entries: ArraySlice<ForgottenLedger.Entry>) -> String { SHA256Hasher.hash(text(entries)).hex }

    // MARK: Checking it

    /// What a run notes about the ledger: how many rows it had, and a digest over them.
    struct LedgerNote: Codable {
        var rows: Int
        var digest: String
    }

    /// Checks the ledger without the store's keys, by what the newest run notes about it.
    /// - Throws: `EvstoreError.backupDamaged`.
    func checkLedger(_ newest: Run?) throws { try check(ledger(), newest) }

    private func check(_ entries: [ForgottenLedger.Entry], _ newest: Run?) throws {
        guard let note = newest?.forgotten else { return }
        guard (0 ... entries.count).contains(note.rows), Self.digest(entries.prefix(note.rows)) == note.digest else { throw changedLedger }
    }

    /// Checks the ledger before a run builds on it. A file that is not there is written anew from the store's ledger, if that has all that
    /// the file had.
    /// - Parameter own: the store's ledger.
    /// - Throws: `EvstoreError.backupDamaged`.
    func checkLedger(_ newest: Run?, own: [ForgottenLedger.Entry], provenBy ring: KeyRing?) throws {
        guard try Directory.ownStatus(ledgerPath) != nil else { return try check(own, newest) }
        try checkLedger(newest)
        if let ring, try !ledger().allSatisfy({ $0.isProven(by: ring) }) { throw changedLedger }
    }

    private var changedLedger: EvstoreError { damaged("its ledger of what was forgotten is not as it was written") }

    private var damagedLedger: EvstoreError { damaged("its file forgotten, which says what was forgotten, can't be read") }
}
