package import EventModel
package import Hashing
package import JSONText

extension History {
    /// The digest of everything that the steps at or below a version do to the types, on which a fingerprint depends. If it is equal at two
    /// versions, every event, whatever its birth version, is seen as the same events of the types at both.
    ///
    /// For each step, newest first, it covers the shapes of types that accept less than the ops produce from older events, or for which ops
    /// produce something without a proof that it fits. It also covers the items that affect the types under the names that they have there,
    /// in either direction. Items that affect a type whose events may be parts of the same event are included too: if one part has no
    /// image, the whole event has none, and parts are numbered. Parts that a later step produces on the way down are not covered.
    ///
    /// If only some members are read, the newest steps that change none of them and that can't refuse an event are left out. Equal digests
    /// then mean that these members are equal at both versions, not the whole events.
    /// - Parameter reading: the members that are read of a type's events, given its name at the version; nil means all of them.
    package func stepsDigest(
        for types: Set<Name>, at version: SchemaVersion, reading: (Name) -> [JSONPointer]? = { _ in nil }
    ) -> Digest {
        var hasher = SHA256Hasher()
        if let adopt = versions.first?.adopt { hasher.update(adopt.json.canonical()) }
        let steps = chain.steps.filter { $0.version <= version }
        for subject in StepSubjects(steps, types, shapes: self, reading: reading).found.reversed() {
            let text = subject.canonical()
            hasher.update(UInt64(text.count))
            hasher.update(text)
        }
        return hasher.finalize()
    }
}

/// The content of steps that affects given types, in the order of the steps.
struct StepSubjects {
    private(set) var found: [JSONValue] = []
    /// The number of subjects before the newest steps that change nothing that is read.
    private var settled = 0
    /// Whether images are validated when they are read, since steps, merges or adoption may have produced something that does not fit.
    private var isChecked: Bool
    /// Whether an item of the steps so far, including the current one, renames streams.
    private var rekeys = false

    init(
        _ steps: [CompiledStep], _ types: Set<Name>, shapes history: History, reading: (Name) -> [JSONPointer]? = { _ in nil }
    ) {
        isChecked = history.versions.first?.adopt != nil
        var names = Self.names(of: types, in: steps)[...]
        var companions = Companions()
        for step in steps {
            // The name at the step's version is the name after all of its items.
            rekeys = rekeys || step.step.rekeysStreams
            var isIdle = true
            for item in step.step.items {
                let before = names.removeFirst()
                let isNeutral = note(item, before, names.first ?? types, companions) { types.contains($0) ? reading($0) : [] }
                isIdle = isIdle && isNeutral
                if case .event(let entry) = item.action { companions.cross(entry.op) }
            }
            let after = names.first ?? types
            for type in Self.touched(after, companions, step.narrowed.union(step.unproved)).sorted() {
                guard let shape = history.shape(of: type.text, at: step.version)?.shape else { continue }
                found.append(.object([.init(name: "takes", value: .string(type.text)), .init(name: "only", value: shape.bare.canonical)]))
                (isChecked, isIdle) = (true, false)
            }
            if !isIdle { settled = found.count }
        }
        found.removeSubrange(settled...)
    }

    /// Whether ops change nothing that is read of the types and can't refuse an event.
    private func areNeutral(_ entries: [OpEntry], _ types: [Name], _ reading: (Name) -> [JSONPointer]?) -> Bool {
        // Order: this comes before the comparison of members, since an op may remove or replace the very value that does not fit.
        if isChecked { return false }
        return types.map(reading).allSatisfy { read in
            guard let read else { return false }
            return entries.allSatisfy { entry in
                entry.op.isTotal && entry.op.writes.allSatisfy { write in !read.contains { $0.hasPrefix(write) || write.hasPrefix($0) } }
            }
        }
    }

    /// The names of the types before each item of the steps.
    private static func names(of types: Set<Name>, in steps: [CompiledStep]) -> [Set<Name>] {
        var names = types
        var found: [Set<Name>] = []
        for item in steps.reversed().lazy.flatMap({ $0.step.items.reversed() }) {
            if case .event(let entry) = item.action, names.contains(where: { entry.op.predecessors(of: $0.text) != nil }) {
                names = Set(of: names.flatMap { entry.op.predecessors(of: $0.text) ?? [$0.text] })
            }
            found.append(names)
        }
        return found.reversed()
    }

    /// The types among the names and their companions that are chosen; nil chooses all.
    private static func touched(_ names: Set<Name>, _ companions: Companions, _ chosen: Set<Name>?) -> [Name] {
        let present = names.union(companions.of(names))
        // A step has an item for each of many types: the few that are chosen are looked up among all.
        return Array(chosen?.filter(present.contains) ?? present)
    }

    /// Records what an item does to the types. Returns whether the item changes nothing that is read.
    private mutating func note(
        _ item: StepItem, _ before: Set<Name>, _ after: Set<Name>, _ companions: Companions, _ reading: (Name) -> [JSONPointer]?
    ) -> Bool {
        switch item.action {
        case .payload(let selection, let entries):
            let touched = Self.touched(after, companions, selection.names)
            // The digest for one type must not depend on the other types in the list.
            guard !touched.isEmpty, case .object(let members) = item.node.json else { return true }
            found.append(
                .object(members.filter { $0.name != "on" } + [.init(name: "on", value: .array(touched.sorted().map { .string($0.text) }))]))
            noteNames(entries)
            return areNeutral(entries, touched, reading)
        case .reserve: return true
        case .event(let entry):
            // Stream names affect every type.
            let op = entry.op
            let isTouched =
                op is Rekey && !after.isEmpty || after.contains { op.touches($0.text) }
                || companions.of(before).contains { op.successors(of: $0.text) != nil }
            guard isTouched else { return true }
            isChecked = isChecked || op is MergeEvents
            found.append(item.node.json)
            noteNames(op.inner)
            return false
        }
    }

    /// Distinguishes rows that were built when ops read the stream name at the birth version instead of the name at the step's version, so
    /// that they are rebuilt.
    private mutating func noteNames(_ entries: [OpEntry]) {
        if rekeys, entries.contains(where: { $0.op.nested.contains { ($0 as? Add)?.readsStream == true } }) {
            found.append(.string("the stream's name at the step's version"))
        }
    }
}

/// The types whose events may be parts of the same event, or may come from the same events by a member's value, at one point while steps
/// are crossed upwards. An event without an image is listed for all types that it could have had.
private struct Companions {
    private var beside: [Name: Set<Name>] = [:]

    func of(_ names: Set<Name>) -> Set<Name> {
        beside.isEmpty ? [] : names.reduce(into: []) { $0.formUnion(beside[$1] ?? []) }
    }

    mutating func cross(_ op: any EventOp) {
        let parted = (op as? SplitEvent).map { Name($0.type) } ?? (op as? RenameEvent).flatMap { $0.dispatches ? Name($0.from) : nil }
        for type in Set(beside.keys).union([parted].compactMap(\.self)) {
            guard let successors = op.successors(of: type.text).map(Set.init(of:)) else { continue }
            let companions = beside.removeValue(forKey: type) ?? []
            for other in companions {
                beside[other]?.remove(type)
                beside[other]?.formUnion(successors)
            }
            for one in successors {
                beside[one, default: []].formUnion(type == parted ? companions.union(successors) : companions)
                beside[one]?.remove(one)
            }
        }
    }
}

extension Shape {
    /// The shape without what may change after a release and without the order of members in the file, which the store does not preserve.
    var bare: Shape { ordered { ($0.description, $0.isDeprecated) = (nil, false) } }
}
