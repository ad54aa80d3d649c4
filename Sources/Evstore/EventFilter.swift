internal import Bytes
internal import EventModel
internal import Hashing
internal import JSONText
internal import SchemaEvolution

/// A query, compiled for one version. Used by one thread at a time.
final class EventFilter {
    private struct Item {
        /// Nil for any type.
        let types: Set<Name>?
        /// The indexes of its tags among the wanted ones.
        let tags: [Int]
    }

    private let items: [Item]
    /// The tags that items name, without duplicates.
    let wanted: [[UInt8]]
    /// The indexes of the wanted tags with a checksum: mostly one.
    private let places: [UInt64: [Int]]
    private let history: History
    /// Nil where each event is seen at its birth version.
    private let version: SchemaVersion?
    /// The types, by their names at the version, whose images may match; nil for any.
    let types: Set<Name>?
    /// Nil for a type without tags.
    private var readers: [TypeAtVersion: TagReader?] = [:]
    /// Which of the wanted tags the current image has.
    private var has: [Bool]
    private var workspace = TagWorkspace()

    /// - Returns: nil where every event matches.
    /// - Throws: `EvstoreError`: usage for a query that says nothing, unknownType.
    init?(_ query: EventQuery, _ history: History, at version: SchemaVersion?) throws(EvstoreError) {
        try query.check()
        guard let given = query.items else { return nil }
        (self.history, self.version) = (history, version)
        var wanted: [[UInt8]] = []
        var tagged: Set<Name>?
        // Version 0 has no types of its own.
        if let version, version.rawValue > 0 {
            for type in given.flatMap(\.types) { _ = try history.requireShape(of: type, at: version) }
            tagged = Set(of: history.types(at: version).filter { history.shape(of: $0, at: version)?.tags.isEmpty == false })
        }
        items = given.map { item in
            let named = item.types.isEmpty ? nil : Set(of: item.types)
            let tags = Set(item.tags.map { Array($0.utf8) }).map { tag -> Int in
                if let known = wanted.firstIndex(of: tag) { return known }
                wanted.append(tag)
                return wanted.count - 1
            }
            guard !tags.isEmpty, let tagged else { return Item(types: named, tags: tags) }
            // Events without tags can't match.
            return Item(types: named?.intersection(tagged) ?? tagged, tags: tags)
        }
        self.wanted = wanted
        places = Dictionary(grouping: wanted.indices) { [wanted] index in
            let tag = wanted[index]
            return checksum(tag.lent)
        }
        has = [Bool](repeating: false, count: wanted.count)
        let all = items.map(\.types)
        types = all.contains(nil) ? nil : all.reduce(into: []) { $0.formUnion($1 ?? []) }
    }

    /// Requires that each tag can be one of an event of the version: whoever waits for events must not wait for ever.
    /// - Throws: `EvstoreError.usage`.
    func requirePossible() throws(EvstoreError) {
        guard let version else { return }
        let templates = history.types(at: version).flatMap { history.shape(of: $0, at: version)?.tags ?? [] }
        for tag in wanted.map({ String(decoding: $0, as: UTF8.self) }) where !templates.contains(where: { $0.canMake(tag) }) {
            let known = Set(of: templates.map(\.description)).sorted().map(\.text)
            throw .usage(
                "no event has the tag \(quoted(tag)) at \(version): "
                    + (known.isEmpty ? "it gives events no tags" : "its tags are \(known.joined(separator: ", "))"))
        }
    }

    /// An item that an image matches; nil where it matches none.
    /// - Parameters:
    ///   - born: the version at which it is seen where the filter has none.
    ///   - stream: the stream's name there; called only where a tag has it.
    func item(
        of image: borrowing Image, born: SchemaVersion, stream: () throws -> StreamName
    ) throws -> Int? {
        let type = Name(image.type)
        var mayMatch = false
        for (index, item) in items.enumerated() where item.types?.contains(type) ?? true {
            if item.tags.isEmpty { return index }
            mayMatch = true
        }
        guard mayMatch, let reader = reader(of: TypeAtVersion(type: image.type, version: version ?? born)) else { return nil }
        for index in has.indices { has[index] = false }
        reader.forEachTag(of: image.payload, in: reader.readsStream ? try stream().text : "", &workspace) { tag in
            for index in places[checksum(tag)] ?? [] {
                let known = wanted[index]
                if tag.equals(known.lent) { has[index] = true }
            }
        }
        return items.firstIndex { item in (item.types?.contains(type) ?? true) && item.tags.allSatisfy { has[$0] } }
    }

    private func reader(of type: TypeAtVersion) -> TagReader? {
        if let known = readers[type] { return known }
        let tags = history.shape(of: type.type, at: type.version)?.tags ?? []
        let reader = tags.isEmpty ? nil : TagReader(tags)
        readers[type] = reader
        return reader
    }
}
