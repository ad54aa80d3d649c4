internal import Bytes
package import EventModel
package import JSONText

/// `{path, equals / in / exists / below}`: a test of a payload pointer, `$metadata/x` or `$time`. An absent value fails it.
package struct Guard: Sendable {
    package enum Subject: Sendable {
        case payload(JSONPointer)
        case metadata(JSONPointer)
        case time
    }

    package enum Test: Sendable {
        /// Any of these, in canonical form.
        case oneOf([[UInt8]])
        case exists(Bool)
        /// Before this in the order of dotted numbers.
        case below(DottedNumber)
        /// Before this moment.
        case before(Timestamp)
    }

    static let members = ["path", "equals", "in", "exists", "below"]

    package let subject: Subject
    package let test: Test

    init(_ node: FileNode) throws(FileProblem) {
        let path = try node.required("path", of: "the guard")
        let text = try path.text("path")
        if text == "$time" {
            subject = .time
        } else if text.hasPrefix("$metadata/") {
            do { subject = .metadata(try JSONPointer(String(text.dropFirst(9)))) } catch {
                throw path.problem("\(text) holds no pointer: \(error.reason)", rule: Rule.opArgument)
            }
        } else if text.hasPrefix("$") {
            let rest = text.firstIndex(of: "/").map { text[$0...] }
            throw path.problem(
                "path must be a pointer, $time or $metadata/x, not \(quoted(text))", rule: Rule.opArgument,
                fix: "what an event carries beside its payload is $time and $metadata"
            ).mended(path.becomes(.string(rest.map { "$metadata\($0)" } ?? "$time")))
        } else {
            subject = .payload(try path.pointer("path"))
        }
        let tests = try node.map("the guard").filter { Self.members.dropFirst().contains($0.name) }
        guard tests.count == 1, let member = tests.first else {
            throw node.problem("a guard has one of equals, in, exists and below, not \(tests.count)", rule: Rule.opArgument)
        }
        test = try Self.test(member, isTime: text == "$time")
    }

    /// A test that a member is present.
    init(exists pointer: JSONPointer) { (subject, test) = (.payload(pointer), .exists(true)) }

    private static func test(_ member: FileNode.Member, isTime: Bool) throws(FileProblem) -> Test {
        switch member.name {
        case "equals": return .oneOf([member.value.json.canonical()])
        case "in": return .oneOf(try member.value.list("in").map { $0.json.canonical() })
        case "exists": return .exists(try member.value.flag("exists"))
        default:
            let text = try member.value.text("below")
            if isTime {
                guard let time = Timestamp(text) else {
                    throw member.value.problem("below must be a date-time for $time, not \(quoted(text))", rule: Rule.opArgument)
                }
                return .before(time)
            }
            guard let number = DottedNumber(Array(text.utf8).lent) else {
                throw member.value.problem(
                    "below must be a dotted number such as 1.10.2, not \(quoted(text))", rule: Rule.opArgument)
            }
            return .below(number)
        }
    }

    func holds(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) -> Bool {
        switch subject {
        case .payload(let pointer):
            let node = doc.find(pointer, from: object)
            if case .exists(let wanted) = test { return (node != nil) == wanted }
            guard let node else { return false }
            switch test {
            case .oneOf(let values):
                for value in values where doc.equals(node, value.lent) { return true }
                return false
            case .below:
                run.content.removeAll()
                doc.content(of: node, into: &run.content)
                return holds(onContent: run.content.bytes)
            case .exists, .before: return false
            }
        case .metadata, .time: return holdsBeside(&run, context)
        }
    }

    /// Tests on a draft.
    func holds(_ draft: inout FusedDraft) -> Bool {
        guard case .payload(let pointer) = subject else { return draft.holdsBeside(self) }
        let node = draft.value(at: pointer, from: draft.root)
        if case .exists(let wanted) = test { return (node != nil) == wanted }
        guard let node else { return false }
        switch test {
        case .oneOf(let values): return draft.equals(node, anyOf: values)
        case .below: return draft.isBelow(node, self)
        case .exists, .before: return false
        }
    }

    /// Whether a value's content is below the guard's.
    func holds(onContent content: RawSpan) -> Bool {
        guard case .below(let limit) = test else { return false }
        return DottedNumber(content).map { $0 < limit } ?? false
    }

    /// Whether it holds for the event's metadata or time; false for a guard on the payload.
    func holdsBeside(_ run: inout OpRun, _ context: borrowing EventContext) -> Bool {
        switch subject {
        case .payload: return false
        case .metadata(let pointer): return holds(onText: run.writeMetadata(pointer, context), run.output.bytes)
        case .time:
            if case .before(let limit) = test { return context.time < limit }
            run.output.removeAll()
            context.time.appendQuoted(to: &run.output)
            return holds(onText: true, run.output.bytes)
        }
    }

    private func holds(onText isPresent: Bool, _ text: RawSpan) -> Bool {
        if case .exists(let wanted) = test { return isPresent == wanted }
        guard isPresent else { return false }
        do {
            let canonical = try Canonical.bytes(of: text)
            switch test {
            case .oneOf(let values): return values.contains(canonical)
            case .below(let limit):
                let content = text.byte(at: 0) == UInt8(ascii: "\"") ? text.slice(1, text.byteCount - 2) : text
                return DottedNumber(content).map { $0 < limit } ?? false
            case .exists, .before: return false
            }
        } catch { return false }
    }
}

/// `1.10.2`, ordered number by number; what is shorter comes first.
package struct DottedNumber: Comparable, Sendable {
    package let numbers: [UInt64]

    init?(_ text: RawSpan) {
        var numbers: [UInt64] = []
        var current: UInt64?
        for offset in 0 ..< text.byteCount {
            let byte = text.byte(at: offset)
            if isDigit(byte), current ?? 0 < 1 << 59 {
                current = (current ?? 0) * 10 + UInt64(byte - UInt8(ascii: "0"))
            } else if byte == UInt8(ascii: "."), let number = current {
                numbers.append(number)
                current = nil
            } else {
                return nil
            }
        }
        guard let current else { return nil }
        self.numbers = numbers + [current]
    }

    package static func < (a: DottedNumber, b: DottedNumber) -> Bool { a.numbers.lexicographicallyPrecedes(b.numbers) }
}
