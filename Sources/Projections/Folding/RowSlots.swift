internal import Bytes
internal import EventModel
internal import JSONText

/// The slots of a definition's rows, and the initial row.
struct RowSlots: Sendable {
    let layout: RowLayout
    /// The state of a new row.
    let start: [UInt8]

    init(_ projection: DeclaredProjection) {
        var targets = projection.initial.map(\.target.fixed)
        for rules in projection.on.values { for rule in rules { targets += rule.edits.map(\.target.fixed) } }
        layout = RowLayout(targets: targets)
        var row = JSONValue.object([])
        for (target, value) in projection.initial.sorted(by: { $0.target.fixed.count < $1.target.fixed.count }) {
            row = row.setting(target.fixed[...], to: value)
        }
        var state = ByteBuffer()
        let text = Array(row.text.utf8)
        var picks = UniqueArray<ByteSlice>()
        layout.open(text.lent, into: &state, &picks)
        start = state.array()
    }

    /// The initial value of a slot.
    func initial(_ slot: Int) -> [UInt8]? {
        let slice = layout.slice(of: slot, in: start.lent)
        return slice.isPresent ? Array(start[slice.start ..< slice.start + slice.size]) : nil
    }
}

extension JSONValue {
    fileprivate func setting(_ names: ArraySlice<Name>, to value: JSONValue) -> JSONValue {
        guard let name = names.first else { return value }
        var members: [Member] = []
        if case .object(let existing) = self { members = existing }
        let inner = member(name.text) ?? .object([])
        let new = Member(name: name.text, value: inner.setting(names.dropFirst(), to: value))
        if let index = members.firstIndex(where: { $0.name.isSame(as: name.text) }) { members[index] = new } else { members.append(new) }
        return .object(members)
    }
}
