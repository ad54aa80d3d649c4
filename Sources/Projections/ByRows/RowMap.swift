internal import Bytes
package import EventLog
package import EventModel
internal import JSONText
package import SchemaEvolution

/// Maps the rows of a read model at one version to its rows at a later one: keys are kept, each slot is a function of older slots.
package struct RowMap: Sendable {
    let older, newer: RowLayout
    /// For each slot of a newer row, the function of slots of the older row; nil if the slot is always absent.
    let slots: [ValueTerm?]
    /// The number of events from which the rows were built.
    package let events: UInt64

    /// The buffers for mapping rows; each thread has its own.
    struct Workspace: ~Copyable {
        fileprivate var picks = UniqueArray<ByteSlice>()
        fileprivate var state = ByteBuffer(capacity: 1 << 10)
        fileprivate var made = ByteBuffer(capacity: 1 << 10)
        fileprivate var sizes: [Int32] = []
        /// The result for the last row.
        fileprivate(set) var row = ByteBuffer(capacity: 1 << 10)
    }

    /// Writes the JSON text of the later row to `workspace.row`. Returns false if a slot contains a value that no event can have produced.
    func map(_ row: RawSpan, _ workspace: inout Workspace) -> Bool {
        workspace.state.removeAll()
        older.open(row, into: &workspace.state, &workspace.picks)
        workspace.made.removeAll()
        workspace.sizes.removeAll(keepingCapacity: true)
        for slot in slots {
            let start = workspace.made.count
            let outcome = slot.map { Self.append($0, older, workspace.state, into: &workspace.made) } ?? .absent
            if outcome == .unfit { return false }
            if outcome == .absent { workspace.made.truncate(to: start) }
            workspace.sizes.append(outcome == .made ? Int32(truncatingIfNeeded: workspace.made.count - start) : -1)
        }
        workspace.state.removeAll()
        workspace.state.append(littleEndian: UInt32(slots.count))
        for size in workspace.sizes { workspace.state.append(littleEndian: size) }
        workspace.state.append(ByteSlice(0, workspace.made.count), of: workspace.made)
        workspace.row.removeAll()
        Self.render(newer, workspace.state, into: &workspace.row)
        return true
    }

    /// Whether the function of a slot produces a value from an older row's state; nil means that it produces none.
    static func makes(_ value: [UInt8]?, of term: ValueTerm, from state: [UInt8], _ layout: RowLayout) -> Bool {
        var old = ByteBuffer(capacity: state.count)
        var made = ByteBuffer(capacity: 64)
        old.append(state)
        switch append(term, layout, old, into: &made) {
        case .made: return value == made.array()
        case .absent: return value == nil
        case .unfit: return false
        }
    }

    private enum Outcome { case made, absent, unfit }

    private static func render(_ layout: RowLayout, _ state: borrowing ByteBuffer, into json: inout ByteBuffer) {
        layout.render(state.bytes, into: &json)
    }

    private static func append(
        _ term: ValueTerm, _ layout: RowLayout, _ state: borrowing ByteBuffer, into output: inout ByteBuffer
    ) -> Outcome { append(term, layout, state.bytes, into: &output) }

    private static func append(_ term: ValueTerm, _ layout: RowLayout, _ state: RawSpan, into output: inout ByteBuffer) -> Outcome {
        switch term {
        case .constant(let json): output.append(json)
        case .slot(let slot):
            let slice = layout.slice(of: slot, in: state)
            guard slice.isPresent else { return .absent }
            output.append(state.slice(slice.start, slice.size))
        case .list(let inner):
            output.append(UInt8(ascii: "["))
            let outcome = append(inner, layout, state, into: &output)
            output.append(UInt8(ascii: "]"))
            return outcome
        case .chosen(let inner, let choices, let otherwise):
            var value = ByteBuffer(capacity: 64)
            let outcome = append(inner, layout, state, into: &value)
            guard outcome == .made else { return outcome }
            if let made = chosen(value.bytes, choices) {
                output.append(made)
            } else {
                return otherwise.map { append($0, layout, state, into: &output) } ?? .unfit
            }
        case .text(let pieces):
            var text = ByteBuffer(capacity: 64)
            for piece in pieces {
                switch piece {
                case .literal(let literal): text.append(literal)
                case .value(let inner):
                    var value = ByteBuffer(capacity: 64)
                    let outcome = append(inner, layout, state, into: &value)
                    guard outcome == .made else { return outcome }
                    switch appendText(of: value.bytes, into: &text) {
                    case .text: break
                    case .none: return .absent
                    case .container: return .unfit
                    }
                }
            }
            appendQuoted(text.bytes, into: &output)
        case .constantBeside(let inner, let json):
            var value = ByteBuffer(capacity: 64)
            let outcome = append(inner, layout, state, into: &value)
            guard outcome == .made else { return outcome }
            output.append(json)
        case .member, .source, .prefix: return .unfit
        }
        return .made
    }

    private static func chosen(_ value: RawSpan, _ choices: [ValueTerm.Choice]) -> [UInt8]? {
        if JSONKind(firstByte: value.peek(at: 0)) == .null { return Array(copying: value) }
        let canonical: [UInt8]
        do { canonical = try Canonical.bytes(of: value) } catch { return nil }
        return choices.first { $0.from == canonical }?.to
    }
}

extension RowMap {
    /// Tests the function on some events: whether the rows that the older definition folds from them map to the rows of the newer one. Any
    /// events will do, since the proof holds for all.
    package func holds(
        from older: Definition, to newer: Definition, on ranges: [ClosedRange<Position>], _ log: EventLog, _ history: History
    ) throws(EvstoreError) -> Bool {
        let before = try RowTrace(older, log, history, at: older.version)
        let after = try RowTrace(newer, log, history, at: newer.version)
        for trace in [before, after] { try trace.take(ranges, log) }
        // Some of the events may lead a fold to a state that the log never reaches, or split an append: then the older version proves nothing.
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
