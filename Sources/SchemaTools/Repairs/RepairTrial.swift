package import EventModel
internal import JSONText
package import SchemaEvolution

/// Tries repairs before they are proposed: applies them to the files' texts and repeats the check that made the finding.
///
/// A proposal is accepted if the finding is gone afterwards, no error was added, and no event of the previous version loses something
/// without a reason. If it causes an error that has a repair of its own, both form one proposal.
package struct RepairTrial {
    package struct Verdict {
        /// Individual findings, including those that only repeat others.
        package var findings: [Finding]
        /// Nil if the versions can't be read.
        package var history: History?

        package init(_ findings: [Finding], _ history: History?) { (self.findings, self.history) = (findings, history) }
    }

    /// The maximum number of bytes that all trials read together. When it is exceeded, only the first findings are tried.
    private static let bytesMax = 8 << 20
    /// As much work as a finding makes in each trial, in bytes that are read.
    private static let findingBytes = 128
    private static let trialsMax = 200
    private static let roundsMax = 8

    private let texts: SchemaTexts
    private let check: (SchemaTexts) throws -> Verdict
    private let sources: EditableSources
    private let before: Check

    package init(_ texts: SchemaTexts, _ check: @escaping (SchemaTexts) throws -> Verdict) throws {
        (self.texts, self.check, sources) = (texts, check, EditableSources(texts))
        before = Check(try check(texts))
    }

    /// The findings with the edits that were accepted. A finding whose proposal was rejected has neither edits nor a fix.
    package func proposals(for findings: [Finding]) throws -> [Finding] {
        let work = texts.size + Self.findingBytes * before.said.count
        var left = min(Self.trialsMax, max(4, Self.bytesMax / max(1, work)))
        return try findings.map { finding in
            guard !finding.repairs.isEmpty else { return finding }
            var finding = finding
            left -= 1
            if left >= 0 {
                finding.edits = try repair(for: finding)?.edits ?? []
                // These fixes describe the repair itself, rather than giving advice.
                let isProposed =
                    finding.fix?.hasPrefix("did you mean") ?? false
                    || finding.subject == nil && [Rule.unexplained, Rule.upNotTotal].contains(finding.id)
                if finding.edits.isEmpty, isProposed { finding.fix = nil }
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
            let sources = round == 0 ? sources : EditableSources(made)
            guard let step = RepairEdits.edits(of: target, in: sources), made.apply(step) else { return nil }
            edits = round == 0 ? step : made.edits(from: texts)
            if round > 0, edits.contains(where: { $0.renamed != nil }) { return nil }
            let after = Check(try check(made))
            guard before.lost([finding], in: after) else { return nil }
            let added = added(after)
            if added.isEmpty {
                if losesMore(after.verdict.history, edits.map(\.file)) { return nil }
                if round > 0, try isIdle(finding) { return nil }
                return (edits, isCertain && after.errorCount <= before.errorCount)
            }
            guard let next = added.first(where: { !$0.repairs.isEmpty }) else { return nil }
            (target, isCertain) = (next, isCertain && next.isCertain)
        }
        return nil
    }

    /// The findings with edits that fix all of them at once, of which each is certain and adds no errors; nil if there are none.
    package func fixes(for findings: [Finding]) throws -> [Finding]? {
        var made = texts
        guard findings.allSatisfy(\.isCertain), let fixed = RepairEdits.edits(ofAll: findings, in: sources) else { return nil }
        let edits = fixed.flatMap(\.edits)
        guard made.apply(edits) else { return nil }
        let after = Check(try check(made))
        let isRight =
            before.lost(findings, in: after) && added(after).isEmpty && after.errorCount <= before.errorCount
            && !losesMore(after.verdict.history, edits.map(\.file))
        return isRight ? fixed : nil
    }

    /// The errors that an edit causes. If the files could not be read before but can be read now, it causes none of those that are found.
    private func added(_ after: Check) -> [Finding] {
        before.verdict.history == nil && after.verdict.history != nil ? [] : before.errorsAdded(in: after)
    }

    /// Whether an op could simply be removed; several repairs of it could then only undo one another.
    private func isIdle(_ finding: Finding) throws -> Bool {
        guard finding.subject != nil, let file = finding.file, let line = finding.line, let column = finding.column else { return false }
        var without = finding
        without.repairs = [Repair(file: file, line: line, column: column, .remove)]
        var made = texts
        guard let edits = RepairEdits.edits(of: without, in: sources), made.apply(edits) else { return false }
        return try before.errorsAdded(in: Check(check(made))).isEmpty
    }
}

/// What a finding says, in a form that can be compared before and after an edit.
private struct Said: Hashable {
    let id, words: String

    /// Ops are numbered consecutively, so that adding or removing one changes the numbers of others.
    init(_ finding: Finding, _ message: String) {
        id = finding.id
        // There may be tens of thousands of findings, few of which name an op; a byte is found much faster than a text.
        let namesOp = message.utf8.contains(UInt8(ascii: "(")) && message.contains("(op ")
        words = namesOp ? message.replacing(#/\(op \d+\)/#, with: "") : message
    }

    /// Whether another finding says the same of this type or another one.
    /// - Parameter rest: what that finding says behind its type.
    func ends(with rest: Said) -> Bool {
        let (own, other) = (words.utf8, rest.words.utf8)
        return id == rest.id && own.count >= other.count && own.suffix(other.count).elementsEqual(other)
    }
}

/// The findings of a check, for comparison with those of another one.
private struct Check {
    let verdict: RepairTrial.Verdict
    let said: [Said]
    private let errors: [Said: Int]

    init(_ verdict: RepairTrial.Verdict) {
        self.verdict = verdict
        said = verdict.findings.map { Said($0, $0.message) }
        var counts: [Said: Int] = [:]
        for (finding, said) in zip(verdict.findings, said) where finding.severity == .error { counts[said, default: 0] += 1 }
        errors = counts
    }

    var errorCount: Int { errors.values.reduce(0, +) }

    /// The errors that another check has and this one has not.
    func errorsAdded(in other: Check) -> [Finding] {
        var left = errors
        return zip(other.verdict.findings, other.said).compactMap { finding, said in
            guard finding.severity == .error else { return nil }
            left[said, default: 0] -= 1
            return left[said, default: 0] < 0 ? finding : nil
        }
    }

    /// Whether another check has none of some findings any more, apart from equal ones that are not among them.
    func lost(_ findings: [Finding], in other: Check) -> Bool {
        let rests = findings.map { Said($0, String($0.message.dropFirst($0.subject?.count ?? 0))) }
        let gone = findings.map { Said($0, $0.message) }
        return Set(rests).allSatisfy { rest in
            func count(_ said: [Said]) -> Int { said.count { $0.ends(with: rest) } }
            return count(other.said) <= max(0, count(said) - count(gone))
        }
    }
}

extension RepairTrial {
    private static let eventsOfType = 8
    private static let typesMax = 40

    /// Whether ops that were not there before lose something in the steps to the versions of the given files.
    private func losesMore(_ after: History?, _ files: [String]) -> Bool {
        guard let after, let history = before.verdict.history else { return false }
        return after.versions.contains { file in
            guard files.contains(file.file), file.number.number >= 2 else { return false }
            // The op that the repair replaces had an equal loss, even if it could not be run.
            let old = history.opNames(of: file.number)
            return !Self.undeclaredLosses(after, at: file.number).isSubset(of: old)
        }
    }

    /// The ops at which events of the previous version lose something that no step declares.
    private static func undeclaredLosses(_ history: History, at version: SchemaVersion) -> Set<String> {
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
