#if Service
    internal import Platform
    internal import Synchronization

    /// Decides who may see the page: only clients that have shown the token of this start of the server.
    ///
    /// A browser sends a cookie to every port of a host. So the page has a host of its own below `localhost` (RFC 6761, 6.3), whose name no
    /// other server here can guess. The cookie holds the value of a session, not the token, and is worthless once the session has ended.
    final class PageSessions: Sendable {
        static let seconds = 12 * 3_600
        private static let sessionsMax = 64

        /// The name by which a browser asks for the page; it resolves to this machine, and names the store.
        let host: String
        private let token: String
        private let ends = Mutex<[String: Instant]>([:])

        /// - Parameter store: the path of the store.
        init(token: String, store: String) {
            self.token = token
            let name = Directory.name(of: store).lowercased().unicodeScalars.map { scalar in
                scalar.isASCII && scalar.properties.isAlphabetic || ("0" ... "9").contains(scalar) ? Character(scalar) : "-"
            }
            // A DNS label has at most 63 characters, and does not begin with a hyphen (RFC 1035, 2.3.1).
            host = "evstore-\(String(name.prefix(32)))-\(PageSecret.make().prefix(16)).localhost"
        }

        func isToken(_ text: String) -> Bool { PageSecret.equal(text, token) }

        /// Begins a session and returns its value; ends the oldest one where there are too many.
        func begin(now: Instant = .now) -> String {
            let value = PageSecret.make()
            ends.withLock { ends in
                ends = ends.filter { $0.value > now }
                if ends.count >= Self.sessionsMax, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
                ends[value] = now + .seconds(Self.seconds)
            }
            return value
        }

        func isSession(_ value: String, now: Instant = .now) -> Bool {
            ends.withLock { $0[value] }.map { $0 > now } ?? false
        }
    }
#endif
