package import EventModel
internal import JSONText

extension History {
    /// Checks the versions and their steps statically. Versions with errors can't be registered; versions with warnings can. A note marks
    /// what only the data can prove.
    package func check() -> [Finding] {
        var findings: [Finding] = []
        if let first = versions.first, let upcast = first.upcast {
            findings.append(
                Finding(Rule.opArgument, at: upcast.mark, "version 1 has no version before to take a step from", fix: "take upcast: out"))
        }
        findings += Adoption(versions.first)?.findings ?? []
        for file in versions { findings += file.contradictions }
        var lookAlikes = LookAlikes()
        for file in versions { findings += lookAlikes.check(file) }
        var names = ReservedNames()
        for step in chain.steps {
            guard let file = self[step.version] else { continue }
            findings += step.findings
            names.cross(step)
            findings += names.reused(in: file)
            // If a step has errors, paths across it would only repeat its findings.
            if chain.isWhole || !findings.hasErrors { findings += checkForward(file) }
        }
        if !findings.hasErrors { findings += tagFindings() }
        return findings
    }

    /// The FORWARD rule: every event of a version must have an image down to the version that its file names, or be hidden by declaration.
    private func checkForward(_ file: VersionFile) -> [Finding] {
        var findings: [Finding] = []
        let lowest = max(file.forward ?? file.number.previous, SchemaVersion(1))
        guard lowest < file.number else { return [] }
        for type in file.types {
            for number in (lowest.number ..< file.number.number).reversed() {
                let target = SchemaVersion(number)
                do {
                    guard let block = try path(type: type, born: file.number, to: target).blocks.first else { continue }
                    let mark = block.mark ?? file.events[type]?.mark ?? file.mark
                    let way = block.isDeclared ? "hide it instead: down: {hide: \"…\"}" : "leave the member in its object"
                    // One that is found in the shapes is no error, since a version that a store has registered must stay as it is.
                    let isPromised = file.forward != nil && block.isDeclared
                    let finding = Finding(
                        Rule.downNotTotal, isPromised ? .error : .warning, at: mark,
                        "\(type) of \(file.number) may have no image at \(target): \(block.why)",
                        fix: "\(way)\(file.forward == nil ? "" : ", or leave forward: out")",
                        repairs: block.isDeclared ? [mark.hiding] : [], subject: type)
                    findings.append(finding)
                } catch {
                    findings.append(Finding(id: Rule.downNotTotal, file: file.file, message: error.message, advice: error.details.advice))
                }
                break
            }
        }
        return findings.merged()
    }
}

extension VersionFile {
    /// Findings for members that no value fits because `const` is not one of the `enum` values. They are only warnings in released
    /// versions, which can't change.
    fileprivate var contradictions: [Finding] {
        types.flatMap { type -> [Finding] in
            guard let event = events[type] else { return [] }
            return event.shape.contradictions.map { place in
                Finding(
                    FileRule.shape, isReleased ? .warning : .error, at: event.mark,
                    "\(type) \(place): const is none of enum, so no value fits", fix: "take enum out, or add the value to it")
            }
        }
    }
}

extension Shape {
    /// The pointers at which `const` is not one of the `enum` values.
    fileprivate var contradictions: [String] {
        var found: [String] = []
        if let constant, let enumeration, !enumeration.contains(where: { $0.canonical() == constant.canonical() }) { found.append("") }
        for property in properties { found += property.shape.contradictions.map { "/\(property.name)\($0)" } }
        return found + (items?.contradictions ?? []).map { "/*\($0)" } + (additional?.contradictions ?? []).map { "/*\($0)" }
    }
}

/// Names that have been removed or reserved so far, grouped by the current names of their types.
private struct ReservedNames {
    private var members: [Name: Set<JSONPointer>] = [:]
    private var types: Set<Name> = []

    mutating func cross(_ step: CompiledStep) {
        for case .event(let event, _, _) in step.stages {
            for (from, turn) in event.up {
                guard let gone = members.removeValue(forKey: from) else { continue }
                switch turn {
                case .becomes(let type, _): members[type, default: []].formUnion(gone)
                case .dispatch(_, let cases): for one in cases { members[one.type, default: []].formUnion(gone) }
                case .parts, .rejoin, .hidden, .dropped, .blocked: break
                }
            }
        }
        for (type, gone) in step.reserved { members[type, default: []].formUnion(gone) }
        types.formUnion(step.retiredTypes.map { Name($0) })
    }

    func reused(in file: VersionFile) -> [Finding] {
        var findings: [Finding] = []
        for type in file.types {
            guard let shape = file.events[type] else { continue }
            if types.contains(type) {
                findings.append(finding(shape.mark, "the type name \(type) was given up in this version or before it"))
            }
            for pointer in (members[type] ?? []).sorted(by: { $0.description < $1.description }) where shape.shape.shape(at: pointer) != nil
            {
                findings.append(finding(shape.mark, "\(type): \(pointer) was removed or reserved in this version or before it"))
            }
        }
        return findings
    }

    private func finding(_ mark: FileLocation, _ message: String) -> Finding {
        Finding(
            Rule.reused, at: mark, "\(message); a name is never used again",
            fix: "choose another name: old events still hold the old meaning")
    }
}

/// Detects names that look alike but differ: `é` in one character and in two, `Å` as a letter and as a sign (UAX #15).
package struct LookAlikes {
    // Canonical equivalence of `String`, which is avoided elsewhere, is intended here: a key finds names that look like it.
    private var spellings: [String: String] = [:]

    /// Collects the names in the events of a history.
    package init(_ history: History) { for file in history.versions { _ = check(file) } }

    init() {}

    /// The finding about a name that looks like an earlier one.
    package mutating func check(_ name: String, _ what: String, at mark: FileLocation) -> Finding? {
        guard let other = spellings[name] else {
            spellings[name] = name
            return nil
        }
        if other.isSame(as: name) { return nil }
        return Finding(
            FileRule.lookAlike, .warning, at: mark,
            "\(what) \(quoted(name)) (\(Self.points(of: name))) looks like \(Self.points(of: other)) and is another name",
            fix: "write one name in one way: events have their names byte by byte")
    }

    /// The findings about the types and members of a version, in their order.
    mutating func check(_ file: VersionFile) -> [Finding] {
        var found: [Finding] = []
        for type in file.types {
            guard let event = file.events[type] else { continue }
            if let finding = check(type, "the type", at: event.mark) { found.append(finding) }
            check(event.shape, "\(type): the member", at: event.mark, &found)
        }
        return found
    }

    private mutating func check(_ shape: Shape, _ what: String, at mark: FileLocation, _ found: inout [Finding]) {
        for property in shape.properties {
            if let finding = check(property.name, what, at: mark) { found.append(finding) }
            check(property.shape, what, at: mark, &found)
        }
        if let inner = shape.items ?? shape.additional { check(inner, what, at: mark, &found) }
    }

    /// The text with all characters beyond ASCII as code points, which distinguishes such names.
    private static func points(of name: String) -> String {
        name.unicodeScalars.map { $0.isASCII ? String($0) : "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
