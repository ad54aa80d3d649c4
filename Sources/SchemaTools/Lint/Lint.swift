package import EventModel
internal import JSONText
package import SchemaEvolution

/// Findings beyond those of the check: about things that are allowed but not recommended, and about violations of the directory's
/// `rules.yaml`.
package struct Lint {
    let history: History
    private let rules: LintRules
    private var findings: [Finding] = []

    /// - Parameters:
    ///   - today: a day such as `2026-12-31`, to determine which waivers have expired.
    ///   - fixtures: nil if there are none.
    ///   - others: findings of the caller, to which these rules also apply.
    package static func run(
        _ history: History, _ rules: LintRules, fixtures: Fixtures?, today: String, others: [Finding] = []
    ) throws(EvstoreError) -> [Finding] {
        var lint = Lint(history: history, rules: rules)
        for file in history.versions {
            lint.names(file)
            lint.steps(file)
            lint.reach(file)
            lint.persons(file)
            lint.forgetting(file)
        }
        try lint.look(at: fixtures)
        lint.findings += others
        return lint.weighed(today)
    }

    private init(history: History, rules: LintRules) { (self.history, self.rules) = (history, rules) }

    mutating func note(
        _ id: String, _ severity: Finding.Severity, _ mark: FileLocation, _ message: String, _ advice: Advice, repair: Repair? = nil
    ) {
        var finding = Finding(
            id: id, severity: severity, file: mark.file, line: mark.line, column: mark.column, message: message, advice: advice)
        finding.repairs = repair.map { [$0] } ?? []
        findings.append(finding)
    }

    // MARK: LOG

    /// Reports types without fixtures, and fixtures whose images differ from the recorded ones. Images are compared only if the steps have
    /// no errors.
    private mutating func look(at fixtures: Fixtures?) throws(EvstoreError) {
        guard let fixtures else {
            guard let mark = history.versions.first?.mark else { return }
            return note(
                Rule.fixture, .warning, mark, "there are no fixtures: nothing was compared",
                "\(.recordFixtures(overwriting: false)) makes events of every type, and records what every version sees of them")
        }
        findings += fixtures.check(history)
        guard !history.check().contains(where: { $0.severity == .error }) else { return }
        do throws(EvstoreError) { findings += try fixtures.differences(history) } catch {
            guard case .programNeeded(let what, _) = error, let mark = history.versions.last?.mark else { throw error }
            note(
                Rule.fixture, .note, mark, "the fixtures were not compared: \(what) is written in Swift, and this program lacks that code",
                "run the application's own program")
        }
    }

    // MARK: STYLE

    private mutating func names(_ file: VersionFile) {
        if file.description?.isEmpty ?? true {
            note(
                Rule.undescribed, .warning, file.mark, "\(file.number) does not say what it changes", "add description: \"…\"",
                repair: Repair(
                    file: file.file, path: ["description"],
                    .set("\"Say what this version changes.\"", before: file.upcast == nil ? "events" : "upcast")))
        }
        let before = history[file.number.previous]
        for type in file.types {
            guard let event = file.events[type], before?.events[type] == nil else { continue }
            if event.shape.description?.isEmpty ?? true {
                note(
                    Rule.undescribed, .warning, event.mark, "\(type) does not say what happened", "add description: \"…\"",
                    repair: Repair(
                        file: file.file, path: ["events", type, "description"], .set("\"Say what happened.\"", before: "stream")))
            }
            if !Self.isCamel(type, upper: true) {
                note(Rule.spelling, .warning, event.mark, "\(type) is not written LikeThis", "name it \(Self.camel(type, upper: true))")
            }
            for property in event.shape.properties where !Self.isCamel(property.name, upper: false) {
                note(
                    Rule.spelling, .warning, event.mark, "\(type): \(property.name) is not written likeThis",
                    "name it \(Self.camel(property.name, upper: false))")
            }
        }
    }

    private static func isCamel(_ name: String, upper: Bool) -> Bool {
        guard let first = name.unicodeScalars.first,
            name.unicodeScalars.allSatisfy({ $0.properties.isAlphabetic || $0.properties.numericType != nil })
        else { return false }
        return upper ? first.properties.isUppercase : first.properties.isLowercase
    }

    private static func camel(_ name: String, upper: Bool) -> String {
        let words = name.split { !$0.isLetter && !$0.isNumber }
        let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return upper ? joined : joined.prefix(1).lowercased() + joined.dropFirst()
    }

    // MARK: LOSS and POLICY

    private mutating func steps(_ file: VersionFile) {
        for use in history.opUses(of: file.number) {
            forbid(use.name, use.mark)
            switch use.trait {
            case .removes(let path):
                let earlier = history.versions.filter { $0.number < file.number }
                for type in earlier.last?.types ?? [] where use.concerns(type) {
                    let wasDeprecated = earlier.contains { $0.events[type]?.shape.shape(at: path)?.isDeprecated == true }
                    if wasDeprecated || earlier.last?.events[type]?.shape.shape(at: path) == nil { continue }
                    note(
                        Rule.notDeprecated, .warning, use.mark, "\(type): \(path) is removed and was never deprecated",
                        "release a version that marks it deprecated: true first")
                }
            case .rounds(let path):
                note(
                    Rule.rounds, .warning, use.mark, "\(path) is rounded", "leave round out to refuse what is not exact",
                    repair: use.mark.repair(.remove, at: "*", "using", "*", "round"))
            case .addsFromMetadata, .addsFromStream, nil: break
            }
        }
    }

    private mutating func forbid(_ op: String, _ mark: FileLocation) {
        guard rules.forbidden.contains(op) else { return }
        note(Rule.forbidden, .error, mark, "\(op) is forbidden here by \(LintRules.fileName)", "deprecate instead of removing")
    }

    /// Reports events without an image at the versions for which `rules.yaml` requires one.
    private mutating func reach(_ file: VersionFile) {
        guard let lowest = rules.forward, lowest < file.number else { return }
        for type in file.types {
            for number in (lowest.number ..< file.number.number).reversed() {
                do {
                    guard let block = try history.path(type: type, born: file.number, to: SchemaVersion(number)).blocks.first else {
                        continue
                    }
                    note(
                        Rule.downNotTotal, .error, block.mark ?? file.events[type]?.mark ?? file.mark,
                        "\(type) of \(file.number) may have no image at v\(number): \(block.why)", "hide it instead: down: {hide: \"…\"}",
                        repair: block.mark?.hiding)
                } catch { continue }
                break
            }
        }
    }

    // MARK: weighing

    /// The findings with the severities that the rules require, without waived ones.
    private func weighed(_ today: String) -> [Finding] {
        var result: [Finding] = []
        for var finding in findings {
            if rules.errors.contains(finding.id) { finding.severity = .error }
            let isWaived = rules.waivers.contains { waiver in
                waiver.id == finding.id && waiver.until >= today && (waiver.file.map { finding.file?.hasSuffix($0) == true } ?? true)
            }
            if !isWaived { result.append(finding) }
        }
        for waiver in rules.waivers where waiver.until < today {
            var finding = Finding(
                id: Rule.waiver, file: waiver.mark.file, line: waiver.mark.line, column: waiver.mark.column,
                message: "the waiver of \(waiver.id) ended on \(waiver.until)", fix: "fix what it waived, or set a new end date")
            finding.repairs = [waiver.mark.repair(.remove)]
            result.append(finding)
        }
        return result
    }
}
