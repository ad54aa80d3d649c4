import JSONText

/// What an op means, said as plainly as can be: one op after the other, over values, without compiled forms, codecs or paths of the product.
/// Of that it has only the type for JSON values.
struct NaiveOp {
    let name: String
    let arguments: JSONValue
    /// The shapes of the object that it works on, as JSON Schema: they decide which objects around a member are made and go.
    let before, after: JSONValue
    /// For `each` and `when`: the ops within, and those of `else`.
    var inner: [NaiveOp] = []
    var otherwise: [NaiveOp] = []
}

/// An event that an op refuses, with the pointer of the value, or hides.
struct NaiveRefusal: Error {
    var path: [String]
    var isHidden = false
}

/// One event on its way through ops, with what beside its payload they may look at.
struct NaiveRun {
    typealias Path = [String]

    let time: String
    let stream: String
    let metadata: JSONValue?
    private(set) var lost = 0
    private(set) var otherForms = 0

    init(time: String, stream: String, metadata: JSONValue?) { (self.time, self.stream, self.metadata) = (time, stream, metadata) }

    mutating func up(_ value: JSONValue, _ ops: [NaiveOp]) throws(NaiveRefusal) -> JSONValue {
        var value = value
        for op in ops { value = try apply(op, to: value, isUp: true) }
        return value
    }

    mutating func down(_ value: JSONValue, _ ops: [NaiveOp]) throws(NaiveRefusal) -> JSONValue {
        var value = value
        for op in ops.reversed() { value = try apply(op, to: value, isUp: false) }
        return value
    }

    private mutating func apply(_ op: NaiveOp, to value: JSONValue, isUp: Bool) throws(NaiveRefusal) -> JSONValue {
        var doc = value
        switch op.name {
        case "move": move(op, &doc, isUp)
        case "add": try add(op, &doc, isUp)
        case "remove": remove(op, &doc, isUp)
        case "copy": try copy(op, &doc, isUp)
        case "compute": compute(op, &doc, isUp)
        case "unset": unset(op, &doc, isUp)
        case "wrap": if isUp { wrap(op, &doc) } else { try unwrap(op, &doc) }
        case "head": if isUp { try unwrap(op, &doc) } else { wrap(op, &doc) }
        case "convert": try convert(op, &doc, isUp)
        case "split": if isUp { try split(op, &doc, "path", "into") } else { try join(op, &doc, "path", "into") }
        case "join": if isUp { try join(op, &doc, "path", "paths") } else { try split(op, &doc, "path", "paths") }
        case "allow": if !isUp { try disallow(op, &doc) }
        case "each": try each(op, &doc, isUp)
        case "swift": try swift(op, &doc, isUp)
        case "when":
            let ops = holds(op.arguments, doc) ? op.inner : op.otherwise
            doc = isUp ? try up(doc, ops) : try down(doc, ops)
        default: fatalError("the oracle has no \(op.name)")
        }
        return doc
    }

    // MARK: The ops

    private func move(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) {
        let (from, path) = (op.path("from"), op.path("path"))
        let (old, new) = isUp ? (from, path) : (path, from)
        let (here, there) = isUp ? (op.before, op.after) : (op.after, op.before)
        if from.dropLast() == path.dropLast() { return doc.rename(old, to: new[new.count - 1]) }
        let value = take(old, &doc, here, there)
        put(value, at: new, &doc, there, here)
    }

    private mutating func add(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) throws(NaiveRefusal) {
        let path = op.path("path")
        let value: JSONValue? =
            switch op.arguments["from"]?.word {
            case nil: op.arguments["value"]
            case "$time"?: .string(time)
            case "$stream"?: .string(stream)
            case let from?: metadata.flatMap { $0[naive: Path(pointer: String(from.dropFirst("$metadata".count)))] }
            }
        if isUp {
            guard makeParents(of: path, &doc, op.after, op.before, forValue: false, isConstant: true) else { return }
            guard let value else {
                if op.after.requires(path) { throw NaiveRefusal(path: path) }
                return
            }
            doc.set(path, to: value)
        } else {
            if let there = doc[naive: path], value.map({ !there.isSame($0) }) ?? true { lost += 1 }
            _ = take(path, &doc, op.after, op.before, isConstant: true)
        }
    }

