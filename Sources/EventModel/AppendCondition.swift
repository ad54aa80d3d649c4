/// A condition of an append: nothing that its decision did not know has come. The append is refused (`EvstoreError.conditionFailed`) where
/// an event behind `after` matches the query.
///
/// It is judged by the types and tags of its version, whichever version is live. A read returns the one of what it has read
/// (`MatchingEvents.condition`).
public struct AppendCondition: Hashable, Sendable {
    public var failIfMatches: EventQuery
    /// The place up to which the decision knows the log; nil where no event of the whole log may match, as for a value that is unique.
    public var after: Checkpoint?
    /// Nil is the working version.
    public var version: SchemaVersion?
    /// The digest of the version's file when the decision was made, in hexadecimal digits: the append is refused
    /// (`EvstoreError.conditionOutdated`) where another file has replaced it, which may give events other tags. Nil where that does not
    /// matter.
    public var schema: String?

    /// The most conditions of an append.
    public static let most = 8

    public init(
        failIfMatches query: EventQuery, after: Checkpoint? = nil, version: SchemaVersion? = nil, schema: String? = nil
    ) {
        (failIfMatches, self.after, self.version, self.schema) = (query, after, version, schema)
    }

    /// Where no event may match, for the text of an error.
    var placeText: String { after.map { " behind position \($0.position)" } ?? "" }
}

/// As JSON, `{"failIfMatches": [{"types": […], "tags": […]}], "after": "1:42", "version": 5, "schema": "…"}`; `"failIfMatches": "all"` is
/// every event, and what is null may be left out.
extension AppendCondition: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable { case failIfMatches, after, version, schema }

    /// Any member, to refuse those that are not known: a misspelt one would be left out.
    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }

        static func requireKnown(_ known: [String], _ decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            guard let other = container.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
            let reason = "there is no member \(quoted(other.stringValue)) here: there are \(known.joined(separator: ", "))"
            throw DecodingError.dataCorruptedError(forKey: other, in: container, debugDescription: reason)
        }
    }

    private struct Item: Codable {
        private enum CodingKeys: String, CodingKey, CaseIterable { case types, tags }

        var types: [String]?
        var tags: [String]?

        init(_ item: EventQuery.Item) {
            (types, tags) = (item.types.isEmpty ? nil : item.types, item.tags.isEmpty ? nil : item.tags)
        }

        init(from decoder: any Decoder) throws {
            try AnyKey.requireKnown(CodingKeys.allCases.map(\.rawValue), decoder)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            types = try container.decodeIfPresent([String].self, forKey: .types)
            tags = try container.decodeIfPresent([String].self, forKey: .tags)
        }
    }

    public init(from decoder: any Decoder) throws {
        try AnyKey.requireKnown(CodingKeys.allCases.map(\.rawValue), decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func refuse(_ key: CodingKeys, _ reason: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: container, debugDescription: reason)
        }
        var word: String?
        do { word = try container.decode(String.self, forKey: .failIfMatches) } catch DecodingError.typeMismatch {}
        if let word, word != "all" { throw refuse(.failIfMatches, "failIfMatches is a list of items with types and tags, or \"all\"") }
        let items = word == nil ? try container.decode([Item].self, forKey: .failIfMatches) : nil
        var after: Checkpoint?
        if let text = try container.decodeIfPresent(String.self, forKey: .after) {
            guard let place = Checkpoint(text) else { throw refuse(.after, "\(quoted(text)) is no checkpoint, such as 1:42") }
            after = place
        }
        self.init(
            failIfMatches: items.map { EventQuery($0.map { .init(types: $0.types ?? [], tags: $0.tags ?? []) }) } ?? .all, after: after,
            version: try container.decodeIfPresent(SchemaVersion.self, forKey: .version),
            schema: try container.decodeIfPresent(String.self, forKey: .schema))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if let items = failIfMatches.items {
            try container.encode(items.map { Item($0) }, forKey: .failIfMatches)
        } else {
            try container.encode("all", forKey: .failIfMatches)
        }
        try container.encodeIfPresent(after?.description, forKey: .after)
        try container.encodeIfPresent(version, forKey: .version)
        try container.encodeIfPresent(schema, forKey: .schema)
    }
}
