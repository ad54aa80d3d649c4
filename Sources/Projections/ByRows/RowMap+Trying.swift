internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

extension RowMap {
    /// Tries the function on some events: whether what the older definition folds of them becomes what the newer one does. Which events
    /// these are makes no difference, since the proof holds for any.
    package func holds(
        from older: Definition, to newer: Definition, on ranges: [ClosedRange<Position>], _ log: EventLog, _ history: History
    ) throws(EvstoreError) -> Bool {
        let before = try RowTrace(older, log, history, at: older.version)
        let after = try RowTrace(newer, log, history, at: newer.version)
        for trace in [before, after] { try trace.take(ranges, log) }
        // A few events may lead a fold to a state that the log never leads to, or be a part of an append: where one fails, they show nothing.
        if !before.failed.isEmpty { return true }
        guard after.failed.isEmpty else { return false }
        var rows = after.rows
        var workspace = Workspace()
        for (key, row) in before.rows {
            guard map(row.lent, &workspace), rows.removeValue(forKey: key) == workspace.row.array() else { return false }
        }
        return rows.isEmpty
    }
}
