internal import Bytes
internal import EventLog
internal import EventModel
internal import Platform

/// Block files of a directory are joined as it grows, so that a run names some dozens of them, however many runs there were. A file's level
/// is the power of 16 that its size has reached. As soon as a run would end with 16 files of one level, or of lower ones, they become one
/// file: their frames follow each other already. The old files stay as long as an older run names them. So each byte is copied about once a
/// level, as in the size-tiered compaction of log-structured stores.
extension BackupDirectory {
    private static let filesOfLevelMax = 15
    /// Larger files are not joined: what a run costs stays bounded.
    private static let joinedBytesMax = 4 << 30
    /// The name of the file that is being joined; runs are counted from 1.
    private static let joining = "blocks/0.new"

    /// Gives a run's new block file its name, joined with the files before it where it is time; returns the run's block files.
    /// - Parameter made: the name under which the new file's frames were written.
    /// - Parameter overwriting: whether a file is overwritten before it is removed.
    func add(_ new: Run.Blocks, from made: String, to shared: [Run.Blocks], overwriting: Bool, _ job: Job) throws -> [Run.Blocks] {
        let files = shared + [new]
        let first = Self.firstJoined(files.map(\.bytes))
        var joined = new
        joined.bytes = files[first...].sum(\.bytes)
        let isJoined =
            try first < shared.count
            && join(files[first ..< shared.count].map(\.file) + [made], after: first > 0 ? files[first - 1].base : nil, joined, job)
        try Directory.rename("\(path)/\(isJoined ? Self.joining : made)", to: "\(path)/\(new.file)")
        if first < shared.count {
            try Directory.removeFiles(in: path + "/blocks", overwriting: overwriting) { [made, Self.joining].contains("blocks/\($0)") }
        }
        return isJoined ? files[..<first] + [joined] : files
    }

    /// The index of the first of the files that become one with the last; the last one's where it stays alone.
    static func firstJoined(_ sizes: [Int]) -> Int {
        var (first, bytes) = (sizes.count - 1, sizes.last ?? 0)
        while true {
            let start = sizes[..<first].lastIndex { level($0) > level(bytes) }.map { $0 + 1 } ?? 0
            let joined = sizes[start ..< first].reduce(bytes) { $0.plus($1) }
            guard first - start >= filesOfLevelMax, joined <= joinedBytesMax else { return first }
            (first, bytes) = (start, joined)
        }
    }

    /// 0 below 64 KiB, 1 below 1 MiB, 2 below 16 MiB …
    private static func level(_ bytes: Int) -> Int { (Int.bitWidth - (bytes >> 16).leadingZeroBitCount + 3) / 4 }

    /// Writes the frames of some files into one, and reads them again; false where one of them is damaged, which a check of the runs that
    /// name it tells.
    private func join(_ names: [String], after base: BackupBase?, _ joined: Run.Blocks, _ job: Job) throws -> Bool {
        guard let end = joined.base else { return false }
        var file = FileWriter("\(path)/\(Self.joining)")
        let frames = FileSequence(names.map { "\(path)/\($0)" })
        while true {
            try job.check()
            let bytes = try frames.read(1 << 20)
            if bytes.isEmpty { break }
            try file.write(bytes.lent)
        }
        try file.finish()
        return try damage(of: Self.joining) { try EventLog.checkFrames(from: $0, after: base, through: end) } == nil
    }
}
