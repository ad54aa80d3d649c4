internal import Bytes
internal import Glibc

/// A small file, a key, that is trusted because no other user can have written it.
package enum SecureFile {
    package enum Access: Sendable {
        /// Nobody but its owner may read it.
        case secret
        /// Nobody but its owner may change it.
        case trusted
        /// The service manager gives it to this process. Where an access list says who may read it, the group's bits show that list.
        case granted

        fileprivate var forbidden: mode_t {
            switch self {
            case .secret: 0o077
            case .trusted: 0o022
            case .granted: 0o037
            }
        }
    }

    /// All of the file's bytes.
    /// - Throws: `Refusal` where it is a symbolic link or no regular file, belongs to neither this user nor root, is open to others,
    ///   or has more than `bytesMax` bytes; `SystemFailure` where it can't be read.
    package static func read(_ path: String, _ access: Access, bytesMax: Int) throws -> [UInt8] {
        // Opening a FIFO could wait for its other end, and opening a device could have effects.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        if descriptor < 0 { throw errno == ELOOP ? Refusal("it is a symbolic link") : SystemFailure(code: errno) as any Error }
        defer { close(descriptor) }
        var state = stat()
        if unsafe fstat(descriptor, &state) != 0 { throw SystemFailure(code: errno) }
        guard state.st_mode & S_IFMT == S_IFREG else { throw Refusal("it is no regular file") }
        guard state.st_uid == geteuid() || state.st_uid == 0 else { throw Refusal("it belongs to another user") }
        guard state.st_mode & access.forbidden == 0 else {
            throw Refusal(access == .trusted ? "others can change it; chmod go-w" : "others can read or change it; chmod 600")
        }
        guard state.st_size <= bytesMax else { throw Refusal("it has \(state.st_size) bytes, and no key has more than \(bytesMax)") }
        guard let bytes = try InputFile(descriptor: descriptor).all(atMost: bytesMax) else { throw Refusal("it grows while it is read") }
        return bytes
    }

    package struct Refusal: Error, Hashable, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }
}