    private mutating func remove(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) {
        let path = op.path("path")
        let restore = op.arguments["restore"].flatMap { $0 == .string("absent") ? nil : $0 }
        if isUp {
            guard let value = doc[naive: path] else { return }
            if restore.map({ !value.isSame($0) }) ?? true { lost += 1 }
            doc.remove(path)
        } else if let restore {
            doc.set(path, to: restore)
        }
    }

    private mutating func copy(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) throws(NaiveRefusal) {
        let (from, path) = (op.path("from"), op.path("path"))
        let source = doc[naive: from]
        func made() throws(NaiveRefusal) -> JSONValue? {
            guard let source, source != .null, let using = op.arguments["using"] else { return source }
            guard let made = NaiveCodec(using, makes: op.after.type(at: path)).convert(source) else { throw NaiveRefusal(path: from) }
            return made.value
        }
        if isUp {
            guard makeParents(of: path, &doc, op.after, op.before, forValue: source != nil), source != nil else { return }
            if let value = try made() { doc.set(path, to: value, isMoved: op.arguments["using"] == nil || source == .null) }
        } else {
            if let there = doc[naive: path] {
                var isCopy = false
                do { isCopy = try made().map(there.isSame) ?? false } catch {}
                if !isCopy { lost += 1 }
            }
            _ = take(path, &doc, op.after, op.before)
        }
    }

    private mutating func compute(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) {
        let path = op.path("path")
        let text = text(op.arguments["template"]?.word ?? "", doc)
        if isUp {
            guard makeParents(of: path, &doc, op.after, op.before, forValue: text != nil), let text else { return }
            doc.set(path, to: .string(text))
        } else {
            if let there = doc[naive: path], text.map({ there != .string($0) }) ?? true { lost += 1 }
            _ = take(path, &doc, op.after, op.before)
        }
    }

    /// The text of a template; nil where one of its members has none.
    private func text(_ template: String, _ doc: JSONValue) -> String? {
        var pieces = template.components(around: "{")
        var text = pieces.removeFirst()
        for piece in pieces {
            let parts = piece.components(around: "}")
            switch doc[naive: Path(pointer: parts[0])] {
            case .string(let string)?: text += string
            case .number(let number)?: text += NaiveNumber(number).canonical
            case .bool(let flag)?: text += flag ? "true" : "false"
            case .null?, .object?, .array?, nil: return nil
            }
            text += parts[1]
        }
        return text
    }

    private func unset(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) {
        let path = op.path("path")
        guard let sentinel = op.arguments["equals"] else { return }
        if isUp {
            if doc[naive: path]?.isSame(sentinel) == true { doc.remove(path) }
        } else if makeParents(of: path, &doc, op.before, op.after, forValue: false), doc[naive: path] == nil {
            doc.set(path, to: sentinel)
        }
    }

    /// From a scalar to a list.
    private func wrap(_ op: NaiveOp, _ doc: inout JSONValue) {
        let path = op.path("path")
        let fills = op.name == "wrap" || op.before.requires(path)
        guard let value = doc[naive: path] else {
            if fills, makeParents(of: path, &doc, op.after, op.before, forValue: false) { doc.set(path, to: .array([])) }
            return
        }
        if let empty = op.arguments["empty"], value.isSame(empty) {
            doc.set(path, to: .array([]))
        } else if value != .null {
            doc.set(path, to: .array([value]))
        }
    }

    /// From a list to a scalar.
    private mutating func unwrap(_ op: NaiveOp, _ doc: inout JSONValue) throws(NaiveRefusal) {
        let path = op.path("path")
        let isRequired = (op.name == "wrap" ? op.before : op.after).requires(path)
        let empty = op.arguments["empty"]
        switch doc[naive: path] {
        case nil:
            if isRequired, let empty, makeParents(of: path, &doc, op.after, op.before, forValue: false) { doc.set(path, to: empty) }
        case .null?: break
        case .array(let elements)?:
            if let first = elements.first {
                lost += elements.count - 1
                doc.set(path, to: first)
            } else if !isRequired {
                doc.remove(path)
            } else if let empty {
                doc.set(path, to: empty)
            } else {
                throw NaiveRefusal(path: path)
            }
        default: throw NaiveRefusal(path: path)
        }
    }

