internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Finds of which slots of an older row a slot of the newer one is made, and how.
struct SlotSolver {
    /// What each fold does, on each way of images, at both versions.
    let sites: [(older: FoldSide.Site, newer: FoldSide.Site)]
    let older, newer: RowSlots

    enum Solution {
        /// No newer row has it.
        case never
        case told(Term)
        /// The older row does not tell it.
        case untold
    }

    func solve(_ slot: Int) -> Solution {
        if sites.allSatisfy({ $0.newer.edits[slot] == nil }) { return newer.initial(slot).map { .told(.constant($0)) } ?? .never }
        if let constant = always(slot) { return .told(.constant(constant)) }
        let (place, all) = (newer.layout.slots[slot], older.layout.slots.indices)
        // The slot of the same name is the likeliest.
        for other in all.filter({ older.layout.slots[$0] == place }) + all.filter({ older.layout.slots[$0] != place }) {
            if let term = function(of: slot, by: other), beginsAlike(slot, term) { return .told(term) }
        }
        if let term = function(of: slot, among: Array(all)), beginsAlike(slot, term) { return .told(term) }
        return .untold
    }

    /// Whether new rows begin with what the function makes of what older ones begin with.
    private func beginsAlike(_ slot: Int, _ term: Term) -> Bool {
        let start = newer.initial(slot)
        // What `init` does depends on what is there.
        if sites.contains(where: { $0.newer.edits[slot]?.contains { $0.kind == .initial } == true }) {
            let isThere = term.slots.allSatisfy { (older.initial($0) != nil) == (start != nil) }
            if !isThere { return false }
        }
        return RowMap.makes(start, of: term, from: older.start, older.layout)
    }

    /// The constant that each row has in a slot: all that make a row write it, or it has it from its beginning.
    private func always(_ slot: Int) -> [UInt8]? {
        var value = newer.initial(slot)
        for site in sites {
            guard let edits = site.newer.edits[slot] else { continue }
            guard edits.count == 1, edits[0].within.isEmpty, edits[0].kind == .set || edits[0].kind == .initial,
                case .constant(let json)? = edits[0].term, value ?? json == json
            else { return nil }
            value = json
        }
        let isMade = newer.initial(slot) != nil || sites.allSatisfy { !$0.newer.makesRow || $0.newer.edits[slot] != nil }
        return isMade ? value : nil
    }

    /// How a slot is made of one older slot that is written exactly when it is.
    private func function(of slot: Int, by other: Int) -> Term? {
        var asked = Asked()
        for site in sites {
            let (old, new) = (site.older.edits[other] ?? [], site.newer.edits[slot] ?? [])
            guard old.count == new.count else { return nil }
            for (old, new) in zip(old, new) {
                guard old.isClear, new.isClear, old.within == new.within, old.conditions == new.conditions,
                    ask(&asked, old, new, site.newer.way, other)
                else { return nil }
            }
        }
        return function(asked, of: slot, by: other)
    }

    /// What edits ask of a function of one slot.
    private struct Asked {
        var keepsNull = false
        /// What becomes of values that may be any, but for those of `excluded`.
        var made: Term?
        var excluded: Set<[UInt8]>?
        /// Constants of the older fold, and what they become.
        var constants: [Term.Choice] = []
        /// Values of events, whatever their spelling, and what they become.
        var values: [Term.Choice] = []

        /// False where another one was asked for.
        mutating func make(_ term: Term, but others: Set<[UInt8]>) -> Bool {
            if made ?? term != term { return false }
            made = term
            excluded = excluded?.intersection(others) ?? others
            return true
        }
    }

