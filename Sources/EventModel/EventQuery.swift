/// Which events are asked for: those that at least one of its items matches, or all.
///
/// An event matches as it is seen at the version of the read: by the name that its type has there, and by the tags that the version file
/// gives it. Where a step has split an event, each part has its own type and tags; where one has merged several, the merged event has its
/// own.
///
///     let query: EventQuery = [
///         .init(types: ["StudentEnrolled"], tags: ["course:c1"]),
///         .init(tags: ["student:s7"]),
///     ]
public struct EventQuery: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// Matches an event whose type is one of `types`, where there are any, and that has all `tags`.
    public struct Item: Hashable, Sendable {
        /// Names of types at the version; empty for any type.
        public var types: [String]
        /// Compared byte by byte; empty for any tags.
        public var tags: [String]

        public init(types: [String] = [], tags: [String] = []) { (self.types, self.tags) = (types, tags) }

        // Bytewise: texts that are canonically equivalent are different names and tags.
        public static func == (a: Item, b: Item) -> Bool { a.names == b.names }

        public func hash(into hasher: inout Hasher) { hasher.combine(names) }

        private var names: [[Name]] { [types.map { Name($0) }, tags.map { Name($0) }] }
    }

    /// Nil where every event matches.
    public let items: [Item]?

    /// The most items of a query, types of an item and tags of an item.
    public static let (itemsMax, typesMax, tagsMax) = (64, 64, 32)

    /// Every event. A query without items is refused instead: stores read it in opposite ways.
    public static let all = EventQuery()

    private init() { items = nil }

    public init(_ items: [Item]) { self.items = items }

    public init(arrayLiteral elements: Item...) { items = elements }

    /// The events of one type.
    public static func type(_ type: String) -> EventQuery { [.init(types: [type])] }

    /// The events of any of these types.
    public static func types(_ types: [String]) -> EventQuery { [.init(types: types)] }

    /// The events that have all of these tags.
    public static func tags(_ tags: String...) -> EventQuery { [.init(tags: tags)] }

    /// Requires items that each say something, within the limits.
    /// - Throws: `EvstoreError.usage`.
    package func check() throws(EvstoreError) {
        guard let items else { return }
        if items.isEmpty { throw .usage("a query without items is no query: all events are .all") }
        if items.count > Self.itemsMax { throw .usage("the query has \(items.count) items; \(Self.itemsMax) are the most") }
        for item in items {
            if item.types.isEmpty && item.tags.isEmpty { throw .usage("an item of a query names types or tags: all events are .all") }
            if item.types.count > Self.typesMax {
                throw .usage("an item of the query has \(item.types.count) types; \(Self.typesMax) are the most")
            }
            if item.tags.count > Self.tagsMax {
                throw .usage("an item of the query has \(item.tags.count) tags; \(Self.tagsMax) are the most")
            }
            if item.tags.contains("") { throw .usage("a tag is never empty") }
        }
    }

    /// The types that it names, where each of its items names some; nil where events of any type may match.
    package var onlyTypes: [String]? {
        guard let items, items.allSatisfy({ !$0.types.isEmpty }) else { return nil }
        return items.flatMap(\.types)
    }

    /// Its types where it is a list of types and nothing else.
    package var typesAlone: [String]? {
        guard let items, items.count == 1, let item = items.first, item.tags.isEmpty else { return nil }
        return item.types
    }

    /// Whether each of its items names tags.
    package var alwaysNamesTags: Bool { items?.allSatisfy { !$0.tags.isEmpty } ?? false }
}

extension EventQuery: CustomStringConvertible {
    public var description: String { items?.map(\.description).joined(separator: ", or ") ?? "all events" }

    func words(ofItem index: Int) -> String { items.flatMap { $0.indices.contains(index) ? $0[index].description : nil } ?? description }
}

extension EventQuery.Item: CustomStringConvertible {
    public var description: String {
        let tagged = tags.isEmpty ? nil : "tagged \(tags.joined(separator: " and "))"
        return [types.isEmpty ? nil : types.joined(separator: " or "), tagged].compactMap(\.self).joined(separator: " ")
    }
}
