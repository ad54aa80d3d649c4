import Foundation
import JSONText

/// What a definition of a projection file means, said as plainly as can be: a dictionary of rows, and one event after the other, without
/// compiled plans, slots or operations of the product. Of that it has only the type for JSON values.
struct NaiveFold {
    /// An event, or one element of `each`, that is not folded.
    private struct Refused: Error {}

    struct Event {
        var type: String
        var payload: JSONValue
        var position: UInt64
        var stream = "order-7"
        var time = "2026-01-02T03:04:05Z"
        var metadata: JSONValue
    }

    /// One change that an event makes: a row, and the folds of which the first runs whose guard on the row holds.
    private struct Operation {
        var key: String
        var folds: [(rule: JSONValue, edits: [Edit])]
    }

    private struct Edit {
        var kind: String
        var target: String
        /// Names of members; nil where one of them has no text.
        var path: [String]?
        var value: JSONValue?
        var row: [String]?
        var keep: Int?
        var isInstant = false
    }

    private let definition: JSONValue
    private(set) var rows: [String: JSONValue] = [:]
    /// The positions of events that were refused, once for each refusal.
    private(set) var refused: [UInt64] = []

    init(_ definition: JSONValue) { self.definition = definition }

    mutating func fold(_ event: Event) {
        guard let rule = definition["on"]?[event.type] else { return }
        let folds: [JSONValue] =
            switch rule {
            case .array(let list): list
            case .string: [.object([.init(name: "delete", value: .bool(true))])]
            default: [rule]
            }
        var operations: [Operation] = []
        do {
            for item in try items(folds[0]["each"], event) {
                if let made = try operation(folds, event, item) { operations.append(made) }
            }
        } catch { return refused.append(event.position) }
        for operation in operations {
            do { try apply(operation) } catch { refused.append(event.position) }
        }
    }

    private func items(_ each: JSONValue?, _ event: Event) throws -> [JSONValue] {
        guard let each else { return [event.payload] }
        switch event.payload.at(each.word) {
        case nil, .null?: return []
        case .array(let elements)?: return elements
        default: throw Refused()
        }
    }

    /// Nil where no fold may run. What folds that can't run read is not looked at.
    private func operation(_ folds: [JSONValue], _ event: Event, _ item: JSONValue) throws -> Operation? {
        var may: [JSONValue] = []
        for fold in folds {
            if let test = fold["when"], test["row"] == nil {
                guard Self.holds(test, try value(test["path"] ?? .null, event, item)) else { continue }
            }
            may.append(fold)
            if fold["when"]?["row"] == nil { break }
        }
        if may.isEmpty { return nil }
        guard let key = try text(folds.first?["key"] ?? definition["key"] ?? .null, event, item), key.utf8.count <= 500 else {
            throw Refused()
        }
        return Operation(key: key, folds: try may.map { ($0, try edits($0, event, item)) })
    }

    private static let kinds = ["unset", "init", "set", "add", "count", "max", "min", "append", "include", "exclude"]

    private func edits(_ fold: JSONValue, _ event: Event, _ item: JSONValue) throws -> [Edit] {
        var edits: [Edit] = []
        for kind in Self.kinds {
            var found: [Edit] = []
            switch fold[kind] {
            case .array(let targets)?: for target in targets { found.append(try edit(kind, target.word, nil, event, item)) }
            case .object(let members)?: for member in members { found.append(try edit(kind, member.name, member.value, event, item)) }
            default: continue
            }
            edits += found.sorted { Array($0.target.utf8).lexicographicallyPrecedes(Array($1.target.utf8)) }
        }
        return edits
    }

    private func edit(_ kind: String, _ target: String, _ source: JSONValue?, _ event: Event, _ item: JSONValue) throws -> Edit {
        var source = source
        var edit = Edit(kind: kind, target: target)
        if kind == "append", let from = source?["from"] {
            edit.keep = source?["keep"].flatMap { Int($0.word) }
            source = from
        }
        edit.isInstant = source == .string("/placedAt") || source == .string("$time")
        if let row = source?["row"] { edit.row = row.word.names }
        if let source, edit.row == nil { edit.value = try value(source, event, item) }
        edit.path = []
        // A template's pointer has a slash too.
        for name in target.replacing("{/", with: "{").names {
            guard name.hasPrefix("{") else {
                edit.path?.append(name)
                continue
            }
            guard let text = try text(.string("/" + name.dropFirst().dropLast()), event, item) else {
                edit.path = nil
                break
            }
            edit.path?.append(text)
        }
        return edit
    }