    /// Notes what one edit asks; false where no function does what it does.
    private func ask(_ asked: inout Asked, _ old: SiteEdit, _ new: SiteEdit, _ way: TracedWay, _ slot: Int) -> Bool {
        if old.kind == new.kind {
            switch old.kind {
            case .unset where new.within.isEmpty: return true
            case .set where new.within.isEmpty, .initial where new.within.isEmpty: return askValue(&asked, old, new, way, slot)
            case .count where new.within.isEmpty && new.term.map(way.mayFail) == false: return asked.make(.slot(slot), but: [])
            default:
                return old.value == new.value && old.keep == new.keep && old.isInstant == new.isInstant
                    && asked.make(.slot(slot), but: [])
            }
        }
        // Something is there on both sides, whatever it is on the older one.
        guard new.kind == .set || new.kind == .initial, old.kind != .unset, old.kind != .exclude, new.within.isEmpty,
            case .constant(let json)? = new.term
        else { return false }
        return asked.make(.constantBeside(.slot(slot), json), but: [])
    }

    private func askValue(_ asked: inout Asked, _ old: SiteEdit, _ new: SiteEdit, _ way: TracedWay, _ slot: Int) -> Bool {
        guard let before = old.term, let after = new.term else { return false }
        if case .constant(let to) = after {
            if case .constant(let from) = before {
                asked.constants.append(Term.Choice(from: from, to: to))
                return true
            }
            if let from = way.meaning(of: before) {
                asked.values.append(Term.Choice(from: from, to: to))
                return true
            }
            return asked.make(.constantBeside(.slot(slot), to), but: way.excluded(of: before))
        }
        if before == after { return asked.make(.slot(slot), but: way.excluded(of: before)) }
        if way.isNull(before), way.isNull(after) {
            asked.keepsNull = true
            return true
        }
        let made = after.replacing { $0 == before ? .slot(slot) : nil }
        return way.isMade(made, of: after) && asked.make(made, but: way.excluded(of: before))
    }

    /// The function that does all that is asked.
    private func function(_ asked: Asked, of slot: Int, by other: Int) -> Term? {
        func keepsNull(_ term: Term) -> Term? { asked.keepsNull && !term.keepsNull ? nil : term }
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
            choices.append(Term.Choice(from: from, to: to))
        }
        var table: [[UInt8]: [UInt8]] = [:]
        for choice in choices {
            // Tables leave null alone.
            if table[choice.from] ?? choice.to != choice.to || choice.from == Array("null".utf8) && choice.to != choice.from { return nil }
            table[choice.from] = choice.to
        }
        let rows = table.map { Term.Choice(from: $0.key, to: $0.value) }.sorted { $0.from.lexicographicallyPrecedes($1.from) }
        return .chosen(.slot(other), rows, otherwise: asked.made)
    }

    /// How a slot is made of several older slots that are all written exactly when it is, each time anew.
    private func function(of slot: Int, among others: [Int]) -> Term? {
        let together = others.filter { other in
            sites.allSatisfy { site in
                let (old, new) = (site.older.edits[other] ?? [], site.newer.edits[slot] ?? [])
                guard old.count == new.count, old.count < 2 else { return false }
                return zip(old, new).allSatisfy { old, new in
                    old.kind == new.kind && (old.kind == .set || old.kind == .initial) && old.within.isEmpty && new.within.isEmpty
                        && old.isClear && new.isClear && old.conditions == new.conditions
                }
            }
        }
        var found: Term?
        for site in sites {
            guard let edit = site.newer.edits[slot]?.first else { continue }
            guard let after = edit.term else { return nil }
            let made = after.replacing { term in
                together.first { site.older.edits[$0]?.first?.term == term }.map { .slot($0) }
            }
            guard site.newer.way.isMade(made, of: after), found ?? made == made else { return nil }
            found = made
        }
        return found.flatMap { $0.slots.isEmpty ? nil : $0 }
    }
}

extension TracedWay {
    /// Whether a function needs nothing but slots, and can't fail where a value is made by it.
    /// - Parameter value: what the function stands for.
    fileprivate func isMade(_ function: Term, of value: Term) -> Bool {
        function.leaves.allSatisfy { leaf in
            switch leaf {
            case .slot, .constant: true
            case .member, .source, .text, .prefix, .chosen, .list, .constantBeside: false
            }
        } && isTotal(function, value)
    }

    private func isTotal(_ function: Term, _ value: Term) -> Bool {
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
