internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import LMDB
internal import Platform
internal import Projections

/// A directory for work that is thrown away: below the store, or below TMPDIR where the store can't be written.
package struct Scratch: Sendable {
    private static let scratch = "scratch"
    private static let name = "/evstore-"
    private let directory: OwnedDirectory

    package var path: String { directory.path }

    package static func make(_ site: MigrationSite) throws(EvstoreError) -> Scratch {
        try converting {
            if !site.log.isReadOnly { return try make(below: StoreFiles.directory(scratch, of: site.store)) }
            return try make(below: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        }
    }

    /// Removes the directory; what can't be removed now is swept by the next use.
    package func remove() {
        do { try Directory.remove(path, overwriting: KeyedFiles.isOne) } catch {}
    }

    /// Removes the directories that killed processes have left below a store; returns the names of those in use.
    package static func sweep(_ site: MigrationSite) throws -> [String] {
        guard try Directory.ownStatus("\(site.store)/\(scratch)") != nil else { return [] }
        let parent = try StoreFiles.directory(scratch, of: site.store)
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return try Directory.names(parent).filter { ("/" + $0).hasPrefix(name) }.map { "\(scratch)/\($0)" }
    }

    private static func make(below parent: String) throws -> Scratch {
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return Scratch(directory: try OwnedDirectory(parent + name))
    }
}
