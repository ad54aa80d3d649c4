internal import Glibc
internal import Platform

/// A socket on 127.0.0.1 that takes connections and never says a word; closed with the last reference to it.
package final class PlainListener: Sendable {
    package let port: Int
    private let descriptor: Int32

    package init(isListening: Bool = true) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, size) == 0 && (!isListening || listen(descriptor, 64) == 0)
                    ? getsockname(descriptor, pointer, &size) : -1
            }
        }
        guard code == 0 else {
            let failure = SystemFailure(code: errno)
            close(descriptor)
            throw failure
        }
        (port, self.descriptor) = (Int(UInt16(bigEndian: address.sin_port)), descriptor)
    }

    deinit { close(descriptor) }
}
