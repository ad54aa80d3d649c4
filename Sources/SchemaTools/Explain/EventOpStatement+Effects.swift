internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A description of what happens to an event of one type when it crosses an op on events.
struct EventEffect: Sendable {
    /// Nil if there is no image.
    let type: String?
    let words: String
    /// The changes of members before any are picked.
    var effects: [OpEffect] = []
    /// The members that are kept; nil means all.
    var pick: [JSONPointer]?
    /// The description for a member that is not kept.
    var otherwise: @Sendable (JSONPointer) -> String = { _ in "does not go on" }
    /// Whether only the members that the resulting type declares are kept.
    var isApart = false
    /// The events that are joined with it, and the changes of their members before the join.
    var joined: [(type: String, effects: [OpEffect])] = []
    /// The changes of members after some were picked.
    var later: [OpEffect] = []
    /// The template of its stream afterwards, if that changes.
    var stream: StreamTemplate?
}

extension EventOpStatement {
    /// What happens to an event of a type; nil if the op does not affect the type.
    /// - Parameter stream: the template of its stream; nil if the stream may have any name.
    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        switch self {
        case .add(let op): op.effects(of: type, direction)
        case .rename(let op): op.effects(of: type, direction)
        case .drop(let op): op.effects(of: type, direction)
        case .split(let op): op.effects(of: type, direction)
        case .merge(let op): op.effects(of: type, direction)
        case .rekey(let op): op.effects(of: type, in: stream, direction)
        }
    }
}

extension RenameEvent {
    fileprivate func effects(of type: String, _ direction: Direction) -> [EventEffect]? {
        switch (target, direction) {
        case (.one(let name), .up): return type.isSame(as: from) ? [EventEffect(type: name, words: "is called \(name)")] : nil
        case (.one(let name), .down): return type.isSame(as: name) ? [EventEffect(type: from, words: "is called \(from)")] : nil
        case (.dispatch(let by, let cases), .up):
            guard type.isSame(as: from) else { return nil }
            return cases.map { value, name in
                EventEffect(
                    type: name, words: "is \(name), where \(by) is \(quoted(value))",
                    effects: [OpEffect(.goes(by), "became the type \(name)")])
            }
        case (.dispatch(let by, let cases), .down):
            guard let (value, _) = cases.first(where: { $0.type.isSame(as: type) }) else { return nil }
            return [
                EventEffect(type: from, words: "is called \(from)", effects: [OpEffect(.appears(by), "is \(quoted(value)), for the type")])
            ]
        }
    }
}

extension DropEvent {
    fileprivate func effects(of type: String, _ direction: Direction) -> [EventEffect]? {
        direction == .up && type.isSame(as: self.type) ? [EventEffect(type: nil, words: "is dropped: \(because)")] : nil
    }
}

extension AddEvent {
    fileprivate func effects(of type: String, _ direction: Direction) -> [EventEffect]? {
        guard direction == .down, type.isSame(as: self.type) else { return nil }
        switch down {
        case .hide(let why): return [EventEffect(type: nil, words: "is hidden: \(why)")]
        case .block: return [EventEffect(type: nil, words: "has no image: such events are refused while the older version is promised")]
        case .parts(let parts):
            return parts.map { part in
                EventEffect(
                    type: part.type, words: "is seen as \(part.type)", pick: part.pick, otherwise: { _ in "is not seen in \(part.type)" },
                    later: part.moves.map { OpEffect(.moves(from: $0.from, to: $0.path), "") })
            }
        }
    }
}

extension SplitEvent {
    fileprivate func effects(of type: String, _ direction: Direction) -> [EventEffect]? {
        switch direction {
        case .up:
            guard type.isSame(as: self.type) else { return nil }
            let because = because.map { ": \($0)" } ?? ""
            return parts.map { part in
                EventEffect(
                    type: part.type, words: "is split: \(part.type)" + (part.test.map { ", where \($0.words())" } ?? ""), pick: part.pick,
                    otherwise: { [parts] place in
                        let others = parts.filter { $0.pick.contains { place.hasPrefix($0) } }.map(\.type)
                        return others.isEmpty ? "is in no part\(because)" : "is in \(others.joined(separator: " and "))"
                    },
                    later: part.entries.flatMap { $0.statement.effects(.up) })
            }
        case .down:
            guard let part = parts.first(where: { $0.type.isSame(as: type) }) else { return nil }
            let back = part.entries.reversed().flatMap { $0.statement.effects(.down) }
            let joined = "is joined with the other parts to \(self.type)"
            let others = parts.filter { !$0.type.isSame(as: type) }.map { other in
                (type: other.type, effects: other.entries.reversed().flatMap { $0.statement.effects(.down) })
            }
            switch part.down {
            case .alone(let fills):
                let made = fills.map { OpEffect(.appears($0.pointer), "is \($0.value.text) where the part is alone") }
                return [EventEffect(type: self.type, words: joined, effects: back, joined: others, later: made)]
            case .hide(let why):
                return [EventEffect(type: self.type, words: "\(joined); alone it is hidden: \(why)", effects: back, joined: others)]
            case .block: return [EventEffect(type: self.type, words: "\(joined); alone it is refused", effects: back, joined: others)]
            }
        }
    }
}

extension MergeEvents {
    fileprivate func effects(of type: String, _ direction: Direction) -> [EventEffect]? {
        let key = on.map(\.description).joined(separator: ", ")
        switch direction {
        case .up:
            guard types.has(type) else { return nil }
            let others = types.filter { !$0.isSame(as: type) }
            return [
                EventEffect(
                    type: into, words: "is merged with \(others.joined(separator: ", ")) of its append that has the same \(key)",
                    joined: others.map { ($0, []) })
            ]
        case .down:
            guard type.isSame(as: into) else { return nil }
            return types.map { one in
                let others = types.filter { !$0.isSame(as: one) }.joined(separator: " or ")
                return EventEffect(
                    type: one, words: "is \(one) again, where it has what only \(one) has", otherwise: { _ in "is in \(others)" },
                    isApart: true)
            }
        }
    }
}

extension Adopt {
    /// The members of version 1 that old data becomes. Other members are dropped and counted.
    var tracks: [MemberTrack] {
        let version = SchemaVersion(1)
        var tracks = moves.map { MemberTrack(before: $0.from, place: $0.target) }
        for one in defaults {
            let words =
                switch one.source {
                case .constant(let value): "is \(value.text) where there is none"
                case .metadata(let pointer): "is \(pointer) of the metadata where there is none"
                default: "is the event's time where there is none"
                }
            tracks.apply(OpEffect(.appears(one.target), words), at: version)
        }
        for convert in converts {
            for effect in OpStatement.convert(convert).effects(.up) { tracks.apply(effect, at: version) }
        }
        return tracks
    }
}

extension Rekey {
    /// Nil if the stream names of the type are not affected.
    fileprivate func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        let (old, new) = direction == .up ? (from, to) : (to, from)
        if let stream, let made = old.renaming(stream, to: new) {
            return [EventEffect(type: type, words: "is in a stream \(new), which was \(old)", stream: made)]
        }
        if let stream, !old.mayMatch(stream) { return nil }
        return [EventEffect(type: type, words: "is in a stream \(new) where that was \(old)")]
    }
}
