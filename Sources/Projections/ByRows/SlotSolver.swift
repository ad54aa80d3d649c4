internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Finds of which slots of an older row a slot of the newer one is made, and how.
struct SlotSolver {
    /// What each fold does, on each way of images, at both versions.
    let sites: [(older: FoldSide.Site, newer: FoldSide.Site)]
    let older, newer: RowSlots

    /// Nil where the older row does not tell it.
    func solve(_ slot: Int) -> RowMap.Slot? {
        if sites.allSatisfy({ $0.newer.edits[slot] == nil }) { return newer.initial(slot).map { .constant($0) } ?? .absent }
        if let constant = always(slot) { return .constant(constant) }
        let place = newer.layout.slots[slot]
        let candidates = older.layout.slots.indices.sorted { a, _ in older.layout.slots[a] == place }
        for other in candidates {
            guard let made = function(of: slot, by: other), hasSameStart(slot, made) else { continue }
            return made
        }
        guard let made = function(of: slot, among: candidates), hasSameStart(slot, made) else { return nil }
        return made
    }

    /// Whether new rows begin with what the function makes of what older ones begin with.
    private func hasSameStart(_ slot: Int, _ made: RowMap.Slot) -> Bool {
        RowMap.makes(newer.initial(slot), of: made, from: older.start, older.layout)
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
    private func function(of slot: Int, by other: Int) -> RowMap.Slot? {
        var (found, keepsNull, turned): (Term?, Bool, [Term.Choice]) = (nil, false, [])
        // What no value is of which `found` makes another one.
        var excluded: Set<[UInt8]>?
        for site in sites {
            let (old, new) = (site.older.edits[other] ?? [], site.newer.edits[slot] ?? [])
            guard old.count == new.count else { return nil }
            for (old, new) in zip(old, new) {
                guard old.isClear, new.isClear, old.within == new.within, old.conditions == new.conditions else { return nil }
                guard let step = step(old, new, site.newer.way, other) else { return nil }
                switch step {
                case .free: break
                case .null: keepsNull = true
                case .turned(let choice): turned.append(choice)
                case .made(let term):
                    if found ?? term != term { return nil }
                    found = term
                    let others = old.term.map(site.newer.way.excluded(of:)) ?? []
                    excluded = excluded?.intersection(others) ?? others
                }
            }
        }
        guard let term = function(found, turned, slot, other, excluded ?? []) else { return nil }
        if keepsNull, !term.keepsNull { return nil }
        if case .constant(let json) = term { return .beside(other, json) }
        return RowMap.Slot(term)
    }

    /// The function that makes what was found, and of some values what they are turned into.
    private func function(
        _ found: Term?, _ turned: [Term.Choice], _ slot: Int, _ other: Int, _ excluded: Set<[UInt8]>
    ) -> Term? {
        if let found {
            if turned.allSatisfy({ found == .constant($0.to) || found == .slot(other) && $0.from == $0.to }) { return found }
            guard turned.allSatisfy({ excluded.contains($0.from) }) else { return nil }
        } else {
            if turned.allSatisfy({ $0.from == $0.to }) { return .slot(other) }
            if turned.allSatisfy({ $0.to == turned[0].to }) { return .constant(turned[0].to) }
        }
        var choices = turned
        if found == nil, let from = older.initial(other), let to = newer.initial(slot) { choices.append(Term.Choice(from: from, to: to)) }
        var table: [[UInt8]: [UInt8]] = [:]
        for choice in choices {
            // Tables leave null alone.
            if table[choice.from] ?? choice.to != choice.to || choice.from == Array("null".utf8) && choice.to != choice.from { return nil }
            table[choice.from] = choice.to
        }
        let rows = table.map { Term.Choice(from: $0.key, to: $0.value) }.sorted { $0.from.lexicographicallyPrecedes($1.from) }
        return .chosen(.slot(other), rows, otherwise: found)
    }

    private enum Step {
        /// Any function will do.
        case free
        /// Any that keeps null.
        case null
        /// One constant becomes another one.
        case turned(Term.Choice)
        case made(Term)
    }

    /// What one edit asks of the function; nil where none does what it does.
    private func step(_ old: SiteEdit, _ new: SiteEdit, _ way: TracedWay, _ slot: Int) -> Step? {
        if old.kind == new.kind {
            switch old.kind {
            case .unset where new.within.isEmpty: return .free
            case .set where new.within.isEmpty, .initial where new.within.isEmpty: return made(old, new, way, slot)
            case .count where new.within.isEmpty: return .made(.slot(slot))
            default: return old.value == new.value && old.keep == new.keep && old.isInstant == new.isInstant ? .made(.slot(slot)) : nil
            }
        }
        // Something is there on both sides, whatever it is on the older one.
        guard new.kind == .set || new.kind == .initial, old.kind != .unset, old.kind != .exclude, new.within.isEmpty,
            case .constant? = new.term
        else { return nil }
        return new.term.map { .made($0) }
    }

    private func made(_ old: SiteEdit, _ new: SiteEdit, _ way: TracedWay, _ slot: Int) -> Step? {
        guard let before = old.term, let after = new.term else { return nil }
        if case .constant(let to) = after {
            if case .constant(let from) = before { return .turned(Term.Choice(from: from, to: to)) }
            if let from = way.meaning(of: before) { return .turned(Term.Choice(from: from, to: to)) }
        }
        if before == after { return .made(.slot(slot)) }
        if way.isNull(before), way.isNull(after) { return .null }
        let made = after.replacing { $0 == before ? .slot(slot) : nil }
        return way.isMade(made, of: after) ? .made(made) : nil
    }

    /// How a slot is made of several older slots that are all written exactly when it is, each time anew.
    private func function(of slot: Int, among others: [Int]) -> RowMap.Slot? {
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
        return found.map { RowMap.Slot($0) }
    }
}

extension RowMap.Slot {
    init(_ term: Term) {
        switch term {
        case .slot(let slot): self = .kept(slot)
        default: self = .made(term)
        }
    }
}

extension TracedWay {
    /// Whether a function needs nothing but slots, and can't fail where a value is made by it.
    /// - Parameter value: what the function stands for.
    fileprivate func isMade(_ function: Term, of value: Term) -> Bool {
        function.leaves.allSatisfy { leaf in
            switch leaf {
            case .slot, .constant: true
            case .member, .source, .text, .prefix, .chosen, .list: false
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
