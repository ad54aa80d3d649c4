internal import Bytes
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
            lint.passingOn(file)
        }
        try lint.look(at: fixtures)
        lint.findings += others
        return lint.weighed(today)
    }

    private init(history: History, rules: LintRules) { (self.history, self.rules) = (history, rules) }

    mutating func note(
        _ id: String, _ severity: Finding.Severity, _ mark: FileLocation, _ message: String, _ advice: Advice, repair: Repair? = nil
    ) {
        var finding = Finding(id, severity, at: mark, message, repairs: repair.map { [$0] } ?? [])
        finding.advice = advice
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
        guard !history.check().hasErrors else { return }
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
            if rules.forbidden.contains(use.name) {
                let message = "\(use.name) is forbidden here by \(LintRules.fileName)"
                note(Rule.forbidden, .error, use.mark, message, "deprecate instead of removing")
            }
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
                        "\(type) of \(file.number) may have no image at v\(number): \(block.why)",
                        block.isDeclared ? "hide it instead: down: {hide: \"…\"}" : "leave the member in its object",
                        repair: block.isDeclared ? block.mark?.hiding : nil)
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
            result.append(
                Finding(
                    Rule.waiver, at: waiver.mark, "the waiver of \(waiver.id) ended on \(waiver.until)",
                    fix: "fix what it waived, or set a new end date", repairs: [waiver.mark.repair(.remove)]))
        }
        return result
    }
}

extension Lint {
    /// Reports personal members that are part of stream names or come from metadata, since the log stores both unsealed.
    mutating func persons(_ file: VersionFile) {
        for type in file.types {
            guard let event = file.events[type] else { continue }
            for pointer in event.stream?.members ?? [] where event.shape.isPersonal(at: pointer) {
                note(
                    Rule.exposed, .warning, event.mark, "\(type): \(pointer) is personal and names the stream, which everybody can read",
                    "\(Rule.personsFix)")
            }
        }
        for use in history.opUses(of: file.number) where !use.isNested {
            let (path, origin, advice): (JSONPointer, String, Advice)
            switch use.trait {
            case .addsFromMetadata(let pointer, let made):
                (path, origin, advice) = (made, "metadata\(pointer)", "write it into the payload from now on")
            case .addsFromStream(let made): (path, origin, advice) = (made, "the stream's name", "\(Rule.personsFix)")
            case .removes, .rounds, nil: continue
            }
            let isPersonal = { (type: String) in use.concerns(type) && file.events[type]?.shape.isPersonal(at: path) == true }
            guard let type = file.types.first(where: isPersonal) else { continue }
            let what = "\(type): \(path) is personal and comes from \(origin), which everybody can read"
            note(Rule.exposed, .warning, use.mark, what, advice)
        }
    }

    /// Reports personal members whose plainest value has no image at the version before or after: a forgotten event would disappear there.
    mutating func forgetting(_ file: VersionFile) {
        let (viewer, none) = (PathRunner(history), [UInt8]())
        for type in file.types {
            guard let event = file.events[type], let persons = PersonalMembers(event) else { continue }
            for other in [file.number.previous, file.number.next] {
                guard let target = history[other] else { continue }
                for payload in ShapeExamples(of: event.shape).texts {
                    var rest = ByteBuffer()
                    _ = persons.leaveOut(of: payload.lent, by: .emptiest, into: &rest)
                    let left = rest.array()
                    do {
                        let source = SourceEvent(payload: left.lent, time: .now, metadata: none.lent)
                        let kind = TypeAtVersion(type: type, version: file.number)
                        try viewer.view(source, of: kind, stream: "", at: other, validating: true) { _ in }
                    } catch EvstoreError.noImage(let failure) where concerns(failure, event.shape, target) {
                        note(
                            Rule.unforgettable, .warning, event.mark,
                            "\(type): \(failure.pointer) is personal, and what is left of it when it is forgotten has no image at "
                                + "\(other) (\(failure.op)): the event would disappear there",
                            "put the op into when, with else for the value that it can't convert, or allow null in both versions")
                        break
                    } catch {
                        // Another failure is no matter of personal data.
                    }
                }
            }
        }
    }

    /// Reports members of the next version that get a personal value and are not personal: an event that is born there keeps it when its
    /// person is forgotten. They are those texts and numbers that differ in the images of two events that differ in personal values alone.
    mutating func passingOn(_ file: VersionFile) {
        guard let next = history[file.number.next] else { return }
        var noted: Set<String> = []
        for type in file.types {
            for (payload, other) in file.events[type]?.personalExamples ?? [] {
                let kind = TypeAtVersion(type: type, version: file.number)
                let others = images(other, kind, at: next)
                for (one, another) in zip(images(payload, kind, at: next), others) where one.type == another.type {
                    guard let made = next.events[one.type] else { continue }
                    for pointer in made.shape.unmarkedDifferences(one.value, another.value)
                    where noted.insert("\(one.type)\(pointer)").inserted {
                        note(
                            Rule.unmarked, .warning, made.mark,
                            "\(one.type): \(pointer) is not personal, and gets a value that is personal in \(type) at \(file.number): an "
                                + "event of \(next.number) keeps it when its person is forgotten",
                            "mark it personal: true, or leave the value out")
                    }
                }
            }
        }
    }

