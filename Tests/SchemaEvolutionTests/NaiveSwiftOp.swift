import Bytes
import JSONText

@testable import SchemaEvolution

/// A step in Swift for random ops. What it does to a member that it writes depends on all that it sees, so that nothing it is handed
/// too much, too little or otherwise stays unnoticed.
struct MixStep: ReversibleSwiftStep {
    let id = "mix"
    let revision = 1
    let writes: [String]

    enum Choice { case leave, remove, text(String), number(Int), fail }

    func up(_ members: inout StepMembers) throws { try mix(&members, 0) }

    func down(_ members: inout StepMembers) throws { try mix(&members, 1) }

    private func mix(_ members: inout StepMembers, _ turn: Int) throws {
        let seen = try JSONValue(parsing: members.json.lent)
        for (index, place) in writes.enumerated() {
            switch Self.choice(seen, turn + index) {
            case .leave: break
            case .remove: try members.remove(place)
            case .text(let text): try members.write(place, text)
            case .number(let number): try members.write(place, number)
            case .fail: throw StepFailure(at: place, expected: "another sum", found: "this one")
            }
        }
    }

    static func choice(_ seen: JSONValue, _ turn: Int) -> Choice {
        let sum = sum(seen) + turn
        return switch sum % 9 {
        case 0, 1, 2: .leave
        case 3: .remove
        case 4: .fail
        case 5, 6: .number(sum)
        default: .text("t\(sum)")
        }
    }

    /// A number that most changes of a value change, and no order of members.
    private static func sum(_ value: JSONValue) -> Int {
        switch value {
        case .null: 1
        case .bool(let flag): flag ? 2 : 3
        case .number(let text): 5 + NaiveNumber(text).canonical.utf8.reduce(0) { $0 + Int($1) }
        case .string(let text): 7 + text.utf8.reduce(0) { $0 + Int($1) }
        case .array(let elements): elements.enumerated().reduce(11) { $0 + ($1.offset + 1) * sum($1.element) }
        case .object(let members): members.reduce(13) { $0 + $1.name.utf8.count + 3 * sum($1.value) }
        }
    }
}

extension NaiveRun {
    /// Runs the code on an object that has only what the op declares, and takes over only what it declares.
    mutating func swift(_ op: NaiveOp, _ doc: inout JSONValue, _ isUp: Bool) throws(NaiveRefusal) {
        let (reads, writes) = (op.paths("reads"), op.paths("writes"))
        let (here, there) = isUp ? (op.after, op.before) : (op.before, op.after)
        let visible = isUp ? reads : writes + reads.filter { read in !writes.contains { read.starts(with: $0) } }
        var seen = JSONValue.object([])
        for path in visible {
            if let value = doc[naive: path] { seen.write(value, at: path) }
        }
        var own = seen
        for (index, path) in writes.enumerated() {
            switch MixStep.choice(seen, (isUp ? 0 : 1) + index) {
            case .leave: break
            case .remove: own.remove(path)
            case .text(let text): own.write(.string(text), at: path)
            case .number(let number): own.write(.number("\(number)"), at: path)
            case .fail: throw NaiveRefusal(path: path)
            }
        }
        for path in writes {
            guard here.shape(at: path) != nil else {
                _ = take(path, &doc, there, here)
                continue
            }
            let value = own[naive: path]
            let isHeld = makeParents(of: path, &doc, here, there, forValue: value != nil)
            if let value {
                if !isHeld { throw NaiveRefusal(path: path) }
                doc.set(path, to: value)
            } else {
                doc.remove(path)
            }
        }
    }
}

extension JSONValue {
    /// Gives a member a value; what stands in the way of it becomes an object.
    fileprivate mutating func write(_ value: JSONValue, at path: [String]) {
        for depth in 1 ..< max(path.count, 1) {
            let holder = Array(path.prefix(depth))
            if case .object? = self[naive: holder] { continue }
            set(holder, to: .object([]))
        }
        set(path, to: value)
    }
}