    // MARK: Rows

    private mutating func apply(_ operation: Operation) throws {
        let old = rows[operation.key]
        let base = old ?? initial
        guard
            let fold = operation.folds.first(where: { fold in
                guard let test = fold.rule["when"], let row = test["row"] else { return true }
                return Self.holds(test, base.at(row.word))
            })
        else { return }
        if fold.rule["delete"] == .bool(true) {
            rows[operation.key] = nil
            return
        }
        if fold.edits.isEmpty || fold.rule["only-existing"] == .bool(true) && old == nil { return }
        var row = base
        for edit in fold.edits {
            guard let path = edit.path else { continue }
            if edit.kind == "unset" {
                row.remove(path)
                continue
            }
            guard let value = edit.row.map({ base.at($0) }) ?? edit.value else { continue }
            if let new = try Self.changed(row.at(path), value, edit) { row.set(path, to: new) }
        }
        rows[operation.key] = row
    }

    private var initial: JSONValue {
        var row = JSONValue.object([])
        if case .object(let members)? = definition["initial"] {
            for member in members { row.set(member.name.names, to: member.value["value"] ?? .null) }
        }
        return row
    }

    private static func changed(_ old: JSONValue?, _ value: JSONValue, _ edit: Edit) throws -> JSONValue? {
        switch edit.kind {
        case "set": return value
        case "init": return old == nil ? value : nil
        case "add": return .number("\(try (old.map(number) ?? 0) + number(value))")
        case "count": return .number("\(try (old.map(number) ?? 0) + 1)")
        case "max", "min":
            let order = try compare(old ?? value, value, edit.isInstant)
            return old == nil || (edit.kind == "max" ? order < 0 : order > 0) ? value : nil
        case "append": return .array((try elements(old) + [value]).suffix(edit.keep ?? .max))
        default:
            switch value {
            case .null, .object, .array: throw Refused()
            case .number: _ = try number(value)
            default: break
            }
            var set = try elements(old)
            let index = set.firstIndex { compareInSet($0, value) == 0 }
            if (index != nil) == (edit.kind == "include") { return nil }
            if let index { set.remove(at: index) } else { set.append(value) }
            return .array(set.sorted { compareInSet($0, $1) < 0 })
        }
    }

    private static func elements(_ list: JSONValue?) throws -> [JSONValue] {
        switch list {
        case nil: []
        case .array(let elements)?: elements
        default: throw Refused()
        }
    }

    private static func number(_ value: JSONValue) throws -> Decimal {
        guard case .number(let text) = value, let number = Decimal(string: text) else { throw Refused() }
        return number
    }

    private static func compare(_ a: JSONValue, _ b: JSONValue, _ isInstant: Bool) throws -> Int {
        switch (a, b) {
        case (.number, .number):
            let (a, b) = (try number(a), try number(b))
            return a < b ? -1 : a == b ? 0 : 1
        case (.string(let a), .string(let b)):
            guard isInstant else { return compare(Array(a.utf8), Array(b.utf8)) }
            let formatter = ISO8601DateFormatter()
            guard let a = formatter.date(from: a), let b = formatter.date(from: b) else { throw Refused() }
            return a < b ? -1 : a == b ? 0 : 1
        default: throw Refused()
        }
    }

