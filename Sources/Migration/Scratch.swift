internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import LMDB
internal import Platform

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
                return try make(below: parent)
            }
            return try make(below: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        }
    }

    /// Removes the directory; what can't be removed now is swept by the next use.
    package func remove() {
        do { try Directory.remove(path, overwriting: KeyedFiles.isOne) } catch {}
    }

    /// Removes the directories that killed processes have left below a store; returns the names of those in use.
    package static func sweep(_ site: MigrationSite) throws -> [String] {
        let parent = "\(site.store)/scratch"
        guard try Directory.status(parent) != nil else { return [] }
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return try Directory.names(parent).filter { ("/" + $0).hasPrefix(name) }.map { "scratch/" + $0 }
    }

    private static func make(below parent: String) throws -> Scratch {
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return Scratch(directory: try OwnedDirectory(parent + name))
    }
}
