package import EventModel
package import JSONText
package import SchemaEvolution

package struct SchemaDiff: Sendable {
    package struct Change: Sendable {
        package let type: String
        /// Its names at the other version; empty if the type is new.
        package let was: [String]
        package let differences: [Difference]
    }

    package struct Difference: Sendable {
        package let pointer: JSONPointer
        /// `new`, `gone`, `type`, `format`, `stream`, `tag`, `wider`, `narrower`, `deprecated`.
        package let kind: String
        package let words: String
    }

    package let from, to: SchemaVersion
    /// Types of `to` that come from no type of `from`, and types of `from` that become none.
    package let added, removed: [String]
    /// The remaining types of `to` that differ or have another name.
    package let changed: [Change]
    package let unchanged: [String]
}

extension History {
    /// The differences of `to` compared with `from`, given in either order. Types are paired by what the steps make of them.
    package func diff(from: SchemaVersion, to: SchemaVersion) throws(EvstoreError) -> SchemaDiff {
        guard let old = self[from] else { throw unknown(from.description) }
        guard let new = self[to] else { throw unknown(to.description) }
        var ancestors: [Name: [String]] = [:]
        var removed: [String] = []
        for type in old.types {
            let became: [String]
            // If the steps have errors, types are paired by name.
            do { became = try path(type: type, born: from, to: to).types } catch { became = new.types.filter { $0.isSame(as: type) } }
            if became.isEmpty { removed.append(type) }
            for one in became { ancestors[one, default: []].append(type) }
        }
        var (added, unchanged): ([String], [String]) = ([], [])
        var changed: [SchemaDiff.Change] = []
        for type in new.types {
            guard let shape = new.events[type], let was = ancestors[type], let first = was.first, let before = old.events[first] else {
                added.append(type)
                continue
            }
            let differences = SchemaDiff.differences(before, shape)
            if differences.isEmpty, was.count == 1, first.isSame(as: type) {
                unchanged.append(type)
            } else {
                changed.append(.init(type: type, was: was, differences: differences))
            }
        }
        return SchemaDiff(from: from, to: to, added: added, removed: removed, changed: changed, unchanged: unchanged)
    }
}

extension SchemaDiff {
    /// The differences between two shapes, regardless of the steps between them.
    static func differences(_ old: EventShape, _ new: EventShape) -> [Difference] {
        var found = ShapeDifference.compare(old, new).map { difference in
            let place = difference.pointer
            let (was, noun) = (old.shape.memberNoun(at: place), new.shape.memberNoun(at: place))
            func format(_ shape: Shape) -> String { shape.shape(within: place)?.shape.format?.rawValue ?? "free text" }
            let (kind, words) =
                switch difference.kind {
                case .missing: ("new", "new: \(noun ?? "a member")")
                case .extra: ("gone", "gone: \(was ?? "a member")")
                case .type: ("type", "\(was ?? "") -> \(noun ?? "")")
                case .format: ("format", "\(format(old.shape)) -> \(format(new.shape))")
                case .stream: ("stream", "stream \(old.stream?.description ?? "any") -> \(new.stream?.description ?? "any")")
                case .wider: ("wider", difference.words)
                case .narrower: ("narrower", difference.words)
                }
            return Difference(pointer: place, kind: kind, words: words)
        }
        let (had, has) = (old.tags.map(\.description), new.tags.map(\.description))
        for tag in has where !had.has(tag) { found.append(Difference(pointer: JSONPointer(), kind: "tag", words: "new tag \(tag)")) }
        for tag in had where !has.has(tag) { found.append(Difference(pointer: JSONPointer(), kind: "tag", words: "tag gone: \(tag)")) }
        let before = Set(old.shape.pointers { $0.isDeprecated })
        for pointer in new.shape.pointers(where: { $0.isDeprecated }) where !before.contains(pointer) {
            found.append(Difference(pointer: pointer, kind: "deprecated", words: "deprecated"))
        }
        return found
    }
}
