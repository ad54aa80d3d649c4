package import Bytes
package import JSONText

/// A shape as one pass over bytes: what is valid and plain, as nearly all payloads are, needs no other. What it does not
/// accept is `JSONScanner`'s and `ShapeProgram`'s to judge, who also say why.
package final class PlainShape: Sendable {
    private let members: KnownMembers
    /// The members of which more is asked than a kind, with their nodes in the program.
    private let checked: [Checked]
    private let program: ShapeProgram
    /// Nil where the stream's name is not made of members that stand in the payload itself.
    private let name: PlainName?

    private struct Checked {
        let member: Int
        let node: Int
    }

    /// Nil where the shape is none of an object with known members.
    init?(_ program: ShapeProgram, _ stream: StreamTemplate?) {
        let root = program.nodes[0]
        guard root.kind == .object, root.inner < 0, root.choices == nil else { return nil }
        var known: [KnownMember] = []
        var checked: [Checked] = []
        for member in program.members[root.members] {
            let node = program.nodes[member.node]
            let name = String(decoding: program.names[member.name], as: UTF8.self)
            if !node.isTold { checked.append(Checked(member: known.count, node: member.node)) }
            known.append(KnownMember(MemberName(name), kinds: node.kinds, isRequired: member.isRequired))
        }
        guard let members = KnownMembers(known) else { return nil }
        (self.members, self.checked, self.program) = (members, checked, program)
        name = stream.flatMap { PlainName($0, among: known.map(\.name)) }
    }

    /// Whether `JSONScanner.validate` accepts a payload within the limits and it fits the shape; where that is not so easily
    /// told, false, and both have to be asked.
    package func accepts(_ payload: RawSpan, _ limits: JSONLimits, _ scratch: inout PlainScratch) -> Bool {
        guard takeText(payload, into: &scratch.arena) != nil else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        return members.scanStrictly(scratch.arena, limits: limits, into: &scratch.slots) && fits(payload, scratch.slots)
    }

    /// The same for a payload that is known to be valid, and lies in a text with more behind it.
    package func accepts(validIn text: borrowing ByteBuffer, _ payload: Range<Int>, _ scratch: inout PlainScratch) -> Bool {
        guard text.count - payload.upperBound >= textEndBytes, text.byte(at: payload.lowerBound) == UInt8(ascii: "{") else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        scratch.order.begin()
        let end = members.scan(text, at: payload.lowerBound, base: 0, into: &scratch.slots, order: &scratch.order)
        return end == payload.upperBound && fits(text.bytes, scratch.slots)
    }

    private func fits(_ text: RawSpan, _ slots: borrowing Slots<ValueSlot>) -> Bool {
        for index in checked.indices {
            let start = slots[checked[index].member].start
            if start >= 0, !program.accepts(text, at: Int(start), checked[index].node) { return false }
        }
        return true
    }

    /// Whether a valid name is that of the stream that the payload accepted last belongs in; false where that is not told by
    /// comparing bytes.
    package func isNamed(_ stream: RawSpan, _ payload: RawSpan, _ scratch: borrowing PlainScratch) -> Bool {
        name?.matches(stream, payload, scratch.slots) ?? false
    }
}

extension ShapeProgram.Node {
    /// The kinds of its values, a bit for each by `JSONKind.rawValue`.
    fileprivate var kinds: UInt8 {
        func bits(_ kinds: JSONKind...) -> UInt8 { kinds.reduce(0) { $0 | 1 << $1.rawValue } }
        let own: UInt8 =
            switch kind {
            case .any: .max
            case .object: bits(.object)
            case .array: bits(.array)
            case .string: bits(.string)
            case .integer, .number: bits(.number)
            case .boolean: bits(.true, .false)
            case .null: bits(.null)
            }
        return isNullable ? own | bits(.null) : own
    }

    /// Whether every value of those kinds fits.
    fileprivate var isTold: Bool {
        switch kind {
        case .object, .array, .integer: false
        case .any, .null, .boolean: choices == nil
        case .number: choices == nil && minimum < 0 && maximum < 0
        case .string: choices == nil && format == nil && least == 0 && most == .max
        }
    }
}

/// What checking a payload takes, kept between payloads. One for each thread.
package struct PlainScratch: ~Copyable {
    fileprivate var arena = ByteBuffer(capacity: 1_024)
    /// Where the members of the payload that was looked at last stand.
    fileprivate var slots = Slots<ValueSlot>(capacity: 64)
    fileprivate var order = MemberOrder()

    package init() {}
}
