internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension OpStatement {
    /// What the op does to members of the payload.
    /// - Parameter holder: the value to which the op's pointers are relative, such as an element of a list; by default the payload.
    func effects(_ direction: Direction, in holder: JSONPointer = JSONPointer()) -> [OpEffect] {
        switch self {
        case .add(let op): op.effects(direction, in: holder)
        case .remove(let op): op.effects(direction, in: holder)
        case .move(let op): op.effects(direction, in: holder)
        case .copy(let op): op.effects(direction, in: holder)
        case .wrap(let op): op.effects(direction, in: holder)
        case .head(let op): op.effects(direction, in: holder)
        case .unset(let op): op.effects(direction, in: holder)
        case .convert(let op): op.effects(direction, in: holder)
        case .split(let op): op.effects(direction, in: holder)
        case .join(let op): op.effects(direction, in: holder)
        case .compute(let op): op.effects(direction, in: holder)
        case .each(let op): op.effects(direction, in: holder)
        case .when(let op): op.effects(direction, in: holder)
        case .allow(let op): op.effects(direction, in: holder)
        case .swift(let op): op.effects(direction, in: holder)
        case .reserve: []
        }
    }
}

extension JSONPointer {
    /// The pointer from the payload's root to a member that this pointer names relative to a holder.
    fileprivate func below(_ holder: JSONPointer) -> JSONPointer { JSONPointer(tokens: holder.tokens + tokens) }
}

extension Add {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was added")] }
        let what =
            switch source {
            case .constant(let value): value.text
            case .time: "the event's time"
            case .stream: "the name of the event's stream"
            case .metadata(let pointer): "\(pointer) of the event's metadata"
            default: "nothing says as what"
            }
        return [OpEffect(.appears(path), "is added: \(what)")]
    }
}

extension Remove {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        return switch direction {
        case .up: [OpEffect(.goes(path), "is removed" + (because.map { ": \($0)" } ?? ""))]
        case .down: [OpEffect(.appears(path), restore.map { "is restored as \($0.text)" } ?? "is absent: it was removed")]
        }
    }
}

extension Move {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let (old, new) = direction == .up ? (from, path) : (path, from)
        return [OpEffect(.moves(from: old.below(holder), to: new.below(holder)), "")]
    }
}

extension Copy {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let (from, path) = (from.below(holder), path.below(holder))
        let form = codecStatement.map { ", \($0.words(.up))" } ?? ""
        return direction == .up
            ? [OpEffect(.appears(path), "is added: a copy of \(from)\(form)")]
            : [OpEffect(.goes(path), "is left out: it was a copy of \(from)")]
    }
}

extension Wrap {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        return [direction == .up ? .becomesList(path, empty) : .becomesFirst(path, empty)]
    }
}

extension Head {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        return [direction == .up ? .becomesFirst(path, empty, because) : .becomesList(path, empty)]
    }
}

extension OpEffect {
    fileprivate static func becomesList(_ path: JSONPointer, _ empty: JSONValue?) -> OpEffect {
        let none = empty.map { "absent or \($0.text)" } ?? "absent"
        return OpEffect(.changes(path), "becomes a list of its value; \(none) becomes []")
    }

    fileprivate static func becomesFirst(_ path: JSONPointer, _ empty: JSONValue?, _ because: String? = nil) -> OpEffect {
        let (none, why) = (empty?.text ?? "absent", because.map { ": \($0)" } ?? "")
        return OpEffect(
            .changes(path), "becomes the first of its list, and \(none) where that is empty; what follows the first is not seen\(why)")
    }
}

extension Unset {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let words =
            direction == .up ? "is absent where it is \(sentinel.text)" : "is \(sentinel.text) where it is absent"
        return [OpEffect(.changes(path.below(holder)), words)]
    }
}

