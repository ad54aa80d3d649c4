internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing

/// The rows and the end of the run before, read beside the making of a run that follows it: what that run has proved, and what is still the
/// same, need not be proved again. Each frame is checked before it is used; from damage on, nothing is known.
final class EarlierRun {
    private var frames: FrameReader?
    private var subjects: ArraySlice<UInt8> = []
    private var end: LogEnd?

    /// - Parameters:
    ///   - source: returns the next bytes of the file of rows, fewer than asked for only at its end.
    ///   - base: where the run's blocks end.
    init(_ source: @escaping (Int) throws -> [UInt8], after base: BackupBase, provenBy codes: StoreCodes?) throws {
        var frames = FrameReader(source, after: (base.frame, base.frameLink))
        try frames.prove(by: codes)
        self.frames = frames
    }

    /// The next bytes of the file of subjects' keys; fewer than asked for only at its end.
    func nextSlots(_ count: Int) -> [UInt8] {
        while subjects.count < count, let frame = nextFrame() { if frame.kind == .subjects { subjects += frame.body } }
        defer { subjects = subjects.dropFirst(count) }
        return Array(subjects.prefix(count))
    }

    /// The digest of the content, if the log ended there as it does now.
    func content(asOf last: Checkpoint, _ link: Digest) -> Digest? {
        while nextFrame() != nil {}
        guard let end, end.last == last, end.link == link else { return nil }
        return end.content
    }

    /// Nil after the end, and from damage on.
    private func nextFrame() -> (kind: BackupFrame.Kind, body: [UInt8])? {
        guard end == nil else { return nil }
        do {
            let frame = try frames?.next()
            if let frame, frame.kind == .end { end = LogEnd(frame.body) }
            return frame
        } catch {
            frames = nil
            return nil
        }
    }
}
