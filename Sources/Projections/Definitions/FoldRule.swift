internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// A fold of a projection file: what one event type does to a row.
struct FoldRule: Sendable {
    var guardTest: Guard?
    /// The location of the guard in the file.
    var guardMark: FileLocation?
    var edits: [Edit] = []
    var deletes = false
    /// Whether the fold never creates a row.
    var onlyExisting = false
    /// The list for whose elements the fold runs, once for each.
    var each: JSONPointer?
    /// The key of the row that events of the type are about, if it differs from the definition's.
    var key: Source?
    /// The location of the key in the file.
    var keyMark: FileLocation?
    var mark: FileLocation
}

/// One change to one member of a row.
struct Edit: Sendable {
    /// In the order in which the edits of a fold are applied.
    enum Kind: String, CaseIterable, Sendable {
        case unset
        case initial = "init"
        case set, add, count, max, min, append, include, exclude
    }

    var kind: Kind
    var target: Target
    /// Not used by `unset`.
    var source: Source
    /// How many of the list's last elements `append` keeps; nil keeps all.
    var keep: Int?
    var mark: FileLocation
}

/// A location in a row: member names, of which one may be a template.
struct Target: Hashable, Sendable {
    enum Token: Hashable, Sendable {
        case name(Name)
        case template(Template<Source>)
    }

    var tokens: [Token]
    var text: String

    /// The sources that its templates read.
    var sources: [Source] {
        tokens.flatMap { token -> [Source] in if case .template(let template) = token { template.members } else { [] } }
    }

    /// The names before the first template.
    var fixed: [Name] {
        var names: [Name] = []
        for token in tokens {
            guard case .name(let name) = token else { break }
            names.append(name)
        }
        return names
    }
}