extension Convert {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let verb = direction == .up ? "becomes \(Shape(kind).noun)" : "is converted back"
        let strict = isStrict && direction == .up ? "; any other form of it is refused" : ""
        let why = because.map { direction == .up ? "; loses something: \($0)" : "" } ?? ""
        return [OpEffect(.changes(path.below(holder)), "\(verb): \(codecStatement.words(direction))\(strict)\(why)")]
    }
}

extension Split {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .up, in: holder)
    }
}

extension Join {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .down, in: holder)
    }
}

extension SeparatorRule {
    fileprivate func effects(whole: JSONPointer, splits: Bool, in holder: JSONPointer) -> [OpEffect] {
        let (whole, parts) = (whole.below(holder), parts.map { $0.below(holder) })
        let all = parts.map(\.description).joined(separator: ", ")
        let missing = refusesMissing ? "refused" : "absent"
        if splits {
            let rest = parts.dropFirst().map { part in
                OpEffect(
                    .appears(part),
                    "is split off \(whole) at the \(isAtLast ? "last" : "first") \(quoted(separator)); without one, \(missing)")
            }
            let first = OpEffect(.changes(whole), "is split at the \(isAtLast ? "last" : "first") \(quoted(separator)) into \(all)")
            return [first, OpEffect(.moves(from: whole, to: parts[0]), "")] + rest
        }
        let rest = parts.dropFirst().map { OpEffect(.goes($0), "goes into \(whole)") }
        let first = OpEffect(.changes(parts[0]), "is joined of \(all) with \(quoted(separator)) between")
        return [first, OpEffect(.moves(from: parts[0], to: whole), "")] + rest
    }
}

extension Compute {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was computed")] }
        let text = template.parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let pointer): "{\(pointer.below(holder))}"
            }
        }
        return [OpEffect(.appears(path), "is computed: \(quoted(text.joined()))")]
    }
}

extension Each {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let element = path.below(holder).appending("*")
        return (direction == .up ? entries : entries.reversed()).flatMap { $0.statement.effects(direction, in: element) }
    }
}

extension When {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        func guarded(_ entries: [OpEntry], _ condition: String) -> [OpEffect] {
            (direction == .up ? entries : entries.reversed()).flatMap { $0.statement.effects(direction, in: holder) }.map { effect in
                OpEffect(effect.kind, "\(condition) \(effect.words)")
            }
        }
        return guarded(entries, "where \(test.words(in: holder))") + guarded(otherwise, "elsewhere")
    }
}

extension Allow {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        return direction == .up ? [OpEffect(.widens(path), "")] : [OpEffect(.changes(path), down.words)]
    }
}

extension AllowedDown {
    fileprivate var words: String {
        let unknown = "where the older version does not know it"
        let misfitWords: String? =
            switch misfit {
            case .absent?: "is left out \(unknown)"
            case .value(let text)?: "is \(String(decoding: text, as: UTF8.self)) \(unknown)"
            case .block?: "is refused \(unknown)"
            case .hide(let why)?: "hides the event \(unknown): \(why)"
            case nil: nil
            }
        let rows = rows.map { "is \($0.value.text) where it is \($0.key.inWords)" }
        // The value that replaces unknown values also replaces an absent one.
        var isSaid = false
        if case .value(let text)? = misfit { isSaid = text == absent }
        let absentWords = isSaid ? nil : absent.map { "is \(String(decoding: $0, as: UTF8.self)) where it is absent" }
        return (rows + [misfitWords, absentWords].compactMap(\.self)).joined(separator: "; ")
    }
}

extension SwiftOp {
    fileprivate func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        if direction == .down, down == .oneWay { return writes.map { OpEffect(.changes($0), "has no way down: \(id) is one-way") } }
        let source = reads.isEmpty ? "" : " from \(reads.map(\.description).joined(separator: ", "))"
        let kept = down == .shadow ? " when the event is appended, and kept with it" : ""
        let words = direction == .up ? "is made by the Swift step \(id)\(source)" : "is made again by the Swift step \(id)\(kept)"
        return writes.map { OpEffect(.appears($0), words) }
    }
}
