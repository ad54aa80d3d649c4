#if Service
    internal import EventModel
    internal import Platform
    internal import Synchronization

    /// Who may see the page: those who have shown its token to this start of the server.
    ///
    /// A browser gives a cookie to every port of a host. So the page has a host of its own below `localhost` (RFC 6761, 6.3), whose
    /// name no other server here can guess, and the cookie is the value of a session: no token, and worth nothing after an end.
    final class PageSessions: Sendable {
        static let seconds = 12 * 3_600
        private static let sessionsMax = 64

        /// The name by which a browser asks for the page; it resolves to this machine, and says whose page it is.
        let host: String
        private let token: String
        private let ends = Mutex<[String: ContinuousClock.Instant]>([:])

        /// - Parameter store: the path of the store.
        init(token: String, store: String) {
            self.token = token
            let name = Directory.name(of: store).lowercased().unicodeScalars.map { scalar in
                scalar.isASCII && scalar.properties.isAlphabetic || ("0" ... "9").contains(scalar) ? Character(scalar) : "-"
            }
            // A label has 63 characters at most, and begins with no hyphen (RFC 1035, 2.3.1).
            host = "\("evstore-" + String(name.prefix(32)))-\(PageSecret.make().prefix(16)).localhost"
        }

        func isToken(_ text: String) -> Bool { PageSecret.equal(text, token) }

        /// A new session's value; the oldest one ends where there are too many.
        func begin(now: ContinuousClock.Instant = .now) -> String {
            let value = PageSecret.make()
            ends.withLock { ends in
                ends = ends.filter { $0.value > now }
                if ends.count >= Self.sessionsMax, let oldest = ends.min(by: { $0.value < $1.value }) { ends[oldest.key] = nil }
                ends[value] = now + .seconds(Self.seconds)
            }
            return value
        }

        func isSession(_ value: String, now: ContinuousClock.Instant = .now) -> Bool {
            ends.withLock { $0[value] }.map { $0 > now } ?? false
        }
    }
#endif
