package import EventLog
package import EventModel
internal import JSONText
package import SchemaEvolution

/// The source from which a read model of a version is built.
package enum RowSource: Sendable {
    /// Its rows at an older version.
    case rows(RowMap)
    /// The events; the reason why rows are not enough, as a clause.
    case events(because: String)
}

/// Proves that the rows of a read model at one version are a function of its rows at an older one, for any log.
///
/// The proof is by induction over events, a simulation: both folds begin without rows, and the effect of each event on the newer row is the
/// function applied to its effect on the older row, where events are seen as images at the older version. So, for each branch that images
/// take between the two versions, both folds must have the same key and guard, and must create, keep and delete rows alike. Each slot must
/// be written exactly when the slots from which it is made are written, with values that one function maps to each other. No event may fail
/// at the newer version unless it fails at the older one. Whatever these rules do not decide counts as not proved.
package struct RowMapProof {
    private let older, newer: Definition
    private let history: History
    private let projections: (older: DeclaredProjection, newer: DeclaredProjection)
    private let slots: (older: RowSlots, newer: RowSlots)
    private var effects: [(older: FoldSide.Effect, newer: FoldSide.Effect)] = []
    private var events: UInt64 = 0
    /// Locations in the row that folds read; they must be equal at both versions.
    private var rowPlaces: Set<JSONPointer> = []

    /// - Parameter census: counts of the events from which the older rows were built; it may include others.
    package static func prove(
        _ older: Definition, _ newer: Definition, _ history: History, _ census: [CensusRow]
    ) throws(EvstoreError) -> RowSource {
        guard let before = older.declared, let after = newer.declared else {
            return .events(because: newer.isSwift ? "it is written in Swift" : "it is the index of tags")
        }
        guard older.version <= newer.version else { return .events(because: "\(older.version) is above \(newer.version)") }
        var proof = RowMapProof(older: older, newer: newer, history: history, projections: (before, after))
        if let no = try proof.follow(census) { return .events(because: no) }
        return proof.solved()
    }

    private init(
        older: Definition, newer: Definition, history: History, projections: (older: DeclaredProjection, newer: DeclaredProjection)
    ) {
        (self.older, self.newer, self.history, self.projections) = (older, newer, history, projections)
        slots = (RowSlots(projections.older), RowSlots(projections.newer))
    }

    /// Traces the images of all events. Returns why rows are not enough; nil if they are.
    private mutating func follow(_ census: [CensusRow]) throws(EvstoreError) -> String? {
        var followed: Set<Name> = []
        for row in census where row.count > 0 {
            let seen = try history.path(type: row.type, born: row.born, to: older.version).types
            var becomes: Set<Name> = []
            if row.born <= older.version {
                for type in seen { becomes.formUnion(Set(of: try history.path(type: type, born: older.version, to: newer.version).types)) }
            } else {
                becomes = Set(of: try history.path(type: row.type, born: row.born, to: newer.version).types)
            }
            if older.consumes.isDisjoint(with: Set(of: seen)), newer.consumes.isDisjoint(with: becomes) { continue }
            events += row.count
            // Order: this comes before tracing, since the newer version is not a later step for these events.
            if row.born > older.version { return "\(row.type) has events that were born at \(row.born)" }
            // If one part of an event has no image, the whole event has none, so all types are traced.
            for type in seen where followed.insert(type) {
                if let no = try follow(type) { return no }
            }
        }
        return nil
    }

    private mutating func follow(_ type: String) throws(EvstoreError) -> String? {
        switch try history.trace(type, from: older.version, to: newer.version) {
        case .undetermined(let why): return "\(type) at \(newer.version): \(why)"
        case .branches(let branches):
            for branch in branches {
                if let no = pair(type, branch) { return "\(type): \(no)" }
            }
            return nil
        }
    }

    /// Pairs the folds of both versions for the images that take one branch.
    private mutating func pair(_ type: String, _ branch: TracedBranch) -> String? {
        let before = FoldSide(
            age: .older, projection: projections.older, type: type, shape: history.shape(of: type, at: older.version)?.shape ?? .any,
            branch: branch)
        guard let made = branch.type else { return before.folds == nil ? nil : "\(newer.version) does not show all of them" }
        let after = FoldSide(
            age: .newer, projection: projections.newer, type: made, shape: history.shape(of: made, at: newer.version)?.shape ?? .any,
            branch: branch)
        guard let olderFolds = before.folds, let newerFolds = after.folds else {
            return before.folds == nil && after.folds == nil ? nil : "one of the two versions has no fold of them"
        }
        if !isSame(before, before.key, after, after.key) { return "the rows have other keys" }
        guard olderFolds.count == newerFolds.count else { return "there are \(newerFolds.count) folds in the place of \(olderFolds.count)" }
        for (old, new) in zip(olderFolds, newerFolds) {
            if let no = differ(before, old, after, new) { return no }
            let effect = (older: before.effect(of: old, slots.older.layout), newer: after.effect(of: new, slots.newer.layout))
            for edit in effect.newer.edits.values.joined() {
                note(edit.value)
                for case .found(let found) in edit.within { note(found) }
            }
            effects.append(effect)
        }
        return nil
    }

    /// Why two folds do not run alike; nil if they do.
    private mutating func differ(_ before: FoldSide, _ old: FoldRule, _ after: FoldSide, _ new: FoldRule) -> String? {
        if old.deletes != new.deletes || old.onlyExisting != new.onlyExisting || old.edits.isEmpty != new.edits.isEmpty {
            return "a fold makes or deletes rows where the other does not"
        }
        switch (old.each, new.each) {
        case (nil, nil): break
        case (let list?, let other?):
            if !isSame(before, .pointer(list), after, .pointer(other)) { return "each goes through another list" }
        default: return "only one of two folds goes through a list"
        }
        switch (old.guardTest, new.guardTest) {
        case (nil, nil): return nil
        case (let test?, let other?):
            note(after.find(other.source))
            return test.test == other.test && isSame(before, test.source, after, other.source) ? nil : "a guard asks for something else"
        default: return "only one of two folds has a guard"
        }
    }

    private func isSame(_ before: FoldSide, _ old: Source, _ after: FoldSide, _ new: Source) -> Bool {
        let found = before.find(old)
        return found != .unclear && found == after.find(new)
    }

    private mutating func note(_ found: TracedBranch.Found) {
        guard case .term(let term) = found else { return }
        for case .source(.row(let place)) in term.leaves { rowPlaces.insert(place) }
    }

    private func solved() -> RowSource {
        let (before, after) = slots
        let solver = SlotSolver(effects: effects, older: before, newer: after)
        var slots: [ValueTerm?] = []
        for slot in after.layout.slots.indices {
            switch solver.solve(slot) {
            case .undetermined: return .events(because: "the rows at \(older.version) do not tell \(after.layout.slots[slot])")
            case .never: slots.append(nil)
            case .determined(let term): slots.append(term)
            }
        }
        for place in rowPlaces {
            let names = place.tokens.map { Name($0.text) }
            guard let new = after.layout.slot(of: names)?.slot, let old = before.layout.slot(of: names)?.slot, slots[new] == .slot(old),
                before.layout.slots[old] == after.layout.slots[new]
            else { return .events(because: "\(place) of the row, which a fold reads, is something else") }
        }
        return .rows(RowMap(older: before.layout, newer: after.layout, slots: slots, events: events))
    }
}
