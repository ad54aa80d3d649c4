internal import ClusterLog
internal import EventLog
public import EventModel
internal import Platform
internal import Projections

/// A cluster log: a row and frames in a PostgreSQL database that decide the order of the events of several machines. Each machine has a
/// store of its own, a node, which holds all events and answers every query.
///
/// Appends of all nodes are linearisable: each is checked against everything that was acknowledged before it, on any node. Reads are local
/// to the node: they see a prefix of the log, which is some milliseconds old at most while PostgreSQL can be reached.
public struct Cluster: Sendable {
    /// The name of the cluster log in its database.
    public let name: String
    let connection: String

    /// - Parameter connection: a libpq connection string, such as `host=db1,db2 dbname=orders`, without a password; where nil, the
    ///   environment variable EVSTORE_LOG.
    /// - Throws: `EvstoreError.usage` where the name is not valid, or the connection string can't be read or contains a password.
    public init(_ name: String, connection: String? = nil) throws(EvstoreError) {
        guard NodeRow.isName(name) else {
            throw .usage("\(quoted(name)) is no name of a cluster log", fix: "use 1 to 63 letters, digits, hyphens, underscores and dots")
        }
        self.name = name
        self.connection = try ConnectionFile.given(connection)
    }

    /// The cluster log that the store at a path is a node of, with the node's own connection.
    /// - Parameter connection: replaces the node's own connection string.
    /// - Throws: `EvstoreError`: usage where the store belongs to none; also the errors of opening it for reading.
    public init(of path: String, connection: String? = nil) throws(EvstoreError) {
        do {
            guard let membership = try EventLog.node(at: path)?.membership else {
                throw EvstoreError.usage("\(path) belongs to no cluster log", fix: "name the cluster log and its connection string")
            }
            self.name = membership.log
            self.connection = if let connection { try ConnectionFile.given(connection) } else { try ConnectionFile.find(at: path) }
        } catch { throw EvstoreError(converting: error, at: path, doing: "reading \(path)") }
    }

    /// A warning about the connection string: it leads over a network and does not verify the server's identity. Nil where there is none.
    package var warning: String? { get throws(EvstoreError) { try ConnectionFile.warning(connection) } }

    func database() -> ClusterDatabase { ClusterDatabase(log: name, connection, judge: RegisteredRows.judge) }

    /// - Throws: `EvstoreError.usage`.
    static func checkNode(_ node: String) throws(EvstoreError) {
        guard NodeRow.isName(node) else {
            throw .usage("\(quoted(node)) is no name of a node", fix: "use 1 to 63 letters, digits, hyphens, underscores and dots")
        }
    }
}

extension Options {
    /// Lets a program write to stores that are nodes of a cluster log. The connection string comes from the store's file `cluster`, or from
    /// the environment variable EVSTORE_LOG; libpq is loaded when it is first needed.
    /// - Parameter program: the program's name in the list of nodes.
    public mutating func joinsClusters(as program: String = "") { ordering = PostgresOrdering(program: program) }
}
