internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A member that is traced through the steps.
struct MemberTrack: Sendable {
    let before: JSONPointer?
    /// Its pointer after the changes so far; nil if it is gone.
    var place: JSONPointer?
    var changes: [Explanation.Change] = []
}

extension [MemberTrack] {
    mutating func apply(_ effect: OpEffect, at version: SchemaVersion) {
        func change(_ words: String) -> Explanation.Change { .init(version: version, words: words) }
        switch effect.kind {
        case .appears(let place):
            if let index = firstIndex(where: { $0.place == place }) {
                self[index].changes.append(change(effect.words))
            } else {
                append(MemberTrack(before: nil, place: place, changes: [change(effect.words)]))
            }
        case .widens(let place):
            if contains(where: { $0.place.map { $0.hasPrefix(place) || place.hasPrefix($0) } ?? false }) {
                note(place, change("\(effect.words)may be more than version \(version.number - 1) knows; what was written before stays")) {
                    $0
                }
            } else {
                append(
                    MemberTrack(
                        before: nil, place: place, changes: [change("\(effect.words)may be there; nothing that was written before has it")])
                )
            }
        case .changes(let place): note(place, change(effect.words)) { $0 }
        case .goes(let place): note(place, change(effect.words)) { _ in nil }
        case .moves(let from, let to):
            var isFound = false
            // The text of a move is that of a surrounding guard, or empty.
            let guarded = effect.words
            for index in indices {
                guard let place = self[index].place, place.hasPrefix(from) else { continue }
                isFound = true
                let target = JSONPointer(tokens: to.tokens + place.tokens.dropFirst(from.tokens.count))
                self[index].place = target
                self[index].changes.append(change("\(guarded)moves to \(target)"))
            }
            if !isFound { noteHolder(of: from, change("\(guarded)its \(from) moves to \(to)")) }
        }
    }

    /// Records a change of every member at a pointer or below it.
    private mutating func note(_ place: JSONPointer, _ change: Explanation.Change, _ next: (JSONPointer) -> JSONPointer?) {
        var isFound = false
        for index in indices {
            guard let stand = self[index].place, stand.hasPrefix(place) else { continue }
            isFound = true
            self[index].changes.append(change)
            self[index].place = next(stand)
        }
        if !isFound { noteHolder(of: place, .init(version: change.version, words: "its \(place) \(change.words)")) }
    }

    /// Records a change of the member that contains a pointer.
    private mutating func noteHolder(of place: JSONPointer, _ change: Explanation.Change) {
        for index in indices {
            if let stand = self[index].place, place.hasPrefix(stand) {
                self[index].changes.append(change)
                return
            }
        }
    }
}

extension Adopt {
    /// The members of version 1 that old data becomes. Other members are dropped and counted.
    var tracks: [MemberTrack] {
        var tracks = moves.map { MemberTrack(before: $0.from, place: $0.target) }
        for effect in effects { tracks.apply(effect, at: SchemaVersion(1)) }
        return tracks
    }
}
