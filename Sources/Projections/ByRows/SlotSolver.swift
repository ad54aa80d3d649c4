internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Determines from which slots of an older row a slot of the newer row can be computed, and how.
struct SlotSolver {
    /// The effects of each fold, for each branch of images, at both versions.
    let effects: [(older: FoldSide.Effect, newer: FoldSide.Effect)]
    let older, newer: RowSlots

    enum Solution {
        /// No newer row has the slot.
        case never
        case determined(ValueTerm)
        /// The older row does not determine the slot.
        case undetermined
    }

    func solve(_ slot: Int) -> Solution {
        if effects.allSatisfy({ $0.newer.edits[slot] == nil }) { return newer.initial(slot).map { .determined(.constant($0)) } ?? .never }
        if let constant = always(slot) { return .determined(.constant(constant)) }
        let (place, all) = (newer.layout.slots[slot], older.layout.slots.indices)
        // The slot with an equal name is the most likely one.
        for other in all.filter({ older.layout.slots[$0] == place }) + all.filter({ older.layout.slots[$0] != place }) {
            if let term = function(of: slot, by: other), beginsAlike(slot, term) { return .determined(term) }
        }
        if let term = function(of: slot, among: Array(all)), beginsAlike(slot, term) { return .determined(term) }
        return .undetermined
    }

    /// Whether the function maps the initial values of older rows to those of newer rows.
    private func beginsAlike(_ slot: Int, _ term: ValueTerm) -> Bool {
        let start = newer.initial(slot)
        // The effect of `init` depends on whether a value is present.
        if effects.contains(where: { $0.newer.edits[slot]?.contains { $0.kind == .initial } == true }) {
            let isThere = term.slots.allSatisfy { (older.initial($0) != nil) == (start != nil) }
            if !isThere { return false }
        }
        return RowMap.makes(start, of: term, from: older.start, older.layout)
    }

    /// The constant that every row has in a slot: either all folds that create a row write it, or it is the initial value.
    private func always(_ slot: Int) -> [UInt8]? {
        var value = newer.initial(slot)
        for effect in effects {
            guard let edits = effect.newer.edits[slot] else { continue }
            guard edits.count == 1, edits[0].within.isEmpty, edits[0].kind == .set || edits[0].kind == .initial,
                case .constant(let json)? = edits[0].term, value ?? json == json
            else { return nil }
            value = json
        }
        let isMade = newer.initial(slot) != nil || effects.allSatisfy { !$0.newer.makesRow || $0.newer.edits[slot] != nil }
        return isMade ? value : nil
    }

    /// The function of one older slot that is written exactly when this slot is.
    private func function(of slot: Int, by other: Int) -> ValueTerm? {
        var asked = Asked()
        for effect in effects {
            let (old, new) = (effect.older.edits[other] ?? [], effect.newer.edits[slot] ?? [])
            guard old.count == new.count else { return nil }
            for (old, new) in zip(old, new) {
                guard old.isClear, new.isClear, old.within == new.within, old.conditions == new.conditions,
                    ask(&asked, old, new, effect.newer.branch, other)
                else { return nil }
            }
        }
        return function(asked, of: slot, by: other)
    }

    /// The requirements that edits place on a function of one slot.
    private struct Asked {
        var keepsNull = false
        /// The result for arbitrary values, except those in `excluded`.
        var made: ValueTerm?
        var excluded: Set<[UInt8]>?
        /// Constants of the older fold, and the constants that they map to.
        var constants: [ValueTerm.Choice] = []
        /// Values of events, compared by meaning, and the constants that they map to.
        var values: [ValueTerm.Choice] = []

        /// Returns false if a different function was required before.
        mutating func make(_ term: ValueTerm, but others: Set<[UInt8]>) -> Bool {
            if made ?? term != term { return false }
            made = term
            excluded = excluded?.intersection(others) ?? others
            return true
        }
    }

    /// Records the requirement of one edit. Returns false if no function can satisfy it.
    private func ask(_ asked: inout Asked, _ old: TracedEdit, _ new: TracedEdit, _ branch: TracedBranch, _ slot: Int) -> Bool {
        if old.kind == new.kind {
            switch old.kind {
            case .unset where new.within.isEmpty: return true
            case .set where new.within.isEmpty, .initial where new.within.isEmpty: return askValue(&asked, old, new, branch, slot)
            case .count where new.within.isEmpty && new.term.map(branch.mayFail) == false: return asked.make(.slot(slot), but: [])
            default:
                return old.value == new.value && old.keep == new.keep && old.isInstant == new.isInstant
                    && asked.make(.slot(slot), but: [])
            }
        }
        // Both sides set a value, whatever it is on the older side.
        guard new.kind == .set || new.kind == .initial, old.kind != .unset, old.kind != .exclude, new.within.isEmpty,
            case .constant(let json)? = new.term
        else { return false }
        return asked.make(.constantBeside(.slot(slot), json), but: [])
    }

