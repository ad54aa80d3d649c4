internal import Bytes
package import EventLog
package import EventModel
package import SchemaEvolution

/// What one event made of one row.
package struct RowStep: Hashable, Sendable {
    package var position: Position
    /// The type it was stored as.
    package var type: String
    /// Empty where the event has no operation on a row, since it could not be prepared.
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
    /// The events of parts of the log that do not fold.
    package private(set) var failed: Set<Position> = []
    private var workspace = FoldWorkspace()

    /// - Throws: `EvstoreError.programNeeded` for a projection in Swift that this program does not have.
    package init(_ definition: Definition, _ log: EventLog, _ history: History, at version: SchemaVersion) throws(EvstoreError) {
        self.log = log
        preparer = try EventPreparer(log, history, [definition], at: version)
        fold = try definition.makeFold()
    }

    /// Folds the event at a position; nothing where it does not concern the read model.
    /// - Parameter showing: false where nobody looks at what it made of the rows: there are no steps then.
    package func take(_ position: Position, showing isShown: Bool = true, _ reader: borrowing LogReader) throws -> [RowStep] {
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
            let error = apply(operation, to: key)
            if !isShown { return }
            steps.append(
                RowStep(
                    position: position, type: type, key: String(decoding: key, as: UTF8.self), row: states[key].map(rendered), error: error)
            )
        }
        for rejection in preparer.outputs[0].rejections where isShown {
            steps.append(RowStep(position: position, type: type, key: "", error: rejection.message))
        }
        return steps
    }

    /// Folds the events of parts of the log, one after the other.
    package func take(_ ranges: [ClosedRange<Position>], _ log: EventLog) throws(EvstoreError) {
        try converting("folding events of \(log.path)") {
            for range in ranges { try log.read { reader in try take(range, reader) } }
        }
    }

    /// Folds the events of one part, in a read that is under way.
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

    /// The rows that there are now, as JSON text, by key.
    package var rows: [[UInt8]: [UInt8]] { states.mapValues(rendered) }

    /// What the events of a part of the log do to the row of a key, the newest of them alone, in order; and whether there are older ones.
    /// Where the part begins with the log, the states are the row's own.
    package func history(
        of key: [UInt8], from first: Position, through last: Position, newest limit: Int, _ reader: borrowing LogReader
    ) throws -> (steps: [RowStep], isCut: Bool) {
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
                // One event may do several things to a row.
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
        var steps: [RowStep] = []
        for step in taken {
            let type = try reader.closedRecord(at: step.position) { record in log.name(ofType: record.type) } ?? ""
            steps.append(RowStep(position: step.position, type: type, key: name, row: step.state.map(rendered), error: step.error))
        }
        return (steps, isCut)
    }

    /// Applies an operation to its row; returns why it does not fold, where it does not.
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
