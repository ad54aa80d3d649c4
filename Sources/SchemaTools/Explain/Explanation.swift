package import EventModel
package import JSONText
package import SchemaEvolution

/// A description, member by member, of what happens to an event of a type between two versions.
package struct Explanation: Sendable {
    /// A change by the step to a version, in either direction.
    package struct Change: Hashable, Sendable {
        package let version: SchemaVersion
        package let words: String
    }

    package struct Member: Sendable {
        /// Its pointer at `from`; nil if it is new.
        package let before: JSONPointer?
        /// Its pointer at `to`; nil if it is gone.
        package let after: JSONPointer?
        /// Its type at `from` and at `to`, such as `string` or `optional integer`.
        package let wasNoun, noun: String?
        package let changes: [Change]
    }

    /// One of the events that it can become.
    package struct Outcome: Sendable {
        /// Nil if there is no image.
        package let type: String?
        package let stream: String?
        /// The tags that the target version gives it, as its file writes them.
        package var tags: [String] = []
        /// What happens to the event as a whole.
        package let changes: [Change]
        package let members: [Member]
    }

    package let type: String
    package let from, to: SchemaVersion
    /// Several if the event is split or if its type depends on a member.
    package let outcomes: [Outcome]
    /// Why events of the type can't be converted in one pass; nil if they can.
    package let opByOp: SlowPathReport?
}

extension History {
    /// What happens to an event of a type between two versions, given in either order; from version 0, to old data of any type.
    /// - Throws: `unknownVersion`, `unknownType`, or `schemaInvalid` if the steps in between have errors.
    package func explain(_ type: String, from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> Explanation {
        guard self[to] != nil else { throw unknown(to.description) }
        let adoption = from.number == 0 ? Adoption(versions.first) : nil
        let shape = adoption == nil ? try requireShape(of: type, at: from) : nil
        // Order: this comes first, since an op that can't be bound has no effect to explain; its finding says why.
        let errors = ((adoption?.findings ?? []) + stepFindings(from: from, to: to)).filter { $0.severity == .error }
        if !errors.isEmpty { throw .schemaInvalid(errors) }
        var explainer = Explainer(self, type, from, to)
        let outcomes = adoption.map { explainer.run($0) } ?? shape.map { explainer.run($0) } ?? []
        return Explanation(
            type: type, from: from, to: to, outcomes: outcomes, opByOp: try opByOp(type, born: from, to: to))
    }
}

extension Shape {
    /// Pointers to the members that hold values: members of objects, of list elements and of map values.
    var leaves: [JSONPointer] {
        var found: [JSONPointer] = []
        func visit(_ shape: Shape, _ place: JSONPointer) {
            if shape.kind == .object, !shape.isMap, !shape.properties.isEmpty {
                for property in shape.properties { visit(property.shape, place.appending(property.name)) }
                return
            }
            if !place.isRoot { found.append(place) }
            guard let inner = shape.items ?? shape.additional, inner.kind == .object, !inner.isMap else { return }
            for property in inner.properties { visit(property.shape, place.appending("*").appending(property.name)) }
        }
        visit(self, JSONPointer())
        return found
    }

    /// The shape at a pointer whose token `*` stands for every element or value.
    func shape(within place: JSONPointer) -> (shape: Shape, isRequired: Bool)? {
        var (shape, isRequired) = (self, true)
        for token in place.tokens {
            if let member = shape.property(token.text) {
                isRequired = isRequired && shape.required.contains(token.text)
                shape = member
            } else if token.text == "*", let inner = shape.items ?? shape.additional {
                (shape, isRequired) = (inner, true)
            } else {
                return nil
            }
        }
        return (shape, isRequired)
    }

    /// A description of a member's type: `optional string or null`.
    func memberNoun(at place: JSONPointer) -> String? {
        guard let (shape, isRequired) = shape(within: place) else { return nil }
        let format = shape.format.map { " (\($0.rawValue))" } ?? ""
        return (isRequired ? "" : "optional ") + shape.bareNoun + format + (shape.isNullable ? " or null" : "")
    }

    private var bareNoun: String {
        switch kind {
        case .object: isMap ? "map" : "object"
        case .array: "list" + (items.map { " of \($0.bareNoun)s" } ?? "")
        case .any: "anything"
        default: kind.rawValue
        }
    }
}

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
            case .payload(let types, let entries):
                guard types.has(event.type) else { continue }
                let ops = direction == .up ? entries : entries.reversed()
                for effect in ops.flatMap({ $0.effects(direction) }) { event.tracks.apply(effect, at: version) }
            case .event(let entry):
                guard let outcomes = entry.effects(of: event.type, in: event.stream, direction) else { continue }
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
            .init(
                type: event.type, stream: shape.stream?.description, tags: shape.tags.map(\.description), changes: event.changes,
                members: members))
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
