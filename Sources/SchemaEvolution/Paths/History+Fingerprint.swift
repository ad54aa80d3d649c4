package import EventModel
package import Hashing
package import JSONText

extension History {
    /// The digest of what the steps at or below a version do to the types: what a fingerprint depends on. Where it is the same
    /// at two versions, every event, whatever it was born as, is seen as the same events of the types at both.
    ///
    /// Of each step, the newest first: the shapes of the types that take less than the ops make of older events, or that ops make
    /// something for without a proof that it fits; and the items that touch the types under the names that they have there, in
    /// either direction. What touches one that stands beside them as a part of one event counts as well: where a part has no image
    /// the whole event has none, and parts are numbered. Not covered are parts that a later step makes on the way down.
    ///
    /// Where only some members are read, the newest steps are left out that change none of these and that no event can fail: then it is
    /// the members that are the same at both versions, and not the events.
    /// - Parameter reading: what is read of a type's events, by its name at the version; nil where that is all of them.
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

/// What steps have in them that touches types, in the order of the steps.
struct StepSubjects {
    private(set) var found: [JSONValue] = []
    /// How much was found before the newest steps that change nothing of what is read.
    private var settled = 0
    /// Whether images are checked where they are seen, since steps, merges or adoption may have made what does not fit.
    private var isChecked: Bool
    /// Whether an item of the steps so far, or of the one that is looked at, gives streams other names.
    private var rekeys = false

    init(
        _ steps: [CompiledStep], _ types: Set<Name>, shapes history: History, reading: (Name) -> [JSONPointer]? = { _ in nil }
    ) {
        isChecked = history.versions.first?.adopt != nil
        var names = Self.names(of: types, in: steps)[...]
        var companions = Companions()
        for step in steps {
            // A name at the step's version is one behind all its items.
            rekeys = rekeys || step.step.rekeysStreams
            var isIdle = true
            for item in step.step.items {
                let before = names.removeFirst()
                let isNeutral = note(item, before, names.first ?? types, companions) { types.contains($0) ? reading($0) : [] }
                isIdle = isIdle && isNeutral
                if case .event(let op, _) = item.action { companions.cross(op) }
            }
            let after = names.first ?? types
            for type in Self.touched(after, companions, step.narrowed.union(step.unproved).contains).sorted() {
                guard let shape = history.shape(of: type.text, at: step.version)?.shape else { continue }
                found.append(.object([.init(name: "takes", value: .string(type.text)), .init(name: "only", value: shape.bare.canonical)]))
                (isChecked, isIdle) = (true, false)
            }
            if !isIdle { settled = found.count }
        }
        found.removeSubrange(settled...)
    }

    /// Whether ops change nothing that is read of the types, and no event can fail by them.
    private func areNeutral(_ entries: [OpEntry], _ types: [Name], _ reading: (Name) -> [JSONPointer]?) -> Bool {
        // Order: where images are checked, what does not fit may be what an op takes away or puts something else in the place of.
        if isChecked { return false }
        return types.map(reading).allSatisfy { read in
            guard let read else { return false }
            return entries.allSatisfy { entry in
                entry.op.isTotal && entry.op.writes.allSatisfy { write in !read.contains { $0.hasPrefix(write) || write.hasPrefix($0) } }
            }
        }
    }

    /// What the types are called before each item of the steps.
    private static func names(of types: Set<Name>, in steps: [CompiledStep]) -> [Set<Name>] {
        var names = types
        var found: [Set<Name>] = []
        for item in steps.reversed().lazy.flatMap({ $0.step.items.reversed() }) {
            if case .event(let op, _) = item.action, names.contains(where: { op.predecessors(of: $0.text) != nil }) {
                names = Set(of: names.flatMap { op.predecessors(of: $0.text) ?? [$0.text] })
            }
            found.append(names)
        }
        return found.reversed()
    }

    /// Those of the names, and of those that stand beside them, that are chosen.
    private static func touched(_ names: Set<Name>, _ companions: Companions, _ isChosen: (Name) -> Bool) -> [Name] {
        names.union(companions.of(names)).filter(isChosen)
    }

    /// Takes down what an item does to the types; returns whether that changes nothing of what is read.
    private mutating func note(
        _ item: Step.Item, _ before: Set<Name>, _ after: Set<Name>, _ companions: Companions, _ reading: (Name) -> [JSONPointer]?
    ) -> Bool {
        switch item.action {
        case .payload(let selection, let entries):
            let touched = Self.touched(after, companions) { selection.contains($0.text) }
            // A list of types does not depend on the others in it.
            guard !touched.isEmpty, case .object(let members) = item.node.json else { return true }
            found.append(
                .object(members.filter { $0.name != "on" } + [.init(name: "on", value: .array(touched.sorted().map { .string($0.text) }))]))
            noteNames(entries)
            return areNeutral(entries, touched, reading)
        case .reserve: return true
        case .event(let op, _):
            // The names of streams belong to every type.
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

    /// Rows that were made while an op that reads the stream's name read the one at the birth version are made anew.
    private mutating func noteNames(_ entries: [OpEntry]) {
        if rekeys, entries.contains(where: { $0.op.nested.contains { ($0 as? Add)?.readsStream == true } }) {
            found.append(.string("the stream's name at the step's version"))
        }
    }
}

/// Which types may stand beside which as parts of one event, or come of the same events by a member's value, at a place of the steps that
/// are crossed upwards. An event that has no image is listed for all that it might have been.
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
    /// The shape without what may change after a release, and without the order in which its file has its members: what the
    /// store keeps of the file has another.
    var bare: Shape {
        var shape = self
        (shape.description, shape.isDeprecated) = (nil, false)
        shape.properties = properties.map { Property($0.name, $0.shape.bare) }.sorted { Name($0.name) < Name($1.name) }
        if let items { shape.items = items.bare }
        if let additional { shape.additional = additional.bare }
        return shape
    }
}
