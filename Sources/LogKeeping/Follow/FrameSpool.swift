internal import Bytes
internal import EventModel
internal import Hashing
internal import Platform

/// A file beside a replica's log for frames that come through a pipe and hold what the replica lacks: all of them are checked before the
/// first one is used.
struct FrameSpool {
    private static let name = "/follow.new"
    private let path: String
    private var file: FileWriter
    private var frames: FrameWriter?
    private var blocks: NewerBackup.Blocks

    /// - Parameter end: the end of the replica's log.
    init(at store: String, behind end: Position) {
        path = store + Self.name
        file = FileWriter(path)
        blocks = NewerBackup.Blocks(files: [], after: nil, start: end)
    }

    /// Adds a frame of blocks unchanged.
    mutating func write(_ body: [UInt8], after before: (number: UInt64, link: Digest), from start: Position) throws {
        if frames == nil {
            frames = FrameWriter(after: before)
            blocks = NewerBackup.Blocks(files: [path], after: before, start: start)
        }
        try frames?.write(.blocks, body.lent) { try file.write($0) }
    }

    /// The written frames; no files where there are none.
    var written: NewerBackup.Blocks { blocks }

    /// Removes the file, even one that a killed process has left.
    static func remove(at store: String) throws { try Directory.remove(store + name) }
}
