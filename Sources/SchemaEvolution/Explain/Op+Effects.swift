internal import EventModel
internal import JSONText

extension Add {
    func effects(_ direction: Direction) -> [OpEffect] {
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was added")] }
        let what =
            switch source {
            case nil: "nothing says as what"
            case .constant(let value): value.text
            case .time: "the event's time"
            case .stream: "the name of the event's stream"
            case .metadata(let pointer): "\(pointer) of the event's metadata"
            }
        return [OpEffect(.appears(path), "is added: \(what)")]
    }
}

extension Remove {
    func effects(_ direction: Direction) -> [OpEffect] {
        switch direction {
        case .up: [OpEffect(.goes(path), "is removed" + (because.map { ": \($0)" } ?? ""))]
        case .down: restore.map { [OpEffect(.appears(path), "is restored as \($0.text)")] } ?? []
        }
    }
}

extension Move {
    func effects(_ direction: Direction) -> [OpEffect] {
        let (old, new) = direction == .up ? (from, path) : (path, from)
        return [OpEffect(.moves(from: old, to: new), "")]
    }
}

extension Copy {
    func effects(_ direction: Direction) -> [OpEffect] {
        let form = codec.map { ", \($0.words)" } ?? ""
        return direction == .up
            ? [OpEffect(.appears(path), "is added: a copy of \(from)\(form)")]
            : [OpEffect(.goes(path), "is left out: it was a copy of \(from)")]
    }
}

extension Wrap {
    func effects(_ direction: Direction) -> [OpEffect] {
        let none = empty.map { "absent or \($0.text)" } ?? "absent"
        return [
            direction == .up
                ? OpEffect(.changes(path), "becomes a list of its value; \(none) becomes []")
                : OpEffect(
                    .changes(path), "becomes the first of its list, and \(none) where that is empty; what follows the first is not seen")
        ]
    }
}

extension Head {
    func effects(_ direction: Direction) -> [OpEffect] {
        let none = empty.map { $0.text } ?? "absent"
        return [
            direction == .up
                ? OpEffect(
                    .changes(path), "becomes the first of its list, and \(none) where that is empty; what follows the first is not seen")
                : OpEffect(.changes(path), "becomes a list of its value; \(none) becomes []")
        ]
    }
}

extension Unset {
    func effects(_ direction: Direction) -> [OpEffect] {
        [
            direction == .up
                ? OpEffect(.changes(path), "is absent where it is \(sentinel.text)")
                : OpEffect(.changes(path), "is \(sentinel.text) where it is absent")
        ]
    }
}

extension Convert {
    func effects(_ direction: Direction) -> [OpEffect] {
        [
            direction == .up
                ? OpEffect(.changes(path), "becomes \(Shape(kind).noun): \(codec.words)")
                : OpEffect(.changes(path), "is converted back: \(codec.words)")
        ]
    }
}

extension Split {
    func effects(_ direction: Direction) -> [OpEffect] { rule.effects(whole: path, splits: direction == .up) }
}

extension Join {
    func effects(_ direction: Direction) -> [OpEffect] { rule.effects(whole: path, splits: direction == .down) }
}

extension SeparatorRule {
    fileprivate func effects(whole: JSONPointer, splits: Bool) -> [OpEffect] {
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
    func effects(_ direction: Direction) -> [OpEffect] {
        guard direction == .up else { return [OpEffect(.goes(path), "is left out: it was computed")] }
        let text = template.parts.map { part in
            switch part {
            case .literal(let bytes): String(decoding: bytes, as: UTF8.self)
            case .member(let pointer): "{\(pointer)}"
            }
        }
        return [OpEffect(.appears(path), "is computed: \(quoted(text.joined()))")]
    }
}

extension Each {
    func effects(_ direction: Direction) -> [OpEffect] {
        (direction == .up ? entries : entries.reversed()).flatMap { $0.op.effects(direction) }.map { $0.within(path) }
    }
}

extension When {
    func effects(_ direction: Direction) -> [OpEffect] {
        func guarded(_ entries: [OpEntry], _ condition: String) -> [OpEffect] {
            (direction == .up ? entries : entries.reversed()).flatMap { $0.op.effects(direction) }.map { effect in
                OpEffect(effect.turn, "\(condition) \(effect.words)")
            }
        }
        return guarded(entries, "where \(test.words)") + guarded(otherwise, "elsewhere")
    }
}

extension Allow {
    func effects(_ direction: Direction) -> [OpEffect] {
        guard direction == .down else { return [] }
        let words =
            switch down.misfit {
            case .absent?: "is left out where the older version does not know it"
            case .value(let text)?: "is \(String(decoding: text, as: UTF8.self)) where the older version does not know it"
            case .block?: "is refused where the older version does not know it"
            case .hide(let why)?: "hides the event where the older version does not know it: \(why)"
            case nil:
                (down.table.map { "\(String(decoding: $0.old, as: UTF8.self)) for \(String(decoding: $0.new, as: UTF8.self))" }
                    + (down.absent.map { ["\(String(decoding: $0, as: UTF8.self)) for absent"] } ?? [])).joined(separator: ", ")
            }
        return [OpEffect(.changes(path), words)]
    }
}

extension SwiftOp {
    func effects(_ direction: Direction) -> [OpEffect] {
        if direction == .down, down == .oneWay { return writes.map { OpEffect(.changes($0), "has no way down: \(id) is one-way") } }
        let source = reads.isEmpty ? "" : " from \(reads.map(\.description).joined(separator: ", "))"
        let kept = down == .shadow ? " when the event is appended, and kept with it" : ""
        let words = direction == .up ? "is made by the Swift step \(id)\(source)" : "is made again by the Swift step \(id)\(kept)"
        return writes.map { OpEffect(.appears($0), words) }
    }
}

extension Reserve {
    func effects(_ direction: Direction) -> [OpEffect] { [] }
}
