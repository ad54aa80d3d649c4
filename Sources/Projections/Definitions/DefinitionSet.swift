internal import Bytes
package import EventModel
package import Hashing
internal import JSONText
package import SchemaEvolution

/// All projections of a store, each with its definitions in the order of `since`: those from projection files and those that programs
/// define in Swift.
package struct DefinitionSet: Sendable {
    enum Entry: Sendable {
        case declared(DeclaredProjection)
        case swift(SwiftDeclaration)

        var since: SchemaVersion {
            switch self {
            case .declared(let projection): projection.since
            case .swift(let declaration): declaration.since
            }
        }
    }

    package static let empty = DefinitionSet()

    /// The definitions of each projection, oldest first; no two have equal `since`.
    private(set) var entries: [String: [Entry]] = [:]

    init() {}

    /// Sorted bytewise.
    package var names: [String] { entries.keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }

    package var isEmpty: Bool { entries.isEmpty }

    /// Adds a definition, which replaces one with equal name and `since`.
    mutating func put(_ entry: Entry, named name: String) {
        var list = entries[name, default: []].filter { $0.since != entry.since }
        list.append(entry)
        entries[name] = list.sorted { $0.since < $1.since }
    }

    /// This set with the projections of a program, which replace registered ones of equal name.
    package func adding(_ projections: [any SwiftProjection]) -> DefinitionSet {
        var result = self
        for projection in projections {
            result.put(.swift(SwiftDeclaration(projection)), named: projection.name)
        }
        return result
    }

    /// This set merged with another one, whose definitions replace those with equal name and `since`.
    package func merging(_ others: DefinitionSet) -> DefinitionSet {
        var result = self
        for (name, list) in others.entries { for entry in list { result.put(entry, named: name) } }
        return result
    }

    /// The definitions whose `since` is at or below a version.
    package func through(_ version: SchemaVersion) -> DefinitionSet {
        var result = DefinitionSet()
        for (name, list) in entries { for entry in list where entry.since <= version { result.put(entry, named: name) } }
        return result
    }

    /// The rows that a store keeps: one for each name and `since`, in order.
    package var stored: [StoredDefinition] {
        names.flatMap { name in
            entries[name, default: []].map { entry in
                switch entry {
                case .declared(let projection): StoredDefinition(name: name, since: entry.since, json: projection.json.canonical())
                case .swift(let declaration): StoredDefinition(name: name, since: entry.since, json: declaration.json.canonical())
                }
            }
        }
    }

    /// SHA-256 over the names, versions and definitions.
    package var digest: Digest {
        var hasher = SHA256Hasher()
        for row in stored {
            hasher.update(UInt64(row.name.utf8.count))
            hasher.update(row.name)
            hasher.update(UInt64(row.since.rawValue))
            hasher.update(UInt64(row.json.count))
            hasher.update(row.json)
        }
        return hasher.finalize()
    }

    /// The definitions that apply at a version: one for each projection that exists there, in the order of names.
    package func definitions(at version: SchemaVersion, _ history: History) throws(EvstoreError) -> [Definition] {
        var result: [Definition] = []
        for name in names {
            guard let entry = entries[name, default: []].last(where: { $0.since <= version }) else { continue }
            result.append(try Definition(entry, named: name, at: version, history))
        }
        return result
    }

    /// - Throws: `EvstoreError.unknownProjection`.
    package func definition(named name: String, at version: SchemaVersion, _ history: History) throws(EvstoreError) -> Definition {
        guard let entry = entries[name]?.last(where: { $0.since <= version }) else {
            let known = names.filter { name in entries[name, default: []].contains { $0.since <= version } }
            throw .unknownProjection(name, known: known)
        }
        return try Definition(entry, named: name, at: version, history)
    }
}

/// A definition as a store keeps it: RFC 8785 of the projection file's definition, without `since`.
package struct StoredDefinition: Hashable, Sendable {
    package var name: String
    package var since: SchemaVersion
    package var json: [UInt8]

    package init(name: String, since: SchemaVersion, json: [UInt8]) { (self.name, self.since, self.json) = (name, since, json) }
}
