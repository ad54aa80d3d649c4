package import EventModel
package import Hashing
internal import JSONText
package import SchemaEvolution

/// All projections of a store, each with its definitions in the order of `since`: those from projection files and those in Swift.
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

        /// The definition as a store keeps it.
        var json: [UInt8] {
            switch self {
            case .declared(let projection): projection.json.canonical()
            case .swift(let declaration): declaration.json.canonical()
            }
        }
    }

    package static let empty = DefinitionSet()

    /// The definitions of each projection, oldest first; no two have equal `since`.
    private(set) var entries: [String: [Entry]] = [:]

    /// Sorted bytewise.
    package var names: [String] { entries.keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) } }

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

    package func through(_ version: SchemaVersion) -> DefinitionSet {
        var result = DefinitionSet()
        for (name, list) in entries { for entry in list where entry.since <= version { result.put(entry, named: name) } }
        return result
    }

    /// The rows that a store keeps: one for each name and `since`, in order.
    package var stored: [StoredDefinition] {
        names.flatMap { name in
            entries[name, default: []].map { StoredDefinition(name: name, since: $0.since, json: $0.json) }
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

    /// The definitions that apply at a version: one for each projection that exists there, in the order of names, and before them the index
    /// of tags if an event has any.
    package func definitions(at version: SchemaVersion, _ history: History) throws(EvstoreError) -> [Definition] {
        var result = [Self.tagIndex(at: version, history)].compactMap(\.self)
        for name in names {
            guard let entry = entries[name, default: []].last(where: { $0.since <= version }) else { continue }
            result.append(try Definition(entry, named: name, at: version, history))
        }
        return result
    }

    /// The index of the events' tags at a version; nil if no type has tags there.
    package static func tagIndex(at version: SchemaVersion, _ history: History) -> Definition? {
        let tags = history.types(at: version).map { (type: Name($0), tags: history.shape(of: $0, at: version)?.tags ?? []) }
        let tagged = tags.filter { !$0.tags.isEmpty }.sorted { $0.type < $1.type }
        return tagged.isEmpty ? nil : Definition(tags: tagged, at: version, history)
    }

    /// - Throws: `EvstoreError.unknownProjection`.
    package func definition(named name: String, at version: SchemaVersion, _ history: History) throws(EvstoreError) -> Definition {
        if name == Definition.tagIndexName, let index = Self.tagIndex(at: version, history) { return index }
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
}

extension DefinitionSet {
    /// Reads a projection file and checks it against the shapes of every version that its definitions span.
    /// - Throws: `EvstoreError.schemaInvalid` with all errors.
    package static func load(file path: String, history: History) throws(EvstoreError) -> DefinitionSet {
        try read(try FileReader.read(path: path), history: history)
    }

    /// Reads and checks a projection file given as text; `file` is the name in findings.
    package static func load(text: [UInt8], file: String, history: History) throws(EvstoreError) -> DefinitionSet {
        try read(try FileReader.read(text: text, file: file), history: history)
    }

    private static func read(_ root: FileNode, history: History) throws(EvstoreError) -> DefinitionSet {
        var problems: [Finding] = []
        var result = DefinitionSet()
        do throws(FileProblem) { try result.take(root, &problems) } catch { problems.add(error) }
        problems += result.check(against: history).filter { $0.severity == .error }
        if problems.hasErrors { throw .schemaInvalid(problems) }
        return result
    }

    private mutating func take(_ root: FileNode, _ problems: inout [Finding]) throws(FileProblem) {
        try root.map("a projection file", allowing: ["evstore", "projections"])
        let format = try root.required("evstore", of: "a projection file")
        guard try format.integer("evstore", from: 1) == 1 else {
            throw format.problem("this program knows format 1 of projection files", rule: FileRule.format, fix: "use a newer evstore")
        }
        for member in try root.required("projections", of: "a projection file").map("projections") {
            do throws(FileProblem) { try take(member, &problems) } catch { problems.add(error) }
        }
    }

    private mutating func take(_ projection: FileNode.Member, _ problems: inout [Finding]) throws(FileProblem) {
        let name = projection.name
        guard Self.isName(name) else {
            throw projection.problem("\(quoted(name)) is no name for a projection", fix: "letters, digits, _, - and . (the first a letter)")
        }
        var (previous, last): (FileNode?, SchemaVersion?) = (nil, nil)
        for node in try projection.value.list("the definitions of \(name)") {
            do throws(FileProblem) {
                try node.map("the definition of \(name)", allowing: DeclaredProjection.members)
                let sinceNode = try node.required("since", of: "the definition of \(name)")
                let since = SchemaVersion(try sinceNode.integer("since", from: 1, through: Int(Int32.max)))
                if let last, since <= last { throw sinceNode.problem("the definitions of \(name) must be in the order of since") }
                var complete = node
                if let like = node.member("like") {
                    guard case .string("previous") = like.kind else { throw like.problem("like must be previous") }
                    guard let previous else { throw like.problem("there is no definition of \(name) before this one") }
                    complete = try node.completed(from: previous)
                }
                (previous, last) = (complete, since)
                put(.declared(try DeclaredProjection(name: name, since: since, complete)), named: name)
            } catch { problems.add(error) }
        }
    }

    static func isName(_ text: String) -> Bool {
        let letters = { (byte: UInt8) in (65 ... 90).contains(byte) || (97 ... 122).contains(byte) }
        guard let first = text.utf8.first, letters(first), text.utf8.count <= 200 else { return false }
        return text.utf8.allSatisfy { letters($0) || (48 ... 57).contains($0) || [45, 46, 95].contains($0) }
    }

    /// The definitions that a store keeps.
    /// - Throws: `EvstoreError.schemaNewer` if a newer program registered a definition that this one can't read.
    package init(stored rows: [StoredDefinition]) throws(EvstoreError) {
        self.init()
        for row in rows {
            do {
                let file = "\(row.name)@\(row.since).json"
                let node = try FileReader.read(text: row.json, file: file)
                if let swift = node.member("swift") {
                    put(.swift(try SwiftDeclaration(name: row.name, since: row.since, swift)), named: row.name)
                } else {
                    put(.declared(try DeclaredProjection(name: row.name, since: row.since, node)), named: row.name)
                }
            } catch {
                throw .schemaNewer(version: row.since, reason: "the projection \(row.name): \(error)")
            }
        }
    }
}

/// A projection as defined at one version.
package struct Definition: Sendable {
    package let name: String
    /// The first version at which this definition applies.
    package let since: SchemaVersion
    /// The version for which it was looked up; types and pointers refer to this version.
    package let version: SchemaVersion
    package let consumes: Set<Name>
    /// Identifies generations: equal for versions at which the read models are equal.
    package let fingerprint: Digest
    /// The shape that every row must fit; nil if none is declared.
    package let rowShape: EventShape?
    package let indexes: RowIndexes
    let origin: Origin
    /// Nil if it is written in Swift and this program does not contain it.
    private let compile: (@Sendable (TagCodes) -> any Fold)?

    enum Origin {
        case declared(DeclaredProjection)
        case swift
        /// The tags that version files give events.
        case tags
    }

    /// The name of the index of tags: no projection can have it.
    package static let tagIndexName = "$tags"

    /// Increases with every change in what steps and folds produce from unchanged files and events.
    static let engine: UInt64 = 3

    init(_ entry: DefinitionSet.Entry, named name: String, at version: SchemaVersion, _ history: History) throws(EvstoreError) {
        (self.name, self.version, since) = (name, version, entry.since)
        let json = entry.json
        var reading: (Name) -> [JSONPointer]? = { _ in nil }
        switch entry {
        case .declared(let projection):
            consumes = projection.consumes
            indexes = RowIndexes(projection.indexes.map(\.index))
            rowShape = projection.row.map { EventShape(shape: $0) }
            compile = { _ in DeclarativeFold(projection, at: version, history) }
            reading = projection.reads
            origin = .declared(projection)
        case .swift(let declaration):
            consumes = declaration.consumes
            indexes = RowIndexes(declaration.indexes)
            rowShape = nil
            origin = .swift
            if let program = declaration.program { compile = { _ in SwiftFold(program) } } else { compile = nil }
        }
        fingerprint = Self.fingerprint(name, json, history.stepsDigest(for: consumes, at: version, reading: reading))
    }

    /// The index of tags: equal where types, tags and the members that they are made of are.
    fileprivate init(tags: [(type: Name, tags: [TagTemplate])], at version: SchemaVersion, _ history: History) {
        (name, self.version, since) = (Self.tagIndexName, version, version)
        (consumes, indexes, rowShape, origin) = (Set(tags.map(\.type)), .none, nil, .tags)
        compile = { codes in TagFold(tags, codes) }
        let pointers = Dictionary(uniqueKeysWithValues: tags.map { ($0.type, $0.tags.flatMap(\.pointers)) })
        let json = JSONValue.object(
            tags.map { type, tags in .init(name: type.text, value: .array(tags.map { .string($0.description) })) })
        fingerprint = Self.fingerprint(
            name, json.canonical(), history.stepsDigest(for: consumes, at: version) { pointers[$0] })
    }

    private static func fingerprint(_ name: String, _ json: [UInt8], _ steps: Digest) -> Digest {
        var hasher = SHA256Hasher()
        hasher.update(engine)
        hasher.update(UInt64(name.utf8.count))
        hasher.update(name)
        hasher.update(UInt64(json.count))
        hasher.update(json)
        hasher.update(steps.bytes)
        return hasher.finalize()
    }

    package var isSwift: Bool { if case .swift = origin { true } else { false } }

    var declared: DeclaredProjection? { if case .declared(let projection) = origin { projection } else { nil } }

    /// Whether this program can build and follow it.
    package var isAvailable: Bool { compile != nil }

    /// Makes a fold for one thread, since reference counting of a shared fold would be slow.
    /// - Throws: `EvstoreError.programNeeded`.
    func makeFold(_ codes: TagCodes) throws(EvstoreError) -> any Fold {
        guard let compile else { throw .programNeeded(what: "the projection \(name)") }
        return compile(codes)
    }
}
