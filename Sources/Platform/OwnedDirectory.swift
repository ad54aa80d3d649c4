internal import Glibc

/// A new directory that is locked (`flock(2)`) until the process that made it ends, in whatever way. So another process can find out
/// whether the directory was left behind, even where it can't see the maker's process.
package final class OwnedDirectory: Sendable {
    package let path: String
    private let descriptor: Int32
    private static let attemptsMax = 20
    private static let digits = 16

    /// Makes a directory whose name is `prefix` and a random number.
    package init(_ prefix: String) throws(StorageError) {
        // Another process that sweeps may remove the directory before it is locked.
        for _ in 0 ..< Self.attemptsMax {
            let path = prefix + Self.number()
            do throws(StorageError) { try Directory.create(path) } catch {
                // It was swept before it was locked; where the parent directory is missing, another try won't help.
                if error.code == ENOENT, try Directory.status(Directory.parent(of: path)) != nil { continue }
                throw error
            }
            do throws(StorageError) {
                guard let descriptor = try Self.lock(path) else { continue }
                (self.path, self.descriptor) = (path, descriptor)
                return
            } catch {
                try Directory.remove(path)
                throw error
            }
        }
        throw StorageError(EWOULDBLOCK, "locking a new directory at \(prefix)…")
    }

    /// A random number as the names of these directories end in.
    package static func number() -> String { String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }

    deinit { LockedFiles.close(descriptor) }

    /// Removes the directories made with this prefix whose makers have ended. Leaves those of another user, and names of another form.
    /// - Parameter overwriting: whether a file of this name is overwritten first.
    package static func sweep(_ prefix: String, overwriting: (String) -> Bool = { _ in false }) throws(StorageError) {
        let (parent, start) = (Directory.parent(of: prefix), Directory.name(of: prefix))
        for name in try Directory.names(parent) where isMade(name, behind: start) {
            try removeIfAbandoned("\(parent)/\(name)", overwriting: overwriting)
        }
    }

    /// Whether a name consists of this prefix and a number, as those of directories made here do.
    package static func isMade(_ name: String, behind start: String) -> Bool {
        let number = name.utf8.dropFirst(start.utf8.count)
        return name.hasPrefix(start) && number.count == digits
            && number.allSatisfy {
                (UInt8(ascii: "0") ... UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a") ... UInt8(ascii: "f")).contains($0)
            }
    }

    /// Removes a directory whose maker has ended; false where the maker lives.
    @discardableResult
    package static func removeIfAbandoned(_ path: String, overwriting: (String) -> Bool = { _ in false }) throws(StorageError) -> Bool {
        try withAbandoned(path) { () throws(StorageError) in try Directory.remove(path, overwriting: overwriting) }
    }

    /// Runs `body` on a directory whose maker has ended, and keeps other processes from doing so meanwhile; false where the maker lives.
    package static func withAbandoned(_ path: String, _ body: () throws(StorageError) -> Void) throws(StorageError) -> Bool {
        guard let descriptor = try lock(path) else { return false }
        defer { LockedFiles.close(descriptor) }
        try body()
        return true
    }

    /// Nil where another process holds the lock, the directory is missing, or it belongs to another user.
    private static func lock(_ path: String) throws(StorageError) -> Int32? {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if descriptor < 0 {
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return nil }
            throw .system("opening \(path)")
        }
        var isKept = false
        defer { if !isKept { LockedFiles.close(descriptor) } }
        // Order: the owner is checked before the lock is taken, so that no other user waits for this process.
        guard try Directory.isOwn(descriptor, path) else { return nil }
        LockedFiles.add(descriptor)
        if Guard.lifeSign.isOn, flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return nil }
            throw .system("locking \(path)")
        }
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0, opened.st_ino == named.st_ino,
            opened.st_dev == named.st_dev
        else { return nil }
        isKept = true
        return descriptor
    }
}