    private func askValue(_ asked: inout Asked, _ old: TracedEdit, _ new: TracedEdit, _ branch: TracedBranch, _ slot: Int) -> Bool {
        guard let before = old.term, let after = new.term else { return false }
        if case .constant(let to) = after {
            if case .constant(let from) = before {
                asked.constants.append(ValueTerm.Choice(from: from, to: to))
                return true
            }
            if let from = branch.meaning(of: before) {
                asked.values.append(ValueTerm.Choice(from: from, to: to))
                return true
            }
            return asked.make(.constantBeside(.slot(slot), to), but: branch.excluded(of: before))
        }
        if before == after { return asked.make(.slot(slot), but: branch.excluded(of: before)) }
        if branch.isNull(before), branch.isNull(after) {
            asked.keepsNull = true
            return true
        }
        let made = after.replacing { $0 == before ? .slot(slot) : nil }
        return branch.isMade(made, of: after) && asked.make(made, but: branch.excluded(of: before))
    }

    /// The function that satisfies all requirements.
    private func function(_ asked: Asked, of slot: Int, by other: Int) -> ValueTerm? {
        func keepsNull(_ term: ValueTerm) -> ValueTerm? { asked.keepsNull && !term.keepsNull ? nil : term }
        let all = asked.constants + asked.values
        let isSame = asked.values.isEmpty && asked.constants.allSatisfy { $0.from == $0.to }
        if let made = asked.made {
            if case .constantBeside(_, let json) = made, all.allSatisfy({ $0.to == json }) { return keepsNull(made) }
            if made == .slot(other), isSame { return made }
            if all.isEmpty { return keepsNull(made) }
            guard all.allSatisfy({ asked.excluded?.contains($0.from) == true }) else { return nil }
        } else {
            if isSame { return .slot(other) }
            if all.allSatisfy({ $0.to == all[0].to }) { return keepsNull(.constantBeside(.slot(other), all[0].to)) }
        }
        var choices = all
        if asked.made == nil, let from = older.initial(other), let to = newer.initial(slot) {
            choices.append(ValueTerm.Choice(from: from, to: to))
        }
        var table: [[UInt8]: [UInt8]] = [:]
        for choice in choices {
            // Tables do not change null.
            if table[choice.from] ?? choice.to != choice.to || choice.from == Array("null".utf8) && choice.to != choice.from { return nil }
            table[choice.from] = choice.to
        }
        let rows = table.map { ValueTerm.Choice(from: $0.key, to: $0.value) }.sorted { $0.from.lexicographicallyPrecedes($1.from) }
        return .chosen(.slot(other), rows, otherwise: asked.made)
    }

    /// The function of several older slots that are all written exactly when this slot is, and completely each time.
    private func function(of slot: Int, among others: [Int]) -> ValueTerm? {
        let together = others.filter { other in
            effects.allSatisfy { effect in
                let (old, new) = (effect.older.edits[other] ?? [], effect.newer.edits[slot] ?? [])
                guard old.count == new.count, old.count < 2 else { return false }
                return zip(old, new).allSatisfy { old, new in
                    old.kind == new.kind && (old.kind == .set || old.kind == .initial) && old.within.isEmpty && new.within.isEmpty
                        && old.isClear && new.isClear && old.conditions == new.conditions
                }
            }
        }
        var found: ValueTerm?
        for effect in effects {
            guard let edit = effect.newer.edits[slot]?.first else { continue }
            guard let after = edit.term else { return nil }
            let made = after.replacing { term in
                together.first { effect.older.edits[$0]?.first?.term == term }.map { .slot($0) }
            }
            guard effect.newer.branch.isMade(made, of: after), found ?? made == made else { return nil }
            found = made
        }
        return found.flatMap { $0.slots.isEmpty ? nil : $0 }
    }
}

extension TracedBranch {
    /// Whether a function depends only on slots and can't fail where a value is computed by it.
    /// - Parameter value: the value that the function computes.
    fileprivate func isMade(_ function: ValueTerm, of value: ValueTerm) -> Bool {
        function.leaves.allSatisfy { leaf in
            switch leaf {
            case .slot, .constant: true
            case .member, .source, .text, .prefix, .chosen, .list, .constantBeside: false
            }
        } && isTotal(function, value)
    }

    private func isTotal(_ function: ValueTerm, _ value: ValueTerm) -> Bool {
        switch (function, value) {
        case (.slot, _): true
        case (.text(let made), .text(let pieces)):
            zip(made, pieces).allSatisfy { made, piece in
                guard case (.value(let made), .value(let term)) = (made, piece) else { return true }
                return hasText(term) && isTotal(made, term)
            }
        case (.chosen(let made, _, _), .chosen(let term, _, _)), (.list(let made), .list(let term)): isTotal(made, term)
        case (.prefix, _): false
        default: true
        }
    }
}
