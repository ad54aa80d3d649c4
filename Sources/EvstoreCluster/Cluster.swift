internal import ClusterLog
internal import EventLog
public import EventModel
internal import Platform
internal import Projections

/// A cluster log: a row and frames in a PostgreSQL database that decide the order of the events of several machines. Each machine has a
/// store of its own, a node, which holds all of them and answers every question.
///
/// Appends of all nodes are linearisable: each is judged against everything that was acknowledged before it, on whatever node. Reads are the
/// node's own: what it has is a prefix of the log, some milliseconds old at most while PostgreSQL can be asked.
public struct Cluster: Sendable {
    /// How the cluster log is called in its database.
    public let name: String
    let connection: String

    /// - Parameter connection: a connection string of libpq, such as `host=db1,db2 dbname=orders`, without a password; the environment
    ///   variable EVSTORE_LOG where nil.
    /// - Throws: `EvstoreError.usage` where the name is none, the connection string can't be read, or has a password in it.
    public init(_ name: String, connection: String? = nil) throws(EvstoreError) {
        guard NodeRow.isName(name) else {
            throw .usage("\(quoted(name)) is no name of a cluster log", fix: "use 1 to 63 letters, digits, hyphens, underscores and dots")
        }
        self.name = name
        self.connection = try ConnectionFile.given(connection)
    }

    /// The cluster log that the store at a path is a node of, reached as the node does.
    /// - Parameter connection: in the place of the node's own.
    /// - Throws: `EvstoreError`: usage where it belongs to none; as opening it for reading does.
    public init(of path: String, connection: String? = nil) throws(EvstoreError) {
        do {
            guard let membership = try EventLog.node(at: path)?.membership else {
                throw EvstoreError.usage("\(path) belongs to no cluster log", fix: "name the cluster log and its connection string")
            }
            self.name = membership.log
            self.connection = if let connection { try ConnectionFile.given(connection) } else { try ConnectionFile.find(at: path) }
        } catch { throw storeError(error, path, doing: "reading \(path)") }
    }

    /// What is to be said of the connection string: that it leads over a network and does not ask who the server is.
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
    /// Lets a program write to stores that are nodes of a cluster log. The connection string stands in the store's file `cluster`, or in the
    /// environment variable EVSTORE_LOG; libpq is loaded when it is first needed.
    /// - Parameter program: what the program is called in the list of nodes.
    public mutating func joinsClusters(as program: String = "") { ordering = PostgresOrdering(program: program) }
}
