internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

extension RowMap {
    /// Tests the function on some events: whether the rows that the older definition folds from them map to the rows of the newer one. Any
    /// events will do, since the proof holds for all.
    package func holds(
        from older: Definition, to newer: Definition, on ranges: [ClosedRange<Position>], _ log: EventLog, _ history: History
    ) throws(EvstoreError) -> Bool {
        let before = try RowTrace(older, log, history, at: older.version)
        let after = try RowTrace(newer, log, history, at: newer.version)
        for trace in [before, after] { try trace.take(ranges, log) }
        // A subset of the events may lead a fold to a state that the log never reaches, or may split an append. If one fails at the older
        // version, the test is inconclusive.
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