    private static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }

    /// Numbers first and in their order, then flags and texts by the bytes of their JSON.
    private static func compareInSet(_ a: JSONValue, _ b: JSONValue) -> Int {
        switch (a, b) {
        case (.number(let a), .number(let b)):
            let (a, b) = (Decimal(string: a) ?? 0, Decimal(string: b) ?? 0)
            return a < b ? -1 : a == b ? 0 : 1
        case (.number, _): return -1
        case (_, .number): return 1
        default: return compare(Array(a.text.utf8), Array(b.text.utf8))
        }
    }

    // MARK: Sources

    /// Nil where it is absent.
    private func value(_ source: JSONValue, _ event: Event, _ item: JSONValue) throws -> JSONValue? {
        if let constant = source["value"] { return constant }
        if source["day"] != nil || source["month"] != nil || source.word.contains("{") {
            return try text(source, event, item).map { .string($0) }
        }
        switch source.word {
        case "$stream": return .string(event.stream)
        case "$type": return .string(event.type)
        case "$time": return .string(event.time)
        case "$position": return .number("\(event.position)")
        case "$payload": return event.payload
        case let word where word.hasPrefix("$item"): return item.at(String(word.dropFirst("$item".count)))
        case let word where word.hasPrefix("$metadata"): return event.metadata.at(String(word.dropFirst("$metadata".count)))
        case let pointer: return event.payload.at(pointer)
        }
    }

    private func text(_ source: JSONValue, _ event: Event, _ item: JSONValue) throws -> String? {
        for (member, count) in [("day", 10), ("month", 7)] {
            guard let inner = source[member] else { continue }
            guard let text = try text(inner, event, item) else { return nil }
            let isDate = text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?/) != nil
            guard isDate else { throw Refused() }
            return String(text.prefix(count))
        }
        if source.word.contains("{") {
            var text = ""
            for (index, piece) in source.word.split(separator: "{", omittingEmptySubsequences: false).enumerated() {
                let parts = piece.split(separator: "}", omittingEmptySubsequences: false)
                if index == 0 {
                    text += piece
                } else {
                    guard let inner = try self.text(.string(String(parts[0])), event, item) else { return nil }
                    text += inner + parts[1]
                }
            }
            return text
        }
        switch try value(source, event, item) {
        case .string(let text)?: return text
        case .number(let number)?: return "\(Decimal(string: number) ?? 0)"
        case .bool(let flag)?: return flag ? "true" : "false"
        case .null?, nil: return nil
        case .object?, .array?: throw Refused()
        }
    }

    private static func holds(_ test: JSONValue, _ value: JSONValue?) -> Bool {
        if case .bool(let wanted)? = test["exists"] { return (value != nil) == wanted }
        guard let value else { return false }
        func isSame(_ other: JSONValue) -> Bool {
            if case (.number(let a), .number(let b)) = (value, other) { Decimal(string: a) == Decimal(string: b) } else { value == other }
        }
        if let constant = test["equals"] { return isSame(constant) }
        if case .array(let constants)? = test["in"] { return constants.contains(where: isSame) }
        guard case .number(let limit)? = test["below"], case .number(let number) = value else { return false }
        return Decimal(string: number) ?? 0 < Decimal(string: limit) ?? 0
    }
}

extension String {
    /// The names of a pointer.
    fileprivate var names: [String] { split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init) }
}

extension JSONValue {
    fileprivate var word: String {
        switch self {
        case .string(let text), .number(let text): text
        default: ""
        }
    }

    fileprivate func at(_ pointer: String) -> JSONValue? { at(pointer.names) }

    fileprivate func at(_ names: [String]) -> JSONValue? { names.reduce(self) { (value: JSONValue?, name) in value?.member(name) } }

    /// Sets a member, and makes the objects around it.
    fileprivate mutating func set(_ names: [String], to value: JSONValue) {
        guard let name = names.first else { return self = value }
        var members: [Member] = []
        if case .object(let there) = self { members = there }
        let index = members.firstIndex { $0.name == name } ?? members.count
        if index == members.count { members.append(.init(name: name, value: .object([]))) }
        members[index].value.set(Array(names.dropFirst()), to: value)
        self = .object(members)
    }

    /// Removes a member, and the objects around it that are empty then.
    fileprivate mutating func remove(_ names: [String]) {
        guard case .object(var members) = self, let index = members.firstIndex(where: { $0.name == names[0] }) else { return }
        if names.count > 1 { members[index].value.remove(Array(names.dropFirst())) }
        if names.count == 1 || members[index].value == .object([]) { members.remove(at: index) }
        self = .object(members)
    }
}
