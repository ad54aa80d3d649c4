internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Traces an event through the `upcast` lists, item by item, without running any op.
struct Explainer {
    private let history: History
    private let type: String
    private let from, to: SchemaVersion
    private let direction: Direction
    /// The items of all lists on the path, in the order in which they apply.
    private let items: [StepItem]
    private var outcomes: [Explanation.Outcome] = []
    private var origin = Shape(.object)

    /// An event between two items.
    fileprivate struct TracedEvent {
        var type: String
        /// The template of its stream; nil if the stream may have any name.
        var stream: StreamTemplate?
        var tracks: [MemberTrack]
        var changes: [Explanation.Change] = []
    }

    init(_ history: History, _ type: String, _ from: SchemaVersion, _ to: SchemaVersion) {
        (self.history, self.type, self.from, self.to) = (history, type, from, to)
        direction = from < to ? .up : .down
        let upward = history.stepItems(from: from, to: to)
        items = direction == .up ? upward : upward.reversed()
    }

    mutating func run(_ shape: EventShape) -> [Explanation.Outcome] {
        origin = shape.shape
        let tracks = shape.shape.leaves.map { MemberTrack(before: $0, place: $0) }
        follow(TracedEvent(type: type, tracks: tracks), from: 0)
        return outcomes
    }

    /// Explains data from before versions existed: one outcome for each case of `adopt`, and one for data that matches none.
    mutating func run(_ adoption: Adoption) -> [Explanation.Outcome] {
        for one in adoption.cases {
            let guarded = one.test.map { ", where \($0.words())" } ?? ""
            var event = TracedEvent(type: one.type, stream: one.stream, tracks: one.tracks)
            event.changes = [.init(version: SchemaVersion(1), words: "is adopted as \(one.type)\(guarded)")]
            if let stream = one.stream {
                event.changes.append(.init(version: SchemaVersion(1), words: "goes to the stream \(stream) of its old members"))
            }
            follow(event, from: 0)
        }
        let rest = Explanation.Change(version: SchemaVersion(1), words: "is quarantined, where no case takes it")
        return outcomes + [.init(type: nil, stream: nil, changes: [rest], members: [])]
    }

    private mutating func follow(_ start: TracedEvent, from first: Int) {
        var event = start
        for index in first ..< max(first, items.count) {
            let item = items[index]
            let version = item.version
            let here = direction == .up ? version.previous : version
            if index == 0 || items[index - 1].version != version {
                if index > 0 { event.leave(history, after: items[index - 1].version, direction) }
                event.stream = history.shape(of: event.type, at: here)?.stream
            }
            switch item.action {
            case .reserve: continue
            case .payload(let entries, let types):
                guard types?.has(event.type) ?? true else { continue }
                let ops = direction == .up ? entries : entries.reversed()
                for effect in ops.flatMap({ $0.effects(direction) }) { event.tracks.apply(effect, at: version) }
            case .event(let op):
                guard let outcomes = op.effects(of: event.type, in: event.stream, direction) else { continue }
                for outcome in outcomes {
                    var next = event
                    next.changes.append(.init(version: version, words: outcome.words))
                    for effect in outcome.effects { next.tracks.apply(effect, at: version) }
                    guard let type = outcome.type else {
                        self.outcomes.append(.init(type: nil, stream: nil, changes: next.changes, members: []))
                        continue
                    }
                    let pick = outcome.isApart ? history.shape(of: type, at: version.previous)?.shape.leaves : outcome.pick
                    next.keep(pick, else: outcome.otherwise, at: version)
                    for other in outcome.joined {
                        next.join(other.type, history.shape(of: other.type, at: here), other.effects, at: version)
                    }
                    (next.type, next.stream) = (type, outcome.stream ?? next.stream)
                    for effect in outcome.later { next.tracks.apply(effect, at: version) }
                    follow(next, from: index + 1)
                }
                return
            }
        }
        arrive(event)
    }

    private mutating func arrive(_ arrived: TracedEvent) {
        var event = arrived
        guard let shape = history.shape(of: event.type, at: to) else { return }
        let last = direction == .up ? to : to.next
        func change(_ words: String) -> Explanation.Change { .init(version: last, words: words) }
        event.leave(history, after: last, direction)
        var members = event.tracks.compactMap { track -> Explanation.Member? in
            let noun = track.place.flatMap(shape.shape.memberNoun)
            if noun == nil, track.before == nil { return nil }
            // A type that a dispatch produced need not declare members that none of its events has.
            let wasNoun = track.before.flatMap(origin.memberNoun)
            var changes = track.changes
            if changes.isEmpty, let noun, let wasNoun, noun != wasNoun {
                changes.append(change("is \(noun) in \(event.type) of version \(to.number)"))
            }
            return Explanation.Member(
                before: track.before, after: noun == nil ? nil : track.place, wasNoun: wasNoun, noun: noun, changes: changes)
        }
        let known = Set(event.tracks.compactMap(\.place))
        for leaf in shape.shape.leaves where !leaf.prefixes.contains(where: known.contains) {
            let change = change("is not in \(type) of version \(from.number)")
            members.append(.init(before: nil, after: leaf, wasNoun: nil, noun: shape.shape.memberNoun(at: leaf), changes: [change]))
        }
        outcomes.append(
            .init(type: event.type, stream: shape.stream?.description, changes: event.changes, members: members))
    }
}

extension Explainer.TracedEvent {
    /// Ends the tracks of members that the shape does not have once the items of a version are done.
    fileprivate mutating func leave(_ history: History, after version: SchemaVersion, _ direction: Direction) {
        let here = direction == .up ? version : version.previous
        guard let shape = history.shape(of: type, at: here)?.shape else { return }
        for index in tracks.indices {
            guard let place = tracks[index].place, shape.memberNoun(at: place) == nil else { continue }
            tracks[index].changes.append(.init(version: version, words: "is not in \(type) of version \(here.number)"))
            tracks[index].place = nil
        }
    }

    /// Adds the members of another event that this one lacks.
    fileprivate mutating func join(_ other: String, _ shape: EventShape?, _ effects: [OpEffect], at version: SchemaVersion) {
        let words = "comes from \(other), where there is one"
        var theirs = (shape?.shape.leaves ?? []).map {
            MemberTrack(before: nil, place: $0, changes: [.init(version: version, words: words)])
        }
        for effect in effects { theirs.apply(effect, at: version) }
        let known = Set(tracks.compactMap(\.place))
        tracks += theirs.filter { track in track.place.map { !known.contains($0) } ?? false }
    }

    /// Drops the members that are not picked; keeps all if `pick` is nil.
    fileprivate mutating func keep(_ pick: [JSONPointer]?, else words: (JSONPointer) -> String, at version: SchemaVersion) {
        guard let pick else { return }
        let (picked, holders) = (Set(pick), Set(pick.flatMap(\.prefixes)))
        for index in tracks.indices {
            guard let place = tracks[index].place, !holders.contains(place), !place.prefixes.contains(where: picked.contains)
            else { continue }
            tracks[index].changes.append(.init(version: version, words: words(place)))
            tracks[index].place = nil
        }
    }
}