    mutating func convert(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) throws(NaiveRefusal) {
        let path = op.path("path")
        guard let using = op.arguments["using"], let value = doc[naive: path], value != .null else { return }
        let codec = NaiveCodec(using, makes: (isUp ? op.after : op.before).type(at: path), isDown: !isUp)
        guard let made = codec.convert(value), made.isOwnForm || op.arguments["canonical"] == nil else { throw NaiveRefusal(path: path) }
        if !made.isOwnForm { otherForms += 1 }
        doc.set(path, to: made.value)
    }

    private func split(_ op: NaiveOp, _ doc: inout JSONValue, _ whole: String, _ parts: String) throws(NaiveRefusal) {
        let (path, parts) = (op.path(whole), op.paths(parts))
        let (here, there) = op.name == "split" ? (op.before, op.after) : (op.after, op.before)
        switch doc[naive: path] {
        case nil:
            prune(path, &doc, here, there, taken: false)
            for part in parts { _ = makeParents(of: part, &doc, there, here, forValue: false) }
        case .null?: put(take(path, &doc, here, there), at: parts[0], &doc, there, here)
        case .string(let text)?:
            var pieces = text.components(around: op.arguments["separator"]?.word ?? "")
            let separator = op.arguments["separator"]?.word ?? ""
            if pieces.count < parts.count, op.arguments["missing"] == .string("error") { throw NaiveRefusal(path: path) }
            let extra = max(pieces.count - parts.count, 0)
            if op.arguments["at"] == .string("last") {
                pieces = [pieces[...extra].joined(separator: separator)] + pieces[(extra + 1)...]
            } else {
                pieces =
                    pieces.prefix(parts.count - 1)
                    + [pieces.dropFirst(parts.count - 1).joined(separator: separator)].filter { _ in
                        pieces.count >= parts.count
                    }
            }
            _ = take(path, &doc, here, there)
            for (index, part) in parts.enumerated() {
                let isThere = index < pieces.count
                if makeParents(of: part, &doc, there, here, forValue: isThere), isThere { doc.set(part, to: .string(pieces[index])) }
            }
        default: throw NaiveRefusal(path: path)
        }
    }

    private mutating func join(_ op: NaiveOp, _ doc: inout JSONValue, _ whole: String, _ parts: String) throws(NaiveRefusal) {
        let (path, parts) = (op.path(whole), op.paths(parts))
        let (here, there) = op.name == "split" ? (op.after, op.before) : (op.before, op.after)
        let values = parts.map { doc[naive: $0] }
        if values[0] == nil, values.contains(where: { $0 != nil }) { throw NaiveRefusal(path: parts[0]) }
        if values[0] == .null {
            let null = take(parts[0], &doc, here, there)
            for part in parts.dropFirst() where take(part, &doc, here, there) != nil { lost += 1 }
            return put(null, at: path, &doc, there, here)
        }
        var texts: [String] = []
        for (index, value) in values.enumerated() {
            switch value {
            case .string(let text)?: texts.append(text)
            case nil: break
            default: throw NaiveRefusal(path: parts[index])
            }
        }
        for part in parts { _ = take(part, &doc, here, there) }
        guard makeParents(of: path, &doc, there, here, forValue: !texts.isEmpty), !texts.isEmpty else { return }
        doc.set(path, to: .string(texts.joined(separator: op.arguments["separator"]?.word ?? "")))
    }

