internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

package struct RowChange: Hashable, Sendable {
    package var position: Position
    /// The type under which it was stored.
    package var type: String
    /// Empty if the event could not be prepared and thus has no operation on a row.
    package var key: String
    /// The row's JSON afterwards; nil if there is no row.
    package var row: [UInt8]?
    /// Why the event can't be folded; nil if it can.
    package var error: String?
}

/// Folds events of the log one after another, in memory and with the fold of a read model, and reports the effect of each event on the
/// rows. It serves inspection: all rows start out empty, whatever the read model contains. Used by one thread.
package final class RowTrace {
    private let log: EventLog
    private let preparer: EventPreparer
    private let fold: any Fold
    private var states: [[UInt8]: [UInt8]] = [:]
    package private(set) var failed: Set<Position> = []
    private var workspace = FoldWorkspace()

    /// - Throws: `EvstoreError.programNeeded` for a projection in Swift that this program does not contain.
    package init(_ definition: Definition, _ log: EventLog, _ history: History, at version: SchemaVersion) throws(EvstoreError) {
        self.log = log
        preparer = try EventPreparer(log, history, [definition], at: version)
        fold = try definition.makeFold(TagCodes(log))
    }

    /// Folds the event at a position. Returns no steps if it does not affect the read model.
    /// - Parameter showing: whether the caller needs the steps; if false, none are returned.
    package func take(_ position: Position, showing isShown: Bool = true, _ reader: borrowing LogReader) throws -> [RowChange] {
        preparer.removeAll()
        var type = ""
        try reader.blocks(from: position) { block in
            guard let first = block.indices.first else { return false }
            let record = block.record(first)
            guard record.position == position else { return false }
            type = log.name(ofType: record.type)
            try preparer.prepare(block, reader, first ..< first + 1)
            return false
        }
        var steps: [RowChange] = []
        preparer.outputs[0].forEach { operation in
            let key = Array(copying: Operation.key(operation))
            let error = apply(operation, to: key)
            if !isShown { return }
            steps.append(
                RowChange(
                    position: position, type: type, key: String(decoding: key, as: UTF8.self), row: states[key].map(rendered), error: error)
            )
        }
        for rejection in preparer.outputs[0].rejections where isShown {
            steps.append(RowChange(position: position, type: type, key: "", error: rejection.message))
        }
        return steps
    }

    package func take(_ ranges: [ClosedRange<Position>], _ log: EventLog) throws(EvstoreError) {
        try converting("folding events of \(log.path)", at: log.path) {
            for range in ranges { try log.read { reader in try take(range, reader) } }
        }
    }

    /// Folds the events in one range, within a read that is in progress.
    package func take(_ range: ClosedRange<Position>, _ reader: borrowing LogReader) throws {
        try reader.blocks(from: range.lowerBound) { block in
            guard let first = block.indices.first, case let start = block.record(first).position, start <= range.upperBound else {
                return false
            }
            preparer.removeAll()
            let count = min(range.upperBound.next.events(after: start), UInt64(block.indices.count))
            try preparer.prepare(block, reader, first ..< first + Int(count))
            preparer.outputs[0].forEach { operation in
                let error = apply(operation, to: Array(copying: Operation.key(operation)))
                if error != nil { failed.insert(Operation.position(operation)) }
            }
            failed.formUnion(preparer.outputs[0].rejections.map(\.position))
            return block.last < range.upperBound
        }
    }

    package var rows: [[UInt8]: [UInt8]] { states.mapValues(rendered) }

    /// The effects of the events in a range of the log on the row of a key: only the newest ones, in order, and whether older ones were
    /// left out. If the range begins with the log, the states are those of the actual row.
    package func history(
        of key: [UInt8], from first: Position, through last: Position, newest limit: Int, _ reader: borrowing LogReader
    ) throws -> (steps: [RowChange], isCut: Bool) {
        var taken: [(position: Position, state: [UInt8]?, error: String?)] = []
        var isCut = false
        try reader.blocks(from: first) { block in
            if block.first > last { return false }
            preparer.removeAll()
            try preparer.prepare(block, reader)
            preparer.outputs[0].forEach { operation in
                let position = Operation.position(operation)
                guard position <= last, Operation.key(operation).equals(key.lent) else { return }
                let error = apply(operation, to: key)
                // One event may have several operations on a row.
                if taken.last?.position == position { taken.removeLast() }
                taken.append((position, states[key], error))
            }
            if taken.count > limit {
                taken.removeFirst(taken.count - limit)
                isCut = true
            }
            return block.last < last
        }
        let name = String(decoding: key, as: UTF8.self)
        let steps = try taken.map { step in
            let type = try reader.closedRecord(at: step.position) { record in log.name(ofType: record.type) } ?? ""
            return RowChange(position: step.position, type: type, key: name, row: step.state.map(rendered), error: step.error)
        }
        return (steps, isCut)
    }

    /// Applies an operation to its row. Returns the reason if it can't be folded.
    private func apply(_ operation: RawSpan, to key: [UInt8]) -> String? {
        let state = states[key] ?? []
        do throws(FoldError) {
            switch try fold.apply(operation, to: state.lent, &workspace) {
            case .unchanged: break
            case .changed: states[key] = Array(copying: workspace.output.bytes)
            case .deleted: states[key] = nil
            }
            return nil
        } catch { return error.reason }
    }

    private func rendered(_ state: [UInt8]) -> [UInt8] {
        var json = ByteBuffer(capacity: 1 << 10)
        fold.render(state.lent, into: &json)
        return Array(copying: json.bytes)
    }
}
