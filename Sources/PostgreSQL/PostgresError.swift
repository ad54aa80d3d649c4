/// What a server or libpq says went wrong.
package struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// libpq is not there.
        case noLibrary
        /// There is no connection, or it was lost before the statement was sent: nothing of the statement was done.
        case unreachable
        /// The connection was lost, or the deadline passed, after the statement was sent: whether it was done is not known.
        case connectionLost
        /// The server answered with an error: nothing of the statement was done.
        case refused
        /// The server answered otherwise than PostgreSQL does: whether the statement was done is not known.
        case malformed
    }

    package var kind: Kind
    /// The five characters of a server's answer, which the documentation of PostgreSQL lists (appendix A); nil where no server answered.
    package var sqlState: String?
    /// One line, without any password.
    package var message: String

    package init(_ kind: Kind, sqlState: String? = nil, _ message: String) {
        (self.kind, self.sqlState, self.message) = (kind, sqlState, message)
    }

    package var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }
}
