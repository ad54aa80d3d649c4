internal import EventModel
package import JSONText

/// One entry of a type's `tags` in a version file: the tags that it gives an event, made of the payload and the stream's name.
///
/// It gives one tag, or one for each element of a list. Where a member that it names is absent, null or an empty text that leaves nothing,
/// it gives none. So every event that fits its shape has its tags: there is no way to fail.
package struct TagTemplate: Hashable, Sendable {
    /// The list for whose elements it gives a tag each; nil for one tag.
    package let each: JSONPointer?
    package let template: Template<Source>
    package let mark: FileLocation

    /// The most tags that an event may have, for which `maxItems` of every list vouches.
    package static let tagsMax = 64

    // Bytewise: texts that are canonically equivalent are different tags.
    package static func == (a: TagTemplate, b: TagTemplate) -> Bool { a.description.isSame(as: b.description) }

    package func hash(into hasher: inout Hasher) { hasher.combine(Name(description)) }

    /// The members of the payload that it reads, the list of `each` first.
    package var pointers: [JSONPointer] { (each.map { [$0] } ?? []) + template.members.flatMap(\.pointers) }
}

extension TagTemplate: CustomStringConvertible {
    /// The tag as a file writes it; with `each`, followed by the list: `seat:{$item} for each of /seats`.
    package var description: String {
        let text = template.parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(.item(let pointer)): "{$item\(pointer)}"
            case .member(.pointer(let pointer)): "{\(pointer)}"
            case .member: "{$stream}"
            }
        }.joined()
        return text + (each.map { " for each of \($0)" } ?? "")
    }
}

extension TagTemplate {
    /// Whether some event could have this tag: its literals are in the text, in their order, the first and the last at its ends.
    package func canMake(_ tag: String) -> Bool {
        var (rest, isBehindMember) = (Array(tag.utf8)[...], false)
        for (index, part) in template.parts.enumerated() {
            guard case .literal(let text) = part else {
                isBehindMember = true
                continue
            }
            let literal = Array(text.utf8)
            if isBehindMember, index + 1 == template.parts.count {
                return rest.count >= literal.count && rest.reversed().starts(with: literal.reversed())
            }
            if isBehindMember {
                guard let found = rest.firstRange(of: literal) else { return false }
                rest = rest[found.upperBound...]
            } else {
                guard rest.starts(with: literal) else { return false }
                rest = rest.dropFirst(literal.count)
            }
            isBehindMember = false
        }
        return isBehindMember || rest.isEmpty
    }
}

// MARK: Reading from a file

extension TagTemplate {
    /// Reads the `tags` of an event type.
    static func list(_ node: FileNode, _ shape: Shape) throws(FileProblem) -> [TagTemplate] {
        var tags: [TagTemplate] = []
        var most = 0
        for node in try node.list("tags") {
            let tag = try TagTemplate(node)
            if tags.contains(tag) { throw node.problem("the tag \(tag) is there twice", rule: FileRule.tag) }
            most += try tag.most(in: shape)
            tags.append(tag)
        }
        guard most <= tagsMax else {
            throw node.problem(
                "an event may have \(most) tags; \(tagsMax) are the most", rule: FileRule.tag,
                fix: "lower maxItems of the lists that each goes through, or leave tags out")
        }
        return tags
    }

    private init(_ node: FileNode) throws(FileProblem) {
        var (each, text): (JSONPointer?, FileNode) = (nil, node)
        if case .map = node.kind {
            try node.map("a tag", allowing: ["each", "tag"])
            each = try node.required("each", of: "a tag").pointer("each")
            text = try node.required("tag", of: "a tag")
        }
        let written = try text.text("a tag")
        let template = try Template<Source>(text: written, of: text, "a tag")
        guard !template.parts.isEmpty else { throw text.problem("a tag can't be empty", rule: FileRule.tag) }
        for source in template.members {
            switch source {
            case .pointer, .stream: continue
            case .item where each != nil: continue
            case .item:
                throw text.problem(
                    "the tag \(quoted(written)) reads an item and has no each", rule: FileRule.tag,
                    fix: "name the list: {each: /list, tag: \"…{$item}\"}")
            default:
                throw text.problem(
                    "the tag \(quoted(written)) reads what a tag can't", rule: FileRule.tag,
                    fix: "a tag is made of members of the payload, $stream and, with each, $item")
            }
        }
        if let each, !template.members.contains(where: \.readsItem) {
            throw text.problem(
                "the tag \(quoted(written)) is the same for each of \(each)", rule: FileRule.tag, fix: "name the element: {$item}")
        }
        self.init(each: each, template: template, mark: node.mark)
    }

    /// How many tags it gives at most.
    /// - Throws: where it does not fit the shape.
    private func most(in shape: Shape) throws(FileProblem) -> Int {
        var (items, most): (Shape?, Int) = (nil, 1)
        if let each {
            guard let list = shape.shape(at: each) else { throw problem("the event has no member \(each)") }
            guard list.kind == .array, let element = list.items else {
                throw problem("\(each) is \(list.noun), and each goes through a list whose items have a shape")
            }
            guard let maxItems = list.maxItems else {
                throw problem("\(each) may be of any length, and an event has at most \(Self.tagsMax) tags", fix: "give it maxItems")
            }
            (items, most) = (element, maxItems)
        }
        for source in template.members {
            switch source {
            case .pointer(let pointer): try require(shape.shape(at: pointer), "\(pointer)")
            case .item(let pointer): try require(items?.shape(at: pointer), "$item\(pointer)")
            default: continue
            }
        }
        return most
    }

    private func require(_ member: Shape?, _ pointer: String) throws(FileProblem) {
        let name = pointer.isEmpty ? "the payload" : pointer
        guard let member else { throw problem("the event has no member \(name)") }
        guard member.isScalar, member.kind != .null else { throw problem("\(name) is \(member.noun), which has no text") }
    }

    private func problem(_ reason: String, fix: String? = nil) -> FileProblem {
        FileProblem(FileRule.tag, "the tag \(self): \(reason)", at: mark, fix: fix)
    }
}

extension Shape {
    /// The members that the template reads and that an event may lack, or whose value may be null: then it gives no tag.
    package func optionalMembers(of tag: TagTemplate) -> [String] {
        var found: [String] = []
        let items = tag.each.flatMap { shape(at: $0)?.items }
        for source in tag.template.members {
            switch source {
            case .pointer(let pointer):
                if !isAlwaysPresent(at: pointer) || shape(at: pointer)?.isNullable == true { found.append("\(pointer)") }
            case .item(let pointer):
                guard let items else { continue }
                let isThere = items.isAlwaysPresent(at: pointer) && items.shape(at: pointer)?.isNullable == false
                if !isThere { found.append("$item\(pointer)") }
            default: continue
            }
        }
        return found
    }

    /// The first member of a tag that is personal, or is inside what is.
    package func personalMember(of tag: TagTemplate) -> String? {
        let items = tag.each.flatMap { shape(at: $0)?.items }
        if let each = tag.each, isPersonal(at: each) { return "\(each)" }
        for source in tag.template.members {
            switch source {
            case .pointer(let pointer) where isPersonal(at: pointer): return "\(pointer)"
            case .item(let pointer) where items?.isPersonal(at: pointer) == true: return "$item\(pointer)"
            default: continue
            }
        }
        return nil
    }
}
