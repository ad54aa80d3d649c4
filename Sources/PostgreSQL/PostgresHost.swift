/// One host of a connection string with its address and port, in libpq's sense; each is "" where the string gives none.
package struct PostgresHost: Hashable, Sendable {
    package var host: String
    package var address: String
    package var port: String

    /// The hosts of a string in their order; empty where there is at most one, where a list leaves one out, and where libpq would refuse
    /// them.
    static func all(_ members: [String: String]) -> [PostgresHost] {
        func list(_ name: String) -> [String] {
            guard let text = members[name], !text.isEmpty else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(hosts.count, addresses.count)
        func fits(_ list: [String]) -> Bool { list.isEmpty || (list.count == count && !list.contains("")) }
        guard count > 1, fits(hosts), fits(addresses), fits(ports) || ports.count == 1 else { return [] }
        return (0 ..< count).map { index in
            PostgresHost(
                host: hosts.isEmpty ? "" : hosts[index], address: addresses.isEmpty ? "" : addresses[index],
                port: ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : index])
        }
    }

    /// Whether this is the host that libpq names as its current one.
    package func names(_ other: PostgresHost) -> Bool {
        let isThere = host.isEmpty ? address.isEmpty || address == other.host : host == other.host
        return isThere && (address.isEmpty || address == other.address) && (port.isEmpty || port == other.port)
    }

    /// The settings for libpq that name exactly these hosts.
    static func members(of hosts: [PostgresHost]) -> [(name: String, value: String)] {
        func list(_ path: KeyPath<PostgresHost, String>) -> String { hosts.map { $0[keyPath: path] }.joined(separator: ",") }
        if hosts.isEmpty { return [] }
        return [("host", list(\.host)), ("hostaddr", list(\.address)), ("port", list(\.port))].filter { name, value in
            name == "port" || value.contains { $0 != "," }
        }
    }
}
