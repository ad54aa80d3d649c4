internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import LMDB

/// A directory for work that is thrown away: below the store, or below TMPDIR where the store can't be written.
package struct Scratch: Sendable {
    private static let name = "/evstore-"
    private let directory: OwnedDirectory

    package var path: String { directory.path }

    package static func make(_ site: MigrationSite) throws(EvstoreError) -> Scratch {
        let parent = "\(site.store)/scratch"
        return try migrating {
            if !site.log.isReadOnly {
                if try Directory.status(parent) == nil { try Directory.create(parent) }
                try OwnedDirectory.sweep(parent + name)
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
        Scratch(directory: try OwnedDirectory(parent + name))
    }
}
