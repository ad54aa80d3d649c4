/// An error that a server or libpq has reported.
package struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Libpq can't be loaded.
        case noLibrary
        /// There is no connection, or it was lost before the statement was sent: the statement was not run.
        case unreachable
        /// The connection was lost, or the deadline passed, after the statement was sent: it is unknown whether it was run.
        case connectionLost
        /// The server answered with an error: the statement had no effect.
        case refused
        /// The server's answer is not one of PostgreSQL's: it is unknown whether the statement was run.
        case malformed
    }

    package var kind: Kind
    /// The server's SQLSTATE of five characters (PostgreSQL's documentation, appendix A); nil where no server answered.
    package var sqlState: String?
    /// One line, without any password.
    package var message: String

    package init(_ kind: Kind, sqlState: String? = nil, _ message: String) {
        (self.kind, self.sqlState, self.message) = (kind, sqlState, message)
    }

    package var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }
}
