internal import EventModel
internal import JSONText

/// Matches members that a version removes with members that it adds, in order to propose moves.
///
/// Two members form a pair if no other members share their name, nearly the same name, or their shape. If several members match, the author
/// must choose.
struct MemberMatching {
    typealias Pair = (from: JSONPointer, to: JSONPointer)

    struct Member {
        let place: JSONPointer
        let shape: Shape
        /// Whether the member is present in every event.
        let isAlways: Bool
    }

    private enum Likeness: Hashable {
        case shape(Shape, always: Bool)
        case kind(Shape.Kind)
    }

    /// The maximum number of name pairs that are compared.
    private static let comparedMax = 10_000
    private static let choicesMax = 5

    /// Old pointers by new pointers, and new pointers by old ones.
    private var origins: [JSONPointer: JSONPointer] = [:]
    private var targets: [JSONPointer: JSONPointer] = [:]
    /// The pairs, grouped by each pointer that equals or contains the new or the old pointer.
    private var arriving: [JSONPointer: [Pair]] = [:]
    private var leaving: [JSONPointer: [Pair]] = [:]
    /// The removed and the added members without a pair, except those inside a moved member.
    private var gone: [Member]
    private var new: [Member]
    private var goneByKind: [Shape.Kind: [Member]] = [:]
    private var newByKind: [Shape.Kind: [Member]] = [:]

    let made, declared: Shape

    init(_ differences: [ShapeDifference], made: Shape, declared: Shape) {
        (self.made, self.declared) = (made, declared)
        gone = differences.filter { $0.kind == .extra }.flatMap { Self.members(at: $0.pointer, made.shape(at: $0.pointer), in: made) }
        let missing = differences.filter { if case .missing = $0.kind { true } else { false } }
        new = missing.flatMap { Self.members(at: $0.pointer, declared.shape(at: $0.pointer), in: declared) }
        guard !gone.isEmpty, !new.isEmpty else { return }
        let roots = Set(differences.map(\.pointer))
        pair { $0.shape.properties.isEmpty ? nil : .shape($0.shape.bare, always: $0.isAlways) }
        pairByName()
        pairByNearName(roots)
        pair { roots.contains($0.place) ? .shape($0.shape.bare, always: $0.isAlways) : nil }
        pair { roots.contains($0.place) ? .kind($0.shape.kind) : nil }
        for (to, from) in origins.sorted(by: { $0.key.description < $1.key.description }) {
            for place in to.prefixes.dropFirst() { arriving[place, default: []].append((from, to)) }
            for place in from.prefixes.dropFirst() { leaving[place, default: []].append((from, to)) }
        }
        goneByKind = Dictionary(grouping: gone, by: \.shape.kind)
        newByKind = Dictionary(grouping: new.filter { roots.contains($0.place) }, by: \.shape.kind)
    }

    /// The pairs that move to this pointer or to one inside it.
    func moves(to place: JSONPointer) -> [Pair] { arriving[place] ?? [] }

    /// The pairs that move from this pointer or from one inside it.
    func moves(from place: JSONPointer) -> [Pair] { leaving[place] ?? [] }

    /// The members that may have moved to an unmatched new pointer.
    func candidates(for place: JSONPointer, _ shape: Shape?, isAlways: Bool) -> [JSONPointer] {
        (goneByKind[shape?.kind ?? .any] ?? []).lazy.filter { $0.isAlways || !isAlways }.prefix(Self.choicesMax).map(\.place)
    }

    /// The pointers to which an unmatched old member may have moved.
    func successors(of place: JSONPointer, _ shape: Shape?, isAlways: Bool) -> [JSONPointer] {
        (newByKind[shape?.kind ?? .any] ?? []).lazy.filter { isAlways || !$0.isAlways }.prefix(Self.choicesMax).map(\.place)
    }

    // MARK: Pairs

    /// Pairs members that are the only removed and the only added member with a given likeness.
    private mutating func pair(_ likeness: (Member) -> Likeness?) {
        func single(_ members: [Member]) -> [Likeness: Member] {
            var found: [Likeness: [Member]] = [:]
            for member in members { if let key = likeness(member) { found[key, default: []].append(member) } }
            return found.compactMapValues { $0.count == 1 ? $0[0] : nil }
        }
        let (before, after) = (single(gone), single(new))
        join(before.compactMap { key, member in after[key].map { (member, $0) } })
    }

    private mutating func pairByName() {
        let before = Dictionary(grouping: gone) { Name($0.place.last?.text ?? "") }
        let after = Dictionary(grouping: new) { Name($0.place.last?.text ?? "") }
        join(
            after.compactMap { name, members in
                guard members.count == 1, let others = before[name], others.count == 1 else { return nil }
                return others[0].shape.kind == members[0].shape.kind ? (others[0], members[0]) : nil
            })
    }

    private mutating func pairByNearName(_ roots: Set<JSONPointer>) {
        let after = new.filter { roots.contains($0.place) }
        guard gone.count * after.count <= Self.comparedMax else { return }
        let names = NearNames(gone.compactMap { $0.place.last?.text })
        let claims = after.compactMap { member -> (word: String, new: Member)? in
            member.place.last.flatMap { names.nearest(to: $0.text) }.map { ($0, member) }
        }
        // A name that is similar to two others matches neither.
        join(
            Dictionary(grouping: claims, by: \.word).compactMap { word, claims in
                let alike = gone.filter { $0.place.last?.text.isSame(as: word) ?? false }
                guard claims.count == 1, alike.count == 1, let old = alike.first, let new = claims.first?.new,
                    old.shape.kind == new.shape.kind || old.shape.kind == new.shape.items?.kind
                else { return nil }
                return (old, new)
            })
    }

    /// Adds pairs, outermost first, since members inside a paired member move with it.
    private mutating func join(_ pairs: [(old: Member, new: Member)]) {
        var isChanged = false
        for (old, new) in pairs.sorted(by: { $0.new.place.tokens.count < $1.new.place.tokens.count }) {
            guard old.isAlways || !new.isAlways, !Self.isWithin(old.place, targets), !Self.isWithin(new.place, origins) else { continue }
            (origins[new.place], targets[old.place], isChanged) = (old.place, new.place, true)
        }
        guard isChanged else { return }
        let (from, to) = (targets, origins)
        gone.removeAll { Self.isWithin($0.place, from) }
        new.removeAll { Self.isWithin($0.place, to) }
    }

    private static func isWithin(_ place: JSONPointer, _ known: [JSONPointer: JSONPointer]) -> Bool {
        place.prefixes.contains { known[$0] != nil }
    }

    /// A member and all members inside it, outermost first.
    private static func members(at place: JSONPointer, _ found: Shape?, in shape: Shape) -> [Member] {
        guard let found else { return [] }
        return [Member(place: place, shape: found, isAlways: shape.isRequired(at: place))]
            + found.properties.flatMap { members(at: place.appending(MemberName($0.name)), $0.shape, in: shape) }
    }
}
