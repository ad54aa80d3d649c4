internal import EventModel
internal import JSONText

/// `split {path, into, separator, at, missing}`: splits one text into several.
struct Split: Op {
    static let name = "split"

    let path: JSONPointer
    let rule: SeparatorRule

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("split", allowing: ["path", "into", "separator", "at", "missing", "because"])
        path = try arguments.required("path", of: "split").pointer("path")
        rule = try SeparatorRule(arguments, parts: "into", of: "split")
    }

    var origin: JSONPointer? { path }

    /// A pointer to the whole becomes a pointer to its first part.
    func destination(of pointer: JSONPointer) -> JSONPointer { pointer == path ? rule.parts[0] : pointer }

    var writes: [JSONPointer] { [path] + rule.parts }

    var loss: String? { rule.because }

    var summary: OpSummary { OpSummary(verb: "split", object: path.description) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .up, in: holder)
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        guard let old = site.require(path), rule.checkText(old, path, &site) else { return nil }
        let common = rule.parts.map { path.commonParents(with: $0) }.min() ?? 0
        guard let (_, always) = site.take(path, common: common, makingRoomFor: path) else { return nil }
        for (index, part) in rule.parts.enumerated() {
            var text = Shape(.string)
            text.isNullable = index == 0 && old.isNullable
            guard site.put(text, at: part, .moved(always: always && (index == 0 || rule.refusesMissing)), common: common) else {
                return nil
            }
        }
        site.opClass.insert(.partial)
        if old.hasBounds || old.format != nil || rule.refusesMissing { site.isUnproved = true }
        site.stream = site.stream.map { rule.split($0, path) }
        guard let whole = MemberLocation(path, here: before, there: site.shape) else { return nil }
        let parts = rule.parts.compactMap { MemberLocation($0, here: site.shape, there: before) }
        return SeparatedText(whole: whole, parts: parts, rule: rule, splits: .up)
    }
}

/// `join {paths, path, separator, at, missing}`: joins several texts to one.
struct Join: Op {
    static let name = "join"

    let path: JSONPointer
    let rule: SeparatorRule

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("join", allowing: ["paths", "path", "separator", "at", "missing", "because"])
        path = try arguments.required("path", of: "join").pointer("path")
        rule = try SeparatorRule(arguments, parts: "paths", of: "join")
    }

    var origin: JSONPointer? { rule.parts[0] }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer == rule.parts[0] ? path : pointer }

    var writes: [JSONPointer] { [path] + rule.parts }

    var loss: String? { rule.because }

    var summary: OpSummary { OpSummary(verb: "join", object: rule.parts.map(\.description).joined(separator: " ")) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .down, in: holder)
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        let common = rule.parts.map { path.commonParents(with: $0) }.min() ?? 0
        var isAlways = true
        var isNullable = false
        for (index, part) in rule.parts.enumerated() {
            guard let old = site.require(part), rule.checkText(old, part, &site) else { return nil }
            if old.isNullable, index > 0 {
                site.note(Rule.wrongKind, "\(part) may be null, and only the first part may", fix: "unset: {path: \(part), equals: null}")
                return nil
            }
            if old.hasBounds || old.format != nil { site.isUnproved = true }
            guard let (_, always) = site.take(part, common: common, makingRoomFor: path) else { return nil }
            if index == 0 { (isAlways, isNullable) = (always, old.isNullable) }
            if index > 0, always { site.isUnproved = true }
        }
        var text = Shape(.string)
        text.isNullable = isNullable
        guard site.put(text, at: path, .moved(always: isAlways), common: common) else { return nil }
        site.opClass.insert(.partial)
        if let stream = site.stream {
            if let joined = rule.join(stream, path) {
                site.stream = joined
            } else {
                site.note(
                    Rule.wrongKind,
                    "the stream template \(quoted(stream.description)) holds some of the parts, and not all with \(quoted(rule.separator)) between",
                    fix: "join with the template's own separator")
            }
        }
        guard let whole = MemberLocation(path, here: site.shape, there: before) else { return nil }
        let parts = rule.parts.compactMap { MemberLocation($0, here: before, there: site.shape) }
        return SeparatedText(whole: whole, parts: parts, rule: rule, splits: .down)
    }
}
