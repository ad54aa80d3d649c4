package import EventModel
internal import JSONText
package import SchemaEvolution

/// Tries repairs before they are proposed: on the files' texts, with the check that made the finding.
///
/// A proposal holds where the finding is gone afterwards, no error has come, and no event of the version before loses something
/// of which nothing says why. Where it brings an error that has a mend of its own, both are one proposal.
package struct MendingTrial {
    /// The result of a check of texts.
    package struct Verdict {
        /// Each of its own, also what only repeats others.
        package var findings: [Finding]
        /// Nil where the versions can't be read.
        package var history: History?

        package init(_ findings: [Finding], _ history: History?) { (self.findings, self.history) = (findings, history) }
    }

    /// Bytes read in all trials together: beyond it, what was found first is mended first.
    private static let bytesMax = 8 << 20
    private static let trialsMax = 200
    private static let roundsMax = 8

    private let texts: SchemaTexts
    private let check: (SchemaTexts) throws -> Verdict
    private let before: Verdict
    private let errors: [Said: Int]
    private let losses: MendingLosses

    package init(_ texts: SchemaTexts, _ check: @escaping (SchemaTexts) throws -> Verdict) throws {
        (self.texts, self.check) = (texts, check)
        before = try check(texts)
        errors = Self.errors(before.findings)
        losses = MendingLosses(before.history)
    }

    /// The findings with the edits that hold; one whose proposal does not hold has none, and no words for it.
    package func proposals(for findings: [Finding]) throws -> [Finding] {
        var left = min(Self.trialsMax, max(4, Self.bytesMax / max(1, texts.size)))
        return try findings.map { finding in
            guard !finding.repairs.isEmpty else { return finding }
            var finding = finding
            left -= 1
            if left >= 0 {
                finding.edits = try mend(for: finding)?.edits ?? []
                if finding.edits.isEmpty, finding.isProposed { finding.fix = nil }
            } else {
                finding.fix = "mend what stands above first"
            }
            return finding
        }
    }

    /// The edits that mend a finding, and whether they need no decision of the author and leave no error more than there were; nil where
    /// its proposal does not hold.
    package func mend(for finding: Finding) throws -> (edits: [FileEdit], isCertain: Bool)? {
        var (made, target, isCertain) = (texts, finding, finding.isCertain)
        var edits: [FileEdit] = []
        for round in 0 ..< Self.roundsMax {
            guard let step = Mending.edits(of: target, in: made), made.apply(step) else { return nil }
            edits = round == 0 ? step : made.edits(from: texts)
            if round > 0, edits.contains(where: { $0.renamed != nil }) { return nil }
            let after = try check(made)
            guard count(of: finding, in: after.findings) < max(1, count(of: finding, in: before.findings)) else { return nil }
            // Where the files could not be read before and can be now, their findings are not the repair's.
            let added = before.history == nil && after.history != nil ? [] : added(after.findings)
            if added.isEmpty {
                if losses.grow(with: after.history, edits.map(\.file)) { return nil }
                if round > 0, try isIdle(finding) { return nil }
                return (edits, isCertain && Self.count(after.findings) <= Self.count(before.findings))
            }
            guard let next = added.first(where: { !$0.repairs.isEmpty }) else { return nil }
            (target, isCertain) = (next, isCertain && next.isCertain)
        }
        return nil
    }

    /// Whether an op need not be there at all: several mends of it could only undo one another.
    private func isIdle(_ finding: Finding) throws -> Bool {
        guard finding.subject != nil, let file = finding.file, let line = finding.line, let column = finding.column else { return false }
        var without = finding
        without.repairs = [Repair(file: file, line: line, column: column, .remove)]
        var made = texts
        guard let edits = Mending.edits(of: without, in: texts), made.apply(edits) else { return false }
        return try added(check(made).findings).isEmpty
    }

    // MARK: Comparing findings

    private struct Said: Hashable {
        let id, words: String

        /// Ops are numbered through, so that adding or removing one changes the numbers of others.
        init(_ finding: Finding) {
            id = finding.id
            // There may be tens of thousands of findings, and few that name an op.
            words = finding.message.contains("(op ") ? finding.message.replacing(#/\(op \d+\)/#, with: "") : finding.message
        }
    }

    private static func errors(_ findings: [Finding]) -> [Said: Int] {
        var counts: [Said: Int] = [:]
        for finding in findings where finding.severity == .error { counts[Said(finding), default: 0] += 1 }
        return counts
    }

    private static func count(_ findings: [Finding]) -> Int { findings.count { $0.severity == .error } }

    private func added(_ findings: [Finding]) -> [Finding] {
        var left = errors
        return findings.filter { finding in
            guard finding.severity == .error else { return false }
            left[Said(finding), default: 0] -= 1
            return left[Said(finding), default: 0] < 0
        }
    }

    /// How many findings are the same but for their types.
    private func count(of finding: Finding, in findings: [Finding]) -> Int {
        var rest = finding
        rest.message = String(finding.message.dropFirst(finding.subject?.count ?? 0))
        let said = Said(rest)
        return findings.count { $0.id == said.id && Said($0).words.hasSuffix(said.words) }
    }
}

/// What events lose at a step without a reason, before a mend and after it.
private struct MendingLosses {
    private static let eventsOfType = 8
    private static let typesMax = 40

    private let history: History?

    init(_ history: History?) { self.history = history }

    /// Whether ops that were not there before lose something over the steps to the versions of some files.
    func grow(with after: History?, _ files: [String]) -> Bool {
        guard let after, let history else { return false }
        return after.versions.contains { file in
            guard files.contains(file.file), file.number.number >= 2 else { return false }
            // The op that the repair replaces lost the same, even if it could not be run.
            let old = history.opNames(of: file.number)
            return !Self.undeclared(after, at: file.number).isSubset(of: old)
        }
    }

    private static func undeclared(_ history: History, at version: SchemaVersion) -> Set<String> {
        let trial = LawTrial(history, isFull: false)
        var generator = EventGenerator(history, seed: 1)
        var found: Set<String> = []
        for type in history.types(at: version.previous).prefix(typesMax) {
            for _ in 0 ..< eventsOfType {
                guard let event = generator.event(type: type, born: version.previous) else { break }
                for entry in trial.losses(of: [event], at: version) where entry.isUndeclared { found.insert(entry.loss.op) }
            }
        }
        return found
    }
}

extension Finding {
    /// Whether the words for its mend are the mend itself, rather than advice.
    fileprivate var isProposed: Bool {
        fix?.hasPrefix("did you mean") ?? false || subject == nil && [Rule.unexplained, Rule.upNotTotal].contains(id)
    }
}

extension SchemaTexts {
    /// The edits that turn older texts into these.
    fileprivate func edits(from older: SchemaTexts) -> [FileEdit] {
        changed.keys.sorted().flatMap { file -> [FileEdit] in
            let old = older.lines(path: file).map { String(String.UnicodeScalarView($0)) }
            let new = lines(path: file).map { String(String.UnicodeScalarView($0)) }
            return FileEdit.edits(of: file, from: old, to: new)
        }
    }
}

extension FileEdit {
    /// The runs of lines in which two texts of a file differ.
    static func edits(of file: String, from old: [String], to new: [String]) -> [FileEdit] {
        var (gone, come): (Set<Int>, Set<Int>) = ([], [])
        for change in new.difference(from: old) {
            switch change {
            case .remove(let offset, _, _): gone.insert(offset)
            case .insert(let offset, _, _): come.insert(offset)
            }
        }
        var edits: [FileEdit] = []
        var (here, there) = (0, 0)
        while here < old.count || there < new.count {
            var edit = FileEdit(file: file, line: here + 1)
            while gone.contains(here) {
                edit.remove.append(old[here])
                here += 1
            }
            while come.contains(there) {
                edit.insert.append(new[there])
                there += 1
            }
            if edit.remove.isEmpty, edit.insert.isEmpty {
                (here, there) = (here + 1, there + 1)
            } else {
                edits.append(edit)
            }
        }
        return edits
    }
}
