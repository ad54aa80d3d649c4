internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension DeclaredProjection {
    /// Proposes the next definition after this one, from a version on: a copy with the names that types and members have at that version.
    /// Nil if one of its types becomes several types or none.
    func following(at version: SchemaVersion, _ history: History) -> Repair? {
        guard case .object(let members) = json else { return nil }
        var turns: [TypeSuccessor] = []
        var made: [JSONValue.Member] = [.init(name: "since", value: .number("\(version.number)"))]
        for member in members {
            guard member.name == "on", case .object(let types) = member.value else {
                made.append(member)
                continue
            }
            var folds: [JSONValue.Member] = []
            for type in types {
                guard let turn = history.successor(of: type.name, at: version),
                    !folds.contains(where: { $0.name.isSame(as: turn.type) })
                else { return nil }
                folds.append(.init(name: turn.type, value: type.value.moving(turn.place(of:))))
                turns.append(turn)
            }
            made.append(.init(name: "on", value: .object(folds)))
        }
        // The key must consist of equal members for every type.
        if let index = made.firstIndex(where: { $0.name == "key" }) {
            let keys = Set(turns.map { made[index].value.moving($0.place(of:)).text })
            guard keys.count == 1, let turn = turns.first else { return nil }
            made[index] = .init(name: "key", value: made[index].value.moving(turn.place(of:)))
        }
        return Repair(file: mark.file, path: ["projections", name], .append(JSONValue.object(made).text)).certain
    }
}

extension JSONValue {
    /// The value with all pointers moved: texts that are pointers, and pointers in braces.
    fileprivate func moving(_ place: (JSONPointer) -> JSONPointer) -> JSONValue {
        switch self {
        case .string(let text): .string(Self.moved(text, place))
        case .array(let values): .array(values.map { $0.moving(place) })
        // Constants are not changed.
        case .object(let members):
            .object(members.map { .init(name: $0.name, value: $0.name == "value" ? $0.value : $0.value.moving(place)) })
        default: self
        }
    }

    private static func moved(_ text: String, _ place: (JSONPointer) -> JSONPointer) -> String {
        func pointer(_ text: Substring) -> String? {
            do { return try place(JSONPointer(String(text))).description } catch { return nil }
        }
        if text.hasPrefix("/") { return pointer(text[...]) ?? text }
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let inner = rest[rest.index(after: open) ..< close]
            result += rest[...open] + (inner.hasPrefix("/") ? pointer(inner) ?? String(inner) : String(inner)) + "}"
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
