/// The address that a server listens on; only this machine can reach it.
package enum ListenAddress: Sendable, Hashable {
    case loopback(port: UInt16)
    case socket(path: String)

    /// Parses `127.0.0.1:9464`, `9464` or `unix:/run/evstore/status.sock`; nil for anything else.
    package init?(_ text: String) {
        if text.hasPrefix("unix:/") {
            self = .socket(path: String(text.dropFirst("unix:".count)))
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 1 || parts.count == 2 && ["127.0.0.1", "localhost"].contains(parts[0]), let last = parts.last,
            let port = UInt16(last)
        else { return nil }
        self = .loopback(port: port)
    }

    package var description: String {
        switch self {
        case .loopback(let port): "http://127.0.0.1:\(port)"
        case .socket(let path): "unix:\(path)"
        }
    }
}
