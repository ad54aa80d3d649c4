package import EventModel
internal import JSONText
package import SchemaEvolution

/// The ids of findings about projections.
enum ProjectionRule {
    /// The definition begins at a version that does not exist.
    static let since = "PROJ101"
    static let type = "PROJ102"
    static let pointer = "PROJ103"
    /// A value has a kind that the fold does not accept.
    static let kind = "PROJ104"
    /// `$item` is used without `each`, or the other way round.
    static let item = "PROJ105"
    static let row = "PROJ106"
    /// A guard can never hold.
    static let guarded = "PROJ107"
    /// An event may lack a member of the key.
    static let key = "PROJ108"
    /// An index uses members that no row has.
    static let index = "PROJ109"
}

extension DefinitionSet {
    /// Checks every definition against the shapes of each version from its `since` until the next definition. Returns errors, and warnings
    /// and notes about possible mistakes; one finding for each location, at the first version that shows it.
    package func check(against history: History) -> [Finding] {
        var findings: [Finding] = []
        var lookAlikes = LookAlikes(history)
        forEachSpan(history) { entry, end, isLast in
            switch entry {
            case .declared(let projection):
                var check = DefinitionCheck(projection)
                check.run(through: end, history, isLast: isLast)
                findings += check.findings
                let what = "\(projection.name): the row's member"
                findings += projection.rowNames.compactMap { lookAlikes.check($0, what, at: projection.mark) }
            case .swift(let declaration): findings += declaration.check(through: end, history)
            }
        }
        return findings
    }

    /// The errors for which a store does not take versions, and these definitions.
    ///
    /// A sealed store takes no new version whose tags hold personal values: forgetting a person would change what its events are found by.
    /// For what a version before calls personal only now, it is too late.
    package func errors(in history: History, taking new: [VersionFile], isSealed: Bool) -> [Finding] {
        let files = Set(new.map(\.file))
        return (history.check() + check(against: history)).compactMap { found in
            var finding = found
            if isSealed, finding.id == Rule.personalTag, finding.file.map(files.contains) ?? false { finding.severity = .error }
            return finding.severity == .error ? finding : nil
        }
    }

    /// Calls the body with each definition, the last version that it spans, and whether no other one follows.
    private func forEachSpan(_ history: History, _ body: (Entry, _ end: SchemaVersion, _ isLast: Bool) -> Void) {
        for list in names.map({ entries[$0, default: []] }) {
            for (index, entry) in list.enumerated() {
                let isLast = index + 1 == list.count
                body(entry, isLast ? history.head : min(list[index + 1].since.previous, history.head), isLast)
            }
        }
    }
}

extension SwiftDeclaration {
    fileprivate func check(through end: SchemaVersion, _ history: History) -> [Finding] {
        var findings = [problem].compactMap(\.self)
        // A program that lacks the projection knows nothing of its definitions for later versions.
        if program == nil { return findings }
        for type in consumes.sorted() {
            let versions = since.number ... max(since, end).number
            let missing = versions.first { history.shape(of: type.text, at: SchemaVersion($0)) == nil }
            guard let missing else { continue }
            findings.append(
                Finding(
                    id: ProjectionRule.type,
                    message: "the projection \(name) consumes \(type), which does not exist at \(SchemaVersion(missing))",
                    fix: """
                        give the program another SwiftProjection called \(name) beside this one, whose since is \(missing): this one then holds \
                        for the versions below
                        """))
        }
        return findings
    }
}

extension DefinitionSet {
    /// Reports row keys that contain personal data (PERS401), since keys are never sealed: one for each type, at the first version with it.
    package func exposedKeys(_ history: History) -> [Finding] {
        var findings: [Finding] = []
        forEachSpan(history) { entry, end, _ in
            if case .declared(let projection) = entry { findings += projection.exposedKeys(through: end, history) }
        }
        return findings
    }
}

extension DeclaredProjection {
    fileprivate func exposedKeys(through end: SchemaVersion, _ history: History) -> [Finding] {
        guard since <= end else { return [] }
        return on.sorted { $0.key < $1.key }.compactMap { type, folds in
            for number in since.number ... end.number {
                guard let shape = history.shape(of: type.text, at: SchemaVersion(number))?.shape else { continue }
                let key = key(of: type)
                guard let pointer = key.source.personal(in: shape, each: folds.first?.each) else { continue }
                return Finding(
                    Rule.exposed, .warning, at: key.mark,
                    "\(name): \(pointer) of \(type) is personal and is the key of a row, which everybody can read",
                    fix: Rule.personsFix)
            }
            return nil
        }
    }
}

extension Source {
    /// The first pointer in the source that leads to personal data.
    fileprivate func personal(in shape: Shape, each: JSONPointer?) -> JSONPointer? {
        switch self {
        case .pointer(let pointer): return shape.isPersonal(at: pointer) ? pointer : nil
        case .item(let pointer):
            guard let each, let items = shape.shape(at: each)?.items else { return nil }
            return shape.isPersonal(at: each) || items.isPersonal(at: pointer) ? each : nil
        case .day(let source), .month(let source): return source.personal(in: shape, each: each)
        case .template(let template):
            for source in template.members {
                if let pointer = source.personal(in: shape, each: each) { return pointer }
            }
            return nil
        default: return nil
        }
    }
}
