internal import Glibc
internal import Platform

/// A connection to a port of 127.0.0.1 that says something, and never reads an answer.
package final class PlainClient: Sendable {
    private let descriptor: Int32

    package init(port: Int, saying text: String) throws {
        descriptor = FaultyProxy.connect(to: port)
        let bytes = Array(text.utf8)
        let sent = unsafe bytes.withUnsafeBytes { unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if sent != bytes.count { throw SystemFailure(code: errno) }
    }

    /// Ends the connection as one that broke off.
    package func reset() {
        var patience = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &patience, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }
}
