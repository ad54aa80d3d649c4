internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

/// What one event made of one row.
package struct RowStep: Hashable, Sendable {
    package var position: Position
    /// The type it was stored as.
    package var type: String
    package var key: String
    /// The row's JSON after it; nil where there is no row then.
    package var row: [UInt8]?
    /// Why the event does not fold; nil where it does.
    package var error: String?
}

/// Folds events of the log one after the other, in memory alone and with the fold of a read model, and tells what each makes of the rows
/// that it touches. For who looks at a store: rows begin as nothing, whatever the read model holds. Used by one thread.
package final class RowTrace {
    private let log: EventLog
    private let preparer: EventPreparer
    private let fold: any Fold
    private var states: [[UInt8]: [UInt8]] = [:]
    private var workspace = FoldWorkspace()

    /// - Throws: `EvstoreError.programNeeded` for a projection in Swift that this program does not have.
    package init(_ definition: Definition, _ log: EventLog, _ history: History, at version: SchemaVersion) throws(EvstoreError) {
        self.log = log
        preparer = try EventPreparer(log, history, [definition], at: version)
        fold = try definition.makeFold()
    }

    /// Folds the event at a position; nothing where it does not concern the read model.
    package func take(_ position: Position, _ reader: borrowing LogReader) throws -> [RowStep] {
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
        var steps: [RowStep] = []
        preparer.outputs[0].forEach { operation in
            let key = Array(copying: Operation.key(operation))
            var step = RowStep(position: position, type: type, key: String(decoding: key, as: UTF8.self))
            let state = states[key] ?? []
            do throws(FoldError) {
                switch try fold.apply(operation, to: state.lent, &workspace) {
                case .unchanged: break
                case .changed: states[key] = Array(copying: workspace.output.bytes)
                case .deleted: states[key] = nil
                }
            } catch { step.error = error.reason }
            step.row = states[key].map(rendered)
            steps.append(step)
        }
        for rejection in preparer.outputs[0].rejections {
            steps.append(RowStep(position: position, type: type, key: "", error: rejection.message))
        }
        return steps
    }

    /// The events of a part of the log that touch the row of a key.
    package func positions(
        touching key: [UInt8], from first: Position, through last: Position, _ reader: borrowing LogReader
    ) throws -> [Position] {
        var found: [Position] = []
        try reader.blocks(from: first) { block in
            if block.first > last { return false }
            preparer.removeAll()
            try preparer.prepare(block, reader)
            preparer.outputs[0].forEach { operation in
                let position = Operation.position(operation)
                if position <= last, found.last != position, Operation.key(operation).equals(key.lent) { found.append(position) }
            }
            return block.last < last
        }
        return found
    }

    private func rendered(_ state: [UInt8]) -> [UInt8] {
        var json = ByteBuffer(capacity: 1 << 10)
        fold.render(state.lent, into: &json)
        return Array(copying: json.bytes)
    }
}
