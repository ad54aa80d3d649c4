internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import LMDB

/// A directory for work that is thrown away: below the store, or below TMPDIR where the store can't be written.
package struct Scratch: Sendable {
    package let path: String

    package static func make(_ site: MigrationSite) throws(EvstoreError) -> Scratch {
        let parent = "\(site.store)/scratch"
        return try migrating {
            if !site.log.isReadOnly {
                if try Directory.status(parent) == nil { try Directory.create(parent) }
                try sweep(parent)
                return try make(below: parent)
            }
            return try make(below: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        }
    }

    /// Leaves nothing; what can't be removed now is swept by the next one.
    package func remove() {
        do { try Directory.remove(path) } catch {}
    }

    private static func make(below parent: String) throws -> Scratch {
        let path = "\(parent)/\(ProcessIdentity.id)-\(UInt32.random(in: 0 ... .max))"
        try Directory.create(path)
        return Scratch(path: path)
    }

    /// Removes what processes left that are no more.
    private static func sweep(_ parent: String) throws {
        for name in try Directory.names(parent) {
            if let id = Int32(name.prefix { $0 != "-" }), ProcessIdentity.isRunning(id) { continue }
            try Directory.remove("\(parent)/\(name)")
        }
    }
}
