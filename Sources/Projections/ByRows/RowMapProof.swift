package import EventLog
package import EventModel
internal import JSONText
package import SchemaEvolution

/// From what a read model of a version is made.
package enum RowSource: Sendable {
    /// From the rows that it has at an older version.
    case rows(RowMap)
    /// From events; why not from rows, as a clause.
    case events(because: String)
}

/// Proves that the rows of a read model at a version are a function of its rows at an older one, whatever the events of the log are.
///
/// The proof is by induction over events, a simulation: both folds begin without rows, and each event, seen as its image at the older version,
/// does to the row at the newer one what the function makes of what it does to the older row. So for each way that images take from the
/// one version to the other both have the same key, take the same of their folds, and make, keep and delete rows alike; and each slot
/// is written exactly when the slots are written that it is made of, by values that one function leads from the ones to the others. No event
/// may fail at the newer version that has not failed at the older one. What isn't decided by these rules is a no.
package struct RowMapProof {
    private let older, newer: Definition
    private let history: History
    private let projections: (older: DeclaredProjection, newer: DeclaredProjection)
    private let slots: (older: RowSlots, newer: RowSlots)
    private var sites: [(older: FoldSide.Site, newer: FoldSide.Site)] = []
    private var events: UInt64 = 0
    /// Places of the row that are read, which must be the same at both versions.
    private var rowPlaces: Set<JSONPointer> = []

    /// - Parameter census: of the events that the older rows are made of; others may be in it.
    package static func prove(
        _ older: Definition, _ newer: Definition, _ history: History, _ census: [CensusRow]
    ) throws(EvstoreError) -> RowSource {
        guard let before = older.declared, let after = newer.declared else { return .events(because: "it is written in Swift") }
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

    /// Follows the images of all events; returns why rows don't do.
    private mutating func follow(_ census: [CensusRow]) throws(EvstoreError) -> String? {
        var followed: Set<String> = []
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
            // Order: for these the newer version is no step behind the older one.
            if row.born > older.version { return "\(row.type) has events that were born at \(row.born)" }
            // Where one part of an event has no image, none has.
            for type in seen where followed.insert(type).inserted {
                if let no = try follow(type) { return no }
            }
        }
        return nil
    }

    private mutating func follow(_ type: String) throws(EvstoreError) -> String? {
        switch try history.trace(type, from: older.version, to: newer.version) {
        case .untold(let why): return "\(type) at \(newer.version): \(why)"
        case .ways(let ways):
            for way in ways {
                if let no = pair(type, way) { return "\(type): \(no)" }
            }
            return nil
        }
    }

    /// Pairs the folds of both versions for the images that go one way.
    private mutating func pair(_ type: String, _ way: TracedWay) -> String? {
        let before = FoldSide(
            age: .older, projection: projections.older, type: type, shape: history.shape(of: type, at: older.version)?.shape ?? .any,
            way: way)
        guard let made = way.type else { return before.folds == nil ? nil : "\(newer.version) does not show all of them" }
        let after = FoldSide(
            age: .newer, projection: projections.newer, type: made, shape: history.shape(of: made, at: newer.version)?.shape ?? .any,
            way: way)
        guard let olderFolds = before.folds, let newerFolds = after.folds else {
            return before.folds == nil && after.folds == nil ? nil : "one of the two versions has no fold of them"
        }
        if !isSame(before, projections.older.key, after, projections.newer.key) { return "the rows have other keys" }
        guard olderFolds.count == newerFolds.count else { return "there are \(newerFolds.count) folds in the place of \(olderFolds.count)" }
        for (old, new) in zip(olderFolds, newerFolds) {
            if let no = differ(before, old, after, new) { return no }
            let site = (older: before.site(of: old, slots.older.layout), newer: after.site(of: new, slots.newer.layout))
            for edit in site.newer.edits.values.joined() {
                note(edit.value)
                for case .found(let found) in edit.within { note(found) }
            }
            sites.append(site)
        }
        return nil
    }

    /// Why two folds don't run alike.
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

    private mutating func note(_ found: TracedWay.Found) {
        guard case .term(let term) = found else { return }
        for case .source(.row(let place)) in term.leaves { rowPlaces.insert(place) }
    }

    /// Finds the function of each slot.
    private func solved() -> RowSource {
        let (before, after) = slots
        let solver = SlotSolver(sites: sites, older: before, newer: after)
        var slots: [Term?] = []
        for slot in after.layout.slots.indices {
            switch solver.solve(slot) {
            case .untold: return .events(because: "the rows at \(older.version) do not tell \(after.layout.slots[slot])")
            case .never: slots.append(nil)
            case .told(let term): slots.append(term)
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
