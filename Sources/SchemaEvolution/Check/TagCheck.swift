internal import Bytes
internal import EventModel
internal import JSONText

extension Rule {
    /// A tag is made of a personal value.
    package static let personalTag = "PERS404"
    /// An event may lack a member of a tag, and then has no such tag.
    static let optionalTag = "TAGS101"
    /// The events of a type lose all their tags.
    static let lostTags = "TAGS102"
    /// The events of a type have other tags than at the version before.
    static let changedTags = "TAGS103"
    /// Events that have tags at a version are not seen at the version before.
    static let hiddenTags = "TAGS104"
}

extension History {
    /// The findings about tags. None of them is an error, since tags can't make an event fail.
    ///
    /// Tags are compared between neighbouring versions along the steps, because a condition is judged by the tags of its own version:
    /// whoever decides at the older version sees neither the newer one's tags nor the events that are hidden from it.
    func tagFindings() -> [Finding] {
        if versions.allSatisfy({ $0.events.values.allSatisfy(\.tags.isEmpty) }) { return [] }
        var findings: [Finding] = []
        for file in versions {
            for type in file.types {
                guard let event = file.events[type] else { continue }
                let before = ancestors(of: type, at: file)
                findings += optional(type, event, file, before)
                findings += changes(type, event, file, before)
            }
        }
        return findings + personalTags()
    }

    /// The types of the version before whose events become events of a type; none where the steps have errors.
    private func ancestors(of type: String, at file: VersionFile) -> [(type: String, event: EventShape)] {
        guard let before = self[file.number.previous] else { return [] }
        return before.types.compactMap { old in
            guard let event = before.events[old] else { return nil }
            do { return try path(type: old, born: before.number, to: file.number).types.has(type) ? (old, event) : nil } catch {
                return nil
            }
        }
    }

    private func optional(
        _ type: String, _ event: EventShape, _ file: VersionFile, _ before: [(type: String, event: EventShape)]
    ) -> [Finding] {
        event.tags.compactMap { tag in
            let missing = event.shape.optionalMembers(of: tag)
            // What the version before says already is not said again.
            guard !missing.isEmpty, !before.contains(where: { $0.event.tags.contains(tag) }) else { return nil }
            return Finding(
                Rule.optionalTag, .note, at: tag.mark,
                "\(type): an event without \(missing.joined(separator: " or ")) does not have the tag \(tag)",
                fix: "require the member if every event is to be found by it")
        }
    }

    private func changes(
        _ type: String, _ event: EventShape, _ file: VersionFile, _ before: [(type: String, event: EventShape)]
    ) -> [Finding] {
        var findings: [Finding] = []
        let now = Set(of: event.tags.map(\.description))
        for (old, shape) in before where !shape.tags.isEmpty && now.isEmpty {
            findings.append(
                Finding(
                    Rule.lostTags, .warning, at: event.mark,
                    "\(type) has no tags any more, which \(old == type ? "it" : old) had at \(file.number.previous): no query by tags "
                        + "finds it",
                    fix: "write tags: in every version; a version file is whole"))
        }
        for (old, shape) in before where !now.isEmpty {
            let was = Set(of: shape.tags.map(\.description))
            if was == now || keepsTags(old, shape, as: type, at: file) { continue }
            let words = now.subtracting(was).sorted().map { "+ \($0)" } + was.subtracting(now).sorted().map { "- \($0)" }
            findings.append(
                Finding(
                    Rule.changedTags, .note, at: event.mark,
                    "\(type) has other tags than \(old == type ? "at" : "\(old) at") \(file.number.previous): "
                        + words.joined(separator: ", "),
                    fix: "queries at \(file.number.previous) go by the tags of that version"))
        }
        if !event.tags.isEmpty, file.number.number > 1, isHidden(type, at: file) {
            findings.append(
                Finding(
                    Rule.hiddenTags, .note, at: event.mark,
                    "\(type) has tags, and its events may not be seen at \(file.number.previous): queries there do not find them",
                    fix: "let every program work at \(file.number) before a rule depends on them"))
        }
        return findings
    }

