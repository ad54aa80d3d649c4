internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import Platform

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

    /// The block files of the run before, some of them joined where it is time, for a new run. From the first one on whose frames turn out to
    /// be damaged they are left out, so that the run writes their blocks anew. Where the files can't be joined, they stay as they are.
    func joined(_ files: [Run.Blocks], by number: UInt64, _ context: MigrationContext) throws -> [Run.Blocks] {
        guard let range = Self.joinable(files.map(\.bytes)), let last = files[range].last else { return files }
        var joined = last
        joined.file = Self.blocksName(number, Position(last.position))
        joined.bytes = files[range].sum(\.bytes)
        let base = range.lowerBound > 0 ? files[range.lowerBound - 1].base : nil
        do {
            try copy(files[range], context.job)
            if try damage(of: joined, in: Self.unfinished, after: base) == nil {
                try Directory.rename("\(path)/\(Self.unfinished)", to: "\(path)/\(joined.file)")
                return files[..<range.lowerBound] + [joined] + files[range.upperBound...]
            }
        } catch EvstoreError.interrupted {
            throw context.job.interrupted
        } catch {
            context.warn("\(range.count) files of the backups in \(path) could not be joined: \(error.advised)")
            try removeUnfinished(context)
            return files
        }
        try removeUnfinished(context)
        for index in range {
            let file = files[index]
            guard let damage = try damage(of: file, in: file.file, after: index > 0 ? files[index - 1].base : nil) else { continue }
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
        let frames = FileSequence(files.map { "\(path)/\($0.file)" })
        while true {
            try job.check()
            let bytes = try frames.read(1 << 20)
            if bytes.isEmpty { break }
            try file.write(bytes.lent)
        }
        try file.finish()
    }
}
