package import Bytes
package import JSONText

/// Validates a payload in one pass over its bytes. It accepts valid payloads that are plain, as nearly all are. A rejected payload may
/// still be valid: `JSONScanner` and `ShapeProgram` decide, and report why a payload is invalid.
package final class PlainPayloadValidator: Sendable {
    private let members: KnownMembers
    /// The members whose shapes require more than a kind, with their nodes in the program.
    private let checked: [(member: Int, node: Int)]
    private let program: ShapeProgram

    /// Nil unless the shape is an object with declared members.
    init?(_ program: ShapeProgram) {
        let root = program.nodes[0]
        guard root.kind == .object, root.inner < 0, root.choices == nil else { return nil }
        var known: [KnownMember] = []
        var checked: [(member: Int, node: Int)] = []
        for member in program.members[root.members] {
            let node = program.nodes[member.node]
            let name = String(decoding: program.names[member.name], as: UTF8.self)
            if !node.isDecidedByKind { checked.append((known.count, member.node)) }
            known.append(KnownMember(MemberName(name), kinds: node.kind.bits(orNull: node.isNullable), isRequired: member.isRequired))
        }
        guard let members = KnownMembers(known) else { return nil }
        (self.members, self.checked, self.program) = (members, checked, program)
    }

    /// True if the payload is valid JSON within the limits and fits the shape. False if it does not, or if only `JSONScanner.validate` and
    /// `EventShape.validate` can tell.
    package func accepts(_ payload: RawSpan, _ limits: JSONLimits, _ scratch: inout PlainPayloadScratch) -> Bool {
        guard takeText(payload, into: &scratch.arena) != nil else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        return members.scanStrictly(scratch.arena, limits: limits, into: &scratch.slots) && fits(payload, scratch.slots)
    }

    /// Checks a payload within a text that is known to be valid JSON. Returns false if fewer than `textEndBytes` bytes follow the payload.
    package func accepts(validIn text: borrowing ByteBuffer, _ payload: Range<Int>, _ scratch: inout PlainPayloadScratch) -> Bool {
        guard text.count - payload.upperBound >= textEndBytes, text.byte(at: payload.lowerBound) == UInt8(ascii: "{") else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        scratch.order.begin()
        let end = members.scan(text, at: payload.lowerBound, base: 0, into: &scratch.slots, order: &scratch.order)
        return end == payload.upperBound && fits(text.bytes, scratch.slots)
    }

    private func fits(_ text: RawSpan, _ slots: borrowing UniqueArray<ValueSlot>) -> Bool {
        for index in checked.indices {
            let start = slots[checked[index].member].start
            if start >= 0, !program.accepts(text, at: Int(start), checked[index].node) { return false }
        }
        return true
    }
}

extension ShapeProgram.Node {
    /// Whether every value of these kinds fits.
    fileprivate var isDecidedByKind: Bool {
        switch kind {
        case .object, .array, .integer: false
        case .any, .null, .boolean: choices == nil
        case .number: choices == nil && minimum < 0 && maximum < 0
        case .string: choices == nil && format == nil && least == 0 && most == .max
        }
    }
}

/// The buffers of a `PlainPayloadValidator`, which each thread reuses for every payload.
package struct PlainPayloadScratch: ~Copyable {
    fileprivate var arena = ByteBuffer(capacity: 1_024)
    /// The locations of the members of the last payload.
    fileprivate var slots = UniqueArray<ValueSlot>(capacity: 64)
    fileprivate var order = MemberOrder()

    package init() {}
}