    /// What the version before sees of what only the newer one allows.
    private mutating func disallow(_ op: NaiveOp, _ doc: inout JSONValue) throws(NaiveRefusal) {
        let (path, down) = (op.path("path"), op.arguments["down"] ?? .null)
        func other(_ value: JSONValue?) throws(NaiveRefusal) -> JSONValue? {
            if let value { return value }
            if down["hide"] != nil { throw NaiveRefusal(path: path, isHidden: true) }
            if down == .string("block") { throw NaiveRefusal(path: path) }
            return nil
        }
        guard let value = doc[naive: path] else {
            guard op.before.requires(path), makeParents(of: path, &doc, op.before, op.after, forValue: false) else { return }
            guard let absent = try other(down["absent-as"] ?? down["value"]) else { throw NaiveRefusal(path: path) }
            return doc.set(path, to: absent)
        }
        guard let shape = op.before.shape(at: path) else {
            _ = try other(nil)
            lost += 1
            return doc.remove(path)
        }
        if value.fits(shape) { return }
        if case .object(let rows)? = down["table"], let row = rows.first(where: { value.isSpelled($0.name) }) {
            lost += 1
            return doc.set(path, to: row.value)
        }
        if let value = try other(down["value"]) {
            lost += 1
            doc.set(path, to: value)
        } else if down == .string("absent") {
            lost += 1
            doc.remove(path)
        } else {
            throw NaiveRefusal(path: path)
        }
    }

    private mutating func each(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) throws(NaiveRefusal) {
        let path = op.path("path")
        let isOfObjects = op.inner.first.map { $0.before.isObject } ?? false
        func one(_ value: JSONValue, _ name: String, _ run: inout NaiveRun) throws(NaiveRefusal) -> JSONValue {
            if case .object = value {} else if isOfObjects || value == .null { return value }
            do { return isUp ? try run.up(value, op.inner) : try run.down(value, op.inner) } catch {
                throw NaiveRefusal(path: path + [name] + error.path, isHidden: error.isHidden)
            }
        }
        switch doc[naive: path] {
        case .array(let elements)?:
            var made: [JSONValue] = []
            for (index, element) in elements.enumerated() { made.append(try one(element, "\(index)", &self)) }
            doc.set(path, to: .array(made))
        case .object(let members)?:
            var made: [JSONValue.Member] = []
            for member in members { made.append(.init(name: member.name, value: try one(member.value, member.name, &self))) }
            doc.set(path, to: .object(made))
        default: break
        }
    }

    func holds(_ test: JSONValue, _ doc: JSONValue) -> Bool {
        let path = test["path"]?.word ?? ""
        let value =
            if path == "$time" { JSONValue.string(time) } else if path.hasPrefix("$metadata") {
                metadata.flatMap { $0[naive: Path(pointer: String(path.dropFirst("$metadata".count)))] }
            } else { doc[naive: Path(pointer: path)] }
        if case .bool(let wanted)? = test["exists"] { return (value != nil) == wanted }
        guard let value else { return false }
        if let constant = test["equals"] { return value.isSame(constant) }
        if case .array(let constants)? = test["in"] { return constants.contains(where: value.isSame) }
        let bound = test["below"]?.word ?? ""
        // The times of the test are all of one form.
        if path == "$time" { return value.word < bound }
        guard let one = value.dotted, let other = JSONValue.string(bound).dotted else { return false }
        let length = max(one.count, other.count)
        let padded = [one, other].map { $0 + [Int](repeating: 0, count: length - $0.count) }
        return padded[0].lexicographicallyPrecedes(padded[1])
    }

    // MARK: Members and the objects around them

    /// Makes the objects around a member that this side always has, or that a value needs; false where one is missing or is no object.
    func makeParents(
        of path: Path, _ doc: inout JSONValue, _ here: JSONValue, _ there: JSONValue, forValue: Bool, isConstant: Bool = false
    ) -> Bool {
        for depth in 1 ..< max(path.count, 1) {
            let parent = Path(path.prefix(depth))
            switch doc[naive: parent] {
            case .object?: continue
            case nil:
                guard forValue || here.requires(parent) || isConstant && !there.isObject(at: parent) else { return false }
                doc.set(parent, to: .object([]))
            default: return false
            }
        }
        return true
    }

    /// Removes the objects around a member that are empty and that the other side does not have, or has only with the member.
    private func prune(
        _ path: Path, _ doc: inout JSONValue, _ here: JSONValue, _ there: JSONValue, isConstant: Bool = false, taken: Bool
    ) {
        for depth in (1 ..< max(path.count, 1)).reversed() {
            let parent = Path(path.prefix(depth))
            guard doc[naive: parent] == .object([]) else { continue }
            if !there.isObject(at: parent) {
                doc.remove(parent)
            } else if !there.requires(parent), here.requires(parent) || taken && !isConstant {
                doc.remove(parent)
            }
        }
    }

