internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// What one event type does to a row: a fold of a projection file.
struct FoldRule: Sendable {
    var guardTest: Guard?
    /// Where that is written.
    var guardMark: Mark?
    var edits: [Edit] = []
    var deletes = false
    /// Never makes a row.
    var onlyExisting = false
    /// Once per element of this list.
    var each: JSONPointer?
    var mark: Mark
}

/// One change to one member of a row.
struct Edit: Sendable {
    /// In the order in which the edits of a fold are made.
    enum Kind: String, CaseIterable, Sendable {
        case unset
        case initial = "init"
        case set, add, count, max, min, append, include, exclude
    }

    var kind: Kind
    var target: Target
    /// Unused by `unset`.
    var source: Source
    /// How many of a list's last elements `append` keeps; all where nil.
    var keep: Int?
    var mark: Mark
}

/// A place in a row: member names, of which one may be a template.
struct Target: Hashable, Sendable {
    enum Token: Hashable, Sendable {
        case name(Name)
        case template(Template<Source>)
    }

    var tokens: [Token]
    var text: String

    /// What its templates read.
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