    /// The images of a payload at a version; none where the steps refuse it, or this program lacks one.
    private func images(_ payload: [UInt8], _ kind: TypeAtVersion, at version: VersionFile) -> [(type: String, value: JSONValue)] {
        var images: [(type: String, value: JSONValue)] = []
        do {
            let none = [UInt8]()
            let source = SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent)
            try PathRunner(history).view(source, of: kind, stream: "", at: version.number) { image in
                images.append((image.type, try JSONValue(parsing: image.payload)))
            }
        } catch { return [] }
        return images
    }

    /// Whether a failure is at a personal member of the event, or of an image.
    private func concerns(_ failure: ImageFailure, _ shape: Shape, _ target: VersionFile) -> Bool {
        if failure.isDeclared { return false }
        let pointer: JSONPointer
        do { pointer = try JSONPointer(failure.pointer) } catch { return false }
        return shape.isPersonal(at: pointer) || target.events.values.contains { $0.shape.isPersonal(at: pointer) }
    }
}

extension Shape {
    /// The texts and numbers in which two values of the shape differ outside of personal members. The elements of a list are one location.
    fileprivate func unmarkedDifferences(
        _ one: JSONValue, _ other: JSONValue, at pointer: JSONPointer = JSONPointer()
    ) -> [JSONPointer] {
        if isPersonal { return [] }
        switch (one, other) {
        case (.object(let members), .object):
            return members.flatMap { member -> [JSONPointer] in
                guard let shape = additional ?? property(member.name), let value = other[member.name] else { return [] }
                return shape.unmarkedDifferences(member.value, value, at: pointer.appending(member.name))
            }
        case (.array(let elements), .array(let others)):
            return zip(elements, others).flatMap { items?.unmarkedDifferences($0, $1, at: pointer.appending("0")) ?? [] }
        case (.string, .string), (.number, .number): return one == other ? [] : [pointer]
        default: return []
        }
    }
}

/// The properties of an op in a version file that the lint rules need.
struct OpUse: Sendable {
    let name: String
    let mark: FileLocation
    fileprivate(set) var trait: OpTrait?
    /// Whether the op is inside another op, so that its pointers are relative to that op's pointer.
    fileprivate(set) var isNested = false
    /// The types that the op affects.
    fileprivate var types = StepItem.Selection.all

    func concerns(_ type: String) -> Bool { types.has(type) }
}

extension History {
    /// The ops of a version's step in order, each before the ops inside it.
    func opUses(of version: SchemaVersion) -> [OpUse] {
        stepItems(from: version.previous, to: version).flatMap { item -> [OpUse] in
            switch item.action {
            case .payload(let types, let entries): entries.flatMap { $0.uses(isNested: false, types: types) }
            case .event(let entry): [OpUse(name: entry.name, mark: item.mark)]
            case .reserve: []
            }
        }
    }
}

extension OpEntry {
    fileprivate func uses(isNested: Bool, types: StepItem.Selection) -> [OpUse] {
        [OpUse(name: name, mark: mark, trait: trait, isNested: isNested, types: types)]
            + inner.flatMap { $0.uses(isNested: true, types: types) }
    }
}

/// `rules.yaml`: the rules of a directory of version files, beyond those of the product.
///
/// `{forbid: [remove, drop-event], error: [LOSS202], forward: 4, waive: [{id, file, because, until}]}`
package struct LintRules: Sendable {
    package static let fileName = "rules.yaml"

    struct Waiver: Sendable {
        let id: String
        /// The end of a file's path; nil applies to every file.
        let file: String?
        /// The last day on which it is valid, such as `2026-12-31`.
        let until: String
        let mark: FileLocation
    }

    private(set) var forbidden: [String] = []
    /// Ids of findings that are treated as errors.
    private(set) var errors: Set<String> = []
    /// The oldest version at which events of every version must be readable.
    private(set) var forward: SchemaVersion?
    private(set) var waivers: [Waiver] = []

    package init() {}

    /// The rules of a directory; empty if the file does not exist.
    package static func load(directory: String) throws(EvstoreError) -> LintRules { try load(SchemaTexts(directory: directory)) }

    package static func load(_ texts: SchemaTexts) throws(EvstoreError) -> LintRules {
        let path = texts.path(fileName)
        guard texts.exists(path: path) else { return LintRules() }
        let root = try texts.read(path: path)
        do throws(FileProblem) { return try LintRules(root) } catch { throw .schemaInvalid([error.finding]) }
    }

    package init(_ root: FileNode) throws(FileProblem) {
        try root.map("rules", allowing: ["forbid", "error", "forward", "waive"])
        if let node = root.member("forbid") {
            let known = OpRegistry.names
            forbidden = try node.texts("forbid")
            if let unknown = forbidden.first(where: { !known.contains($0) }) {
                let guess = nearest(to: unknown, among: known)
                throw node.problem(
                    "there is no op \(quoted(unknown)) to forbid", rule: Rule.unknownOp, fix: guess.map { "did you mean \($0)?" }
                )
                .withRepairs(guess.map { node.mark.repair(.swap(unknown, "\"\($0)\"")) })
            }
        }
        errors = Set(try root.member("error")?.texts("error") ?? [])
        if let node = root.member("forward") { forward = SchemaVersion(try node.integer("forward", from: 1)) }
        for node in try root.member("waive")?.list("waive") ?? [] {
            try node.map("a waiver", allowing: ["id", "file", "because", "until"])
            let because = try node.member("because")?.text("because") ?? ""
            let until = try node.member("until")?.text("until") ?? ""
            guard !because.isEmpty, Self.isDay(until) else {
                throw node.problem(
                    "a waiver says why and until when", rule: Rule.waiver, fix: "because: \"…\", until: 2026-12-31"
                ).withRepairs(Self.isDay(until) ? node.mark.repair("because", to: .string(unexplainedReason)) : nil)
            }
            waivers.append(
                Waiver(
                    id: try node.required("id", of: "a waiver").text("id"), file: try node.member("file")?.text("file"), until: until,
                    mark: node.mark))
        }
    }

    private static func isDay(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [4, 2, 2] && parts.allSatisfy { $0.allSatisfy(\.isNumber) }
    }
}
