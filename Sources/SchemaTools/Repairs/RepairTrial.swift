package import EventModel
internal import JSONText
package import SchemaEvolution

/// Tries repairs before they are proposed: applies them to the files' texts and repeats the check that made the finding.
///
/// A proposal is accepted if the finding is gone afterwards, no error was added, and no event of the previous version loses something
/// without a reason. If it causes an error that has a repair of its own, both form one proposal.
package struct RepairTrial {
    /// The result of checking texts.
    package struct Verdict {
        /// Individual findings, including those that only repeat others.
        package var findings: [Finding]
        /// Nil if the versions can't be read.
        package var history: History?

        package init(_ findings: [Finding], _ history: History?) { (self.findings, self.history) = (findings, history) }
    }

    /// The maximum number of bytes that all trials read together. When it is exceeded, only the first findings are tried.
    private static let bytesMax = 8 << 20
    private static let trialsMax = 200
    private static let roundsMax = 8

    private let texts: SchemaTexts
    private let check: (SchemaTexts) throws -> Verdict
    private let before: Verdict
    private let errors: [Said: Int]
    private let losses: RepairLosses

    package init(_ texts: SchemaTexts, _ check: @escaping (SchemaTexts) throws -> Verdict) throws {
        (self.texts, self.check) = (texts, check)
        before = try check(texts)
        errors = Self.errors(before.findings)
        losses = RepairLosses(before.history)
    }

    /// The findings with the edits that were accepted. A finding whose proposal was rejected has neither edits nor a fix.
    package func proposals(for findings: [Finding]) throws -> [Finding] {
        var left = min(Self.trialsMax, max(4, Self.bytesMax / max(1, texts.size)))
        return try findings.map { finding in
            guard !finding.repairs.isEmpty else { return finding }
            var finding = finding
            left -= 1
            if left >= 0 {
                finding.edits = try repair(for: finding)?.edits ?? []
                if finding.edits.isEmpty, finding.isProposed { finding.fix = nil }
            } else {
                finding.fix = "fix the findings above first"
            }
            return finding
        }
    }

    /// The edits that fix a finding, and whether they need no decision by the author and add no errors; nil if the proposal is rejected.
    package func repair(for finding: Finding) throws -> (edits: [FileEdit], isCertain: Bool)? {
        var (made, target, isCertain) = (texts, finding, finding.isCertain)
        var edits: [FileEdit] = []
        for round in 0 ..< Self.roundsMax {
            guard let step = RepairEdits.edits(of: target, in: made), made.apply(step) else { return nil }
            edits = round == 0 ? step : made.edits(from: texts)
            if round > 0, edits.contains(where: { $0.renamed != nil }) { return nil }
            let after = try check(made)
            guard count(of: finding, in: after.findings) < max(1, count(of: finding, in: before.findings)) else { return nil }
            // If the files could not be read before but can be read now, the new findings are not caused by the repair.
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

    /// Whether an op could simply be removed; several repairs of it could then only undo one another.
    private func isIdle(_ finding: Finding) throws -> Bool {
        guard finding.subject != nil, let file = finding.file, let line = finding.line, let column = finding.column else { return false }
        var without = finding
        without.repairs = [Repair(file: file, line: line, column: column, .remove)]
        var made = texts
        guard let edits = RepairEdits.edits(of: without, in: texts), made.apply(edits) else { return false }
        return try added(check(made).findings).isEmpty
    }

    // MARK: Comparing findings

    private struct Said: Hashable {
        let id, words: String

        /// Ops are numbered consecutively, so that adding or removing one changes the numbers of others.
        init(_ finding: Finding) {
            id = finding.id
            // There may be tens of thousands of findings, few of which name an op.
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

    /// The number of findings that are equal except for their types.
    private func count(of finding: Finding, in findings: [Finding]) -> Int {
        var rest = finding
        rest.message = String(finding.message.dropFirst(finding.subject?.count ?? 0))
        let said = Said(rest)
        return findings.count { $0.id == said.id && Said($0).words.hasSuffix(said.words) }
    }
}

/// The undeclared losses of events at a step, before and after a repair.
private struct RepairLosses {
    private static let eventsOfType = 8
    private static let typesMax = 40

    private let history: History?

    init(_ history: History?) { self.history = history }

    /// Whether ops that were not there before lose something in the steps to the versions of the given files.
    func grow(with after: History?, _ files: [String]) -> Bool {
        guard let after, let history else { return false }
        return after.versions.contains { file in
            guard files.contains(file.file), file.number.number >= 2 else { return false }
            // The op that the repair replaces had an equal loss, even if it could not be run.
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
    /// Whether the fix describes the repair itself, rather than giving advice.
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
    /// The ranges of lines in which two texts of a file differ.
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