    func take(
        _ path: Path, _ doc: inout JSONValue, _ here: JSONValue, _ there: JSONValue, isConstant: Bool = false
    ) -> JSONValue? {
        let value = doc[naive: path]
        doc.remove(path)
        prune(path, &doc, here, there, isConstant: isConstant, taken: value != nil)
        return value
    }

    private func put(_ value: JSONValue?, at path: Path, _ doc: inout JSONValue, _ here: JSONValue, _ there: JSONValue) {
        if makeParents(of: path, &doc, here, there, forValue: value != nil), let value { doc.set(path, to: value, isMoved: true) }
    }
}

extension NaiveOp {
    func path(_ name: String) -> [String] { NaiveRun.Path(pointer: arguments[name]?.word ?? "") }

    func paths(_ name: String) -> [[String]] {
        if case .array(let list)? = arguments[name] { list.map { NaiveRun.Path(pointer: $0.word) } } else { [] }
    }
}

extension [String] {
    init(pointer: String) { self = pointer.components(around: "/").dropFirst().map { $0 } }
}

extension String {
    /// What stands around each occurrence of a text.
    fileprivate func components(around separator: String) -> [String] {
        var (found, rest) = ([[UInt8]](), Array(utf8)[...])
        let separator = Array(separator.utf8)
        var current: [UInt8] = []
        while let first = rest.first {
            if rest.starts(with: separator) {
                found.append(current)
                current = []
                rest = rest.dropFirst(separator.count)
            } else {
                current.append(first)
                rest = rest.dropFirst()
            }
        }
        return (found + [current]).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension JSONValue {
    /// What a string holds, or what stands there for a number.
    var word: String {
        switch self {
        case .string(let text), .number(let text): text
        default: ""
        }
    }

    subscript(naive path: [String]) -> JSONValue? {
        path.reduce(self) { (value: JSONValue?, name) in if case .object? = value { value?.member(name) } else { nil } }
    }

    /// Gives a member a value: in its place, or behind the others where it is new or was moved here.
    mutating func set(_ path: [String], to value: JSONValue, isMoved: Bool = false) {
        guard let name = path.first else { return self = value }
        guard case .object(var members) = self else { return }
        let index = members.firstIndex { $0.name == name }
        if path.count > 1 {
            guard let index else { return }
            members[index].value.set(Array(path.dropFirst()), to: value, isMoved: isMoved)
        } else if let index, !isMoved {
            members[index].value = value
        } else {
            if let index { members.remove(at: index) }
            members.append(.init(name: name, value: value))
        }
        self = .object(members)
    }

    mutating func remove(_ path: [String]) {
        guard case .object(var members) = self, let index = members.firstIndex(where: { $0.name == path[0] }) else { return }
        if path.count == 1 { members.remove(at: index) } else { members[index].value.remove(Array(path.dropFirst())) }
        self = .object(members)
    }

    fileprivate mutating func rename(_ path: [String], to name: String) {
        guard case .object(var members) = self, let index = members.firstIndex(where: { $0.name == path[0] }) else { return }
        if path.count > 1 {
            members[index].value.rename(Array(path.dropFirst()), to: name)
        } else {
            members[index].name = name
            members = members.enumerated().filter { $0.offset == index || $0.element.name != name }.map(\.element)
        }
        self = .object(members)
    }

    /// Whether both are the same value, however numbers are spelled and members ordered.
    func isSame(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let one), .number(let two)): NaiveNumber(one) == NaiveNumber(two)
        case (.array(let one), .array(let two)): one.count == two.count && zip(one, two).allSatisfy { $0.isSame($1) }
        case (.object(let one), .object(let two)):
            one.count == two.count && one.allSatisfy { member in other.member(member.name).map(member.value.isSame) ?? false }
        default: self == other
        }
    }

    /// The numbers of a text such as 1.10.2; nil where it is none.
    fileprivate var dotted: [Int]? {
        let parts = word.components(around: ".").map { $0.allSatisfy { ("0" ... "9").contains($0) } ? Int($0) : nil }
        return parts.contains(nil) ? nil : parts.compactMap(\.self)
    }
}