    /// Whether examples of an older type have the same tags as before when they are seen at a version, such as where a step moves the member
    /// of a tag.
    private func keepsTags(_ old: String, _ event: EventShape, as type: String, at file: VersionFile) -> Bool {
        let kind = TypeAtVersion(type: old, version: file.number.previous)
        return ShapeExamples(of: event.shape).texts.allSatisfy { payload in
            let seen = tags(of: payload, kind, at: file).filter { $0.type.isSame(as: type) }
            return seen.allSatisfy { $0.tags == event.tags(of: payload.lent, in: "") }
        }
    }

    /// Whether events of a type may have no image at the version before.
    private func isHidden(_ type: String, at file: VersionFile) -> Bool {
        do {
            let down = try path(type: type, born: file.number, to: file.number.previous)
            return down.types.isEmpty || !down.blocks.isEmpty
        } catch { return false }
    }

    // MARK: Personal values

    /// Reports the tags that hold a personal value of the same version, or of another one through its steps: forgetting a person
    /// would change the tags. What steps make is tried with events that differ in personal values alone.
    private func personalTags() -> [Finding] {
        var findings: [Finding] = []
        var noted: Set<String> = []
        func note(_ type: String, at mark: FileLocation, _ version: SchemaVersion, _ origin: String) {
            guard noted.insert("\(type)@\(version)").inserted else { return }
            findings.append(
                Finding(
                    Rule.personalTag, .warning, at: mark, "\(type): a tag is made of \(origin), and forgetting the person would change it",
                    fix: Rule.personsFix))
        }
        for file in versions {
            for type in file.types {
                guard let event = file.events[type] else { continue }
                for tag in event.tags {
                    if let member = event.shape.personalMember(of: tag) {
                        note(type, at: tag.mark, file.number, "\(member), which is personal")
                    }
                }
            }
        }
        let targets = versions.filter { $0.events.values.contains { !$0.tags.isEmpty } }
        for file in versions {
            for type in file.types {
                let kind = TypeAtVersion(type: type, version: file.number)
                for (payload, other) in file.events[type]?.personalExamples ?? [] {
                    for target in targets where target.number != file.number {
                        let (ones, others) = (tags(of: payload, kind, at: target), tags(of: other, kind, at: target))
                        for (one, another) in zip(ones, others) where one.type.isSame(as: another.type) && one.tags != another.tags {
                            let mark = target.events[one.type]?.mark ?? target.mark
                            note(one.type, at: mark, target.number, "what is personal in \(type) at \(file.number)")
                        }
                    }
                }
            }
        }
        return findings
    }

    /// The tags of each image of a payload at a version; none where the steps refuse it, or this program lacks one.
    private func tags(of payload: [UInt8], _ kind: TypeAtVersion, at version: VersionFile) -> [(type: String, tags: Set<[UInt8]>)] {
        var found: [(type: String, tags: Set<[UInt8]>)] = []
        do {
            let none = [UInt8]()
            let source = SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent)
            try PathRunner(self).view(source, of: kind, stream: "", at: version.number) { image in
                found.append((image.type, version.events[image.type]?.tags(of: image.payload, in: "") ?? []))
            }
        } catch { return [] }
        return found
    }
}

extension EventShape {
    /// The tags of a payload of this shape, as bytes. For many payloads, keep a `TagReader`.
    package func tags(of payload: RawSpan, in stream: String) -> Set<[UInt8]> {
        if tags.isEmpty { return [] }
        var found: Set<[UInt8]> = []
        var workspace = TagWorkspace()
        TagReader(tags).forEachTag(of: payload, in: stream, &workspace) { found.insert([UInt8](copying: $0)) }
        return found
    }

    /// The tags of a payload of this shape, in the order of their bytes.
    package func sortedTags(of payload: RawSpan, in stream: String) -> [String] {
        tags(of: payload, in: stream).sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
