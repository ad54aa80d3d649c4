internal import EventModel
package import JSONText

/// What an op does to members in one direction, in words.
package struct OpEffect: Sendable {
    package enum Kind: Sendable {
        /// The member gets another value.
        case changes(JSONPointer)
        case moves(from: JSONPointer, to: JSONPointer)
        case appears(JSONPointer)
        case goes(JSONPointer)
        /// The member may have more values than before, or is new and optional; values of old events are unchanged.
        case widens(JSONPointer)
    }

    package let kind: Kind
    package var words: String

    init(_ kind: Kind, _ words: String) { (self.kind, self.words) = (kind, words) }
}

/// What happens to an event of one type when it crosses an op on events.
package struct EventEffect: Sendable {
    /// Nil if there is no image.
    package let type: String?
    package let words: String
    /// The changes of members before any are picked.
    package var effects: [OpEffect] = []
    /// The members that are kept; nil means all.
    package var pick: [JSONPointer]?
    /// The description for a member that is not kept.
    package var otherwise: @Sendable (JSONPointer) -> String = { _ in "does not go on" }
    /// Whether only the members that the resulting type declares are kept.
    package var isApart = false
    /// The events that are joined with it, and the changes of their members before the join.
    package var joined: [(type: String, effects: [OpEffect])] = []
    /// The changes of members after some were picked.
    package var later: [OpEffect] = []
    /// The template of its stream afterwards, if that changes.
    package var stream: StreamTemplate?
}

extension JSONPointer {
    /// The pointer from the payload's root to a member that this pointer names relative to a holder.
    func below(_ holder: JSONPointer) -> JSONPointer { JSONPointer(tokens: holder.tokens + tokens) }

    /// The condition of an op that sets the member and makes no object for it; empty for a member at the top.
    func around(_ word: String) -> String { tokens.count > 1 ? " \(word) the object around it is there" : "" }
}

extension String {
    /// A text as an explanation shows it: in quotes, unless it is a single plain word.
    var inWords: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || "-_./".unicodeScalars.contains($0)
        }
        return !isEmpty && isPlain ? self : JSONValue.string(self).text
    }
}

extension JSONValue {
    /// A scalar as an explanation shows it: a text that could be read as a number or JSON literal is quoted.
    var inWords: String {
        guard case .string(let text) = self, case .string = Shape.value(text, .any) else { return self.text }
        return text.inWords
    }
}

extension Guard {
    /// The test as a clause.
    package func words(in holder: JSONPointer = JSONPointer()) -> String {
        let what =
            switch source {
            case .pointer(let pointer): JSONPointer(tokens: holder.tokens + pointer.tokens).description
            case .metadata(let pointer): "$metadata\(pointer)"
            default: "$time"
            }
        return switch test {
        case .oneOf(let values): "\(what) is \(values.map { String(decoding: $0.canonical, as: UTF8.self) }.joined(separator: " or "))"
        case .exists(let wanted): wanted ? "\(what) is there" : "\(what) is absent"
        case .below(.number(let limit)): "\(what) is below \(limit)"
        case .below(.dotted(let limit)): "\(what) is below \(limit)"
        case .below(.moment(let time)): "\(what) is before \(time)"
        case .below(.unordered(let text)): "\(what) is below \(quoted(text))"
        }
    }
}
