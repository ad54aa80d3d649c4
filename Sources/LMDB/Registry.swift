internal import CLMDB
internal import Glibc
package import Platform

/// The environments that this process has open, by the file's device and inode: if one were opened twice, closing one of the two would
/// silently drop the other's locks.
final class Registry: Sendable {
    static let shared = Registry()

    private struct Key: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private struct Entry {
        let environment: Environment
        var opens: Int
    }

    private let entries = Monitor<[Key: Entry]>([:])

    /// Runs under the lock, so that environments are opened and closed one after the other.
    func open(_ directory: String, _ configuration: Environment.Configuration) throws(StorageError) -> Environment {
        try entries.withLock { (entries) throws(StorageError) in
            if let status = try Directory.status(directory + "/data.mdb"),
                let entry = entries[Key(device: status.device, inode: status.inode)],
                entry.environment.isOfThisProcess, Guard.registry.isOn
            {
                if entry.environment.isReadOnly && !configuration.readOnly {
                    throw StorageError(
                        misuse: "\(directory) is open in this process for reading only: open it for writing before that")
                }
                try entry.environment.openTables(configuration)
                entries[Key(device: status.device, inode: status.inode)]?.opens += 1
                return entry.environment
            }
            let environment = try Environment.openNew(directory, configuration)
            do throws(StorageError) {
                guard let status = try Directory.status(directory + "/data.mdb") else { throw StorageError(ENOENT, "opening \(directory)") }
                entries[Key(device: status.device, inode: status.inode)] = Entry(environment: environment, opens: 1)
                return environment
            } catch {
                // Nobody else could close it: its name was removed since it was opened.
                try environment.closeFiles()
                throw error
            }
        }
    }

    var environments: [Environment] { entries.withLock { $0.values.map(\.environment).filter(\.isOfThisProcess) } }

    func close(_ environment: Environment) {
        entries.withLock { entries in
            guard let (key, entry) = entries.first(where: { $0.value.environment === environment }) else { return }
            if entry.opens > 1 {
                entries[key]?.opens -= 1
                return
            }
            do throws(StorageError) {
                try environment.closeFiles()
                entries[key] = nil
            } catch { environment.notice("\(environment.directory) stays open: \(error.message)") }
        }
    }
}

/// The identity of a file of an environment when it was opened.
struct FileIdentity: Sendable {
    private let path: String
    private let device, inode: UInt64

    /// The identities of both files; `lock.mdb` is missing on a disk that can't be written.
    static func all(in directory: String) throws(StorageError) -> [FileIdentity] {
        var places: [FileIdentity] = []
        for name in ["/data.mdb", "/lock.mdb"] {
            guard let status = try Directory.status(directory + name) else { continue }
            places.append(FileIdentity(path: directory + name, device: status.device, inode: status.inode))
        }
        return places
    }

    /// - Throws: `MDB_INVALID` where the path leads to another file now, or to none: further writes would go to a file that nobody finds,
    ///   under another lock than that of the other processes.
    func check() throws(StorageError) {
        let status = try Directory.status(path)
        guard status?.inode == inode, status?.device == device else {
            throw StorageError(invalid: "\(path) was \(status == nil ? "removed" : "replaced") while it was open: close the store")
        }
    }
}

extension Environment {
    /// - Throws: `MDB_INVALID` where the files are no longer those that were opened; misuse where LMDB's locks on them were lost.
    package func checkInPlace() throws(StorageError) {
        try lockFile.withLock { $0 }?.check()
        guard Guard.inPlace.isOn else { return }
        for place in places { try place.check() }
    }
}
