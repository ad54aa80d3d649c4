internal import EventModel
internal import JSONText

/// What an op does to members in one direction, in words.
struct OpEffect: Sendable {
    enum Turn: Sendable {
        /// Another value at the same place.
        case changes(JSONPointer)
        case moves(from: JSONPointer, to: JSONPointer)
        case appears(JSONPointer)
        case goes(JSONPointer)
    }

    let turn: Turn
    var words: String

    init(_ turn: Turn, _ words: String) { (self.turn, self.words) = (turn, words) }

    /// The same for the elements of a list or map.
    func within(_ holder: JSONPointer) -> OpEffect {
        func inner(_ pointer: JSONPointer) -> JSONPointer {
            JSONPointer(tokens: holder.tokens + [MemberName("*")] + pointer.tokens)
        }
        return switch turn {
        case .changes(let place): OpEffect(.changes(inner(place)), words)
        case .moves(let from, let to): OpEffect(.moves(from: inner(from), to: inner(to)), words)
        case .appears(let place): OpEffect(.appears(inner(place)), words)
        case .goes(let place): OpEffect(.goes(inner(place)), words)
        }
    }
}

/// A member on its way through the steps.
struct MemberTrack: Sendable {
    let before: JSONPointer?
    /// Where it stands now; nil where it is gone.
    var place: JSONPointer?
    var changes: [Explanation.Change] = []
}

extension [MemberTrack] {
    mutating func apply(_ effect: OpEffect, at version: SchemaVersion) {
        func change(_ words: String) -> Explanation.Change { .init(version: version, words: words) }
        switch effect.turn {
        case .appears(let place):
            if let index = firstIndex(where: { $0.place == place }) {
                self[index].changes.append(change(effect.words))
            } else {
                append(MemberTrack(before: nil, place: place, changes: [change(effect.words)]))
            }
        case .changes(let place): touch(place, change(effect.words)) { $0 }
        case .goes(let place): touch(place, change(effect.words)) { _ in nil }
        case .moves(let from, let to):
            var isFound = false
            for index in indices {
                guard let place = self[index].place, place.hasPrefix(from) else { continue }
                isFound = true
                let target = JSONPointer(tokens: to.tokens + place.tokens.dropFirst(from.tokens.count))
                self[index].place = target
                self[index].changes.append(change("moves to \(target)"))
            }
            if !isFound { noteHolder(of: from, change("its \(from) moves to \(to)")) }
        }
    }

    /// Notes a change with every member at a place or below it.
    private mutating func touch(_ place: JSONPointer, _ change: Explanation.Change, _ next: (JSONPointer) -> JSONPointer?) {
        var isFound = false
        for index in indices {
            guard let stand = self[index].place, stand.hasPrefix(place) else { continue }
            isFound = true
            self[index].changes.append(change)
            self[index].place = next(stand)
        }
        if !isFound { noteHolder(of: place, .init(version: change.version, words: "its \(place) \(change.words)")) }
    }

    /// Notes a change with the member that a place lies in.
    private mutating func noteHolder(of place: JSONPointer, _ change: Explanation.Change) {
        for index in indices {
            if let stand = self[index].place, place.hasPrefix(stand) {
                self[index].changes.append(change)
                return
            }
        }
    }
}
