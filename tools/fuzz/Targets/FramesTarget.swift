import Bytes
import EventModel
import Foundation
import Hashing

@testable import EventLog
@testable import LogKeeping

extension FuzzTarget {
    private static var options: Options {
        var options = Options()
        (options.mapBytes, options.ballastBytes, options.freeDiskFloorBytes) = (1 << 24, 0, 0)
        return options
    }

    /// Frames that are read can be written to the same bytes, and a backup that is restored is a sound log. Each frame's link is made
    /// right before it is tried.
    static let frames = FuzzTarget(
        name: "frames",
        seeds: { try [0, 2, 30].map { try backup(events: $0) } },
        take: { input in
            var bytes = input
            setRight(&bytes)
            let whole = bytes
            var at = 0
            func next(_ count: Int) -> [UInt8] {
                let end = min(at + count, whole.count)
                defer { at = end }
                return Array(whole[at ..< end])
            }
            var (reader, writer) = (FrameReader(next), FrameWriter())
            var written: [UInt8] = []
            var isEnded = false
            while !isEnded {
                let frame = try reader.next()
                try writer.write(frame.kind, frame.body.lent) { written += [UInt8](copying: $0) }
                isEnded = frame.kind == .end
            }
            try hold(written == Array(whole[..<at]), "frames that were read are written otherwise")
            at = 0
            try restore(next)
        })

    private static func restore(_ source: @escaping (Int) -> [UInt8]) throws {
        let store = place + "/restored"
        if FileManager.default.fileExists(atPath: store) { try FileManager.default.removeItem(atPath: store) }
        _ = try EventLog.restore(from: source, named: "the frames", into: store, options: options)
        let log: EventLog
        do { log = try EventLog.open(at: store, options: options, readOnly: true) } catch {
            throw Broken(description: "what was restored does not open: \(error)")
        }
        let findings = try log.verify(deep: true)
        try hold(findings.isEmpty, "what was restored is unsound: \(findings)")
    }

    private static func setRight(_ bytes: inout [UInt8]) {
        var (at, link) = (0, Digest.zero)
        while at + BackupFrame.headerBytes <= bytes.count {
            let size = Int(min(bytes.number(UInt64.self, at: at + 8), UInt64(bytes.count - at - BackupFrame.headerBytes)))
            let body = Array(bytes[at + BackupFrame.headerBytes ..< at + BackupFrame.headerBytes + size])
            link = BackupFrame.link(after: link, bytes.lent.slice(at, BackupFrame.headerBytes), body.lent)
            bytes.replaceSubrange(at + BackupFrame.linkedBytes ..< at + BackupFrame.headerBytes, with: link.bytes)
            at += BackupFrame.headerBytes + size
        }
    }

    private static func backup(events: Int) throws -> [UInt8] {
        let store = place + "/original-\(events)"
        let log = try EventLog.create(at: store, options: options) { update in
            update.state.live = SchemaVersion(1)
            (update.state.floor, update.state.top, update.state.head) = (update.state.live, update.state.live, update.state.live)
        }
        let made = try (0 ..< events).map { number in
            StoredEvent(
                stream: try StreamName("s-\(number % 3)"), type: "type-\(number % 2)", born: SchemaVersion(1),
                payload: Array(#"{"number":\#(number)}"#.utf8), metadata: [], id: nil, time: Timestamp(microseconds: 1_767_225_600_000_000))
        }
        let (done, bytes) = (DispatchSemaphore(value: 0), Gathered())
        Task {
            do {
                if !made.isEmpty { _ = try await log.append(AppendRequest(events: made)) }
                try gather(log, into: bytes)
            } catch { fatalError("\(error)") }
            done.signal()
        }
        done.wait()
        return bytes.bytes
    }

    private static func gather(_ log: EventLog, into target: Gathered) throws {
        _ = try log.backUp { _, piece in target.bytes += [UInt8](copying: piece) }
    }
}

/// Bytes that one thread writes before another one reads them.
private final class Gathered: @unchecked Sendable {
    var bytes: [UInt8] = []
}
