internal import EventLog
package import EventModel
internal import FoundationEssentials
internal import Platform
internal import Projections

/// A directory for temporary work: below the store, or below TMPDIR where the store can't be written.
package struct ScratchDirectory: Sendable {
    private static let scratch = "scratch"
    private static let name = "/evstore-"
    private let directory: OwnedDirectory

    package var path: String { directory.path }

    /// - Throws: `EvstoreError.replaced` where other files lie at the store's path: what is made there would be theirs.
    package static func make(_ context: MigrationContext) throws(EvstoreError) -> ScratchDirectory {
        if !context.log.isInPlace { throw .replaced(path: context.store) }
        return try converting {
            if !context.log.isReadOnly { return try make(below: StoreFiles.directory(scratch, of: context.store)) }
            return try make(below: ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp")
        }
    }

    /// Removes the directory; a later use sweeps what can't be removed now.
    package func remove() {
        do { try Directory.remove(path, overwriting: KeyedFiles.isOne) } catch {}
    }

    /// Removes the directories that killed processes have left below a store; returns the names of those that are in use.
    package static func sweep(_ context: MigrationContext) throws -> [String] {
        guard try Directory.ownStatus("\(context.store)/\(scratch)") != nil else { return [] }
        let parent = try StoreFiles.directory(scratch, of: context.store)
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return try Directory.names(parent).filter { ("/" + $0).hasPrefix(name) }.map { "\(scratch)/\($0)" }
    }

    private static func make(below parent: String) throws -> ScratchDirectory {
        try OwnedDirectory.sweep(parent + name, overwriting: KeyedFiles.isOne)
        return ScratchDirectory(directory: try OwnedDirectory(parent + name))
    }
}
