internal import Bytes
package import EventLog
package import EventModel
internal import Hashing

extension EventLog {
    /// Reads a file of block frames that follow `base` (nil for the first file), and checks that it ends exactly at `end`.
    /// - Throws: `EvstoreError.backupDamaged`.
    package static func checkFrames(from source: @escaping (Int) throws -> [UInt8], after base: BackupBase?, through end: BackupBase) throws
    {
        try checking {
            var frames = FrameReader(source, after: base.map { ($0.frame, $0.frameLink) })
            while frames.number <= end.frame {
                guard try frames.next().kind != .end else { throw BackupDamage("it ends before it should") }
            }
            guard frames.link == end.frameLink, try frames.isAtEnd() else { throw BackupDamage("its end is not what was written") }
        }
    }

    /// Reads frames that follow `base`, and checks that the backup ends with this position and content.
    /// - Throws: `EvstoreError.backupDamaged`.
    package static func checkEnd(
        from source: @escaping (Int) throws -> [UInt8], after base: BackupBase?, position: Position, content: String
    ) throws {
        try checking {
            var frames = FrameReader(source, after: base.map { ($0.frame, $0.frameLink) })
            while true {
                let (kind, body) = try frames.next()
                guard kind == .end else { continue }
                guard let end = LogEnd(body), try frames.isAtEnd(), end.last.position == position, end.content.hex == content else {
                    throw BackupDamage("its end is not that of the run")
                }
                return
            }
        }
    }

    private static func checking(_ body: () throws -> Void) throws {
        do { try body() } catch let damage as BackupDamage {
            throw EvstoreError.backupDamaged(path: "that was written", reason: damage.reason)
        }
    }
}
