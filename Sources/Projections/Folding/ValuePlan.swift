internal import Bytes
internal import EventModel
internal import JSONText

/// A compiled source that is read from an event: pointers are replaced by indexes of picks.
enum ValuePlan: Sendable {
    case payloadPick(Int)
    case itemPick(Int)
    case metadataPick(Int)
    case payload, stream, type, time, position
    /// The given number of leading characters of a date or date-time.
    indirect case prefix(ValuePlan, Int)
    case template([Piece])
    /// Canonical JSON text.
    case constant([UInt8])

    /// The index of the payload pick; -1 if the plan is something else.
    var payloadPick: Int {
        if case .payloadPick(let pick) = self { pick } else { -1 }
    }

    enum Piece: Sendable {
        case literal([UInt8])
        indirect case value(ValuePlan)
    }
}

/// An image with the values found in it.
struct EventView: ~Copyable, ~Escapable {
    let payload: RawSpan
    let metadata: RawSpan
    /// The current element of `each`; the payload if there is none.
    let item: RawSpan

    @_lifetime(copy payload, copy metadata, copy item)
    init(payload: RawSpan, metadata: RawSpan, item: RawSpan) {
        (self.payload, self.metadata, self.item) = (payload, metadata, item)
    }
}

extension ValuePlan {
    /// Appends the value as compact JSON text. Returns false if it is absent.
    func appendJSON(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ workspace: borrowing FoldWorkspace, into output: inout ByteBuffer
    ) throws(FoldError) -> Bool {
        switch self {
        case .payloadPick(let index): return Self.append(event.payload, workspace.payloadPicks[index], into: &output)
        case .itemPick(let index): return Self.append(event.item, workspace.itemPicks[index], into: &output)
        case .metadataPick(let index): return Self.append(event.metadata, workspace.metadataPicks[index], into: &output)
        case .payload: appendCompact(event.payload, into: &output)
        case .constant(let text): output.append(text)
        case .position: output.append(digits: facts.position.rawValue)
        case .stream: appendQuoted(facts.stream, into: &output)
        case .type: appendQuoted(facts.type, into: &output)
        case .time: facts.time.appendQuoted(to: &output)
        case .prefix, .template:
            var text = ByteBuffer(capacity: 64)
            guard try appendText(facts, event, workspace, into: &text) else { return false }
            appendQuoted(text.bytes, into: &output)
        }
        return true
    }

    /// Appends the value as text: the characters of a string, the canonical form of a number, or a boolean. Returns false if it is absent.
    func appendText(
        _ facts: borrowing EventFacts, _ event: borrowing EventView, _ workspace: borrowing FoldWorkspace, into output: inout ByteBuffer
    ) throws(FoldError) -> Bool {
        switch self {
        case .payloadPick(let index): return try Self.appendText(event.payload, workspace.payloadPicks[index], into: &output)
        case .itemPick(let index): return try Self.appendText(event.item, workspace.itemPicks[index], into: &output)
        case .metadataPick(let index): return try Self.appendText(event.metadata, workspace.metadataPicks[index], into: &output)
        case .payload: throw FoldError("the payload can't stand in a text")
        case .constant(let text): return try Self.appendText(text.lent, ByteSlice(0, text.count), into: &output)
        case .position: output.append(digits: facts.position.rawValue)
        case .stream: output.append(facts.stream)
        case .type: output.append(facts.type)
        case .time: facts.time.append(to: &output)
        case .prefix(let plan, let count):
            let start = output.count
            guard try plan.appendText(facts, event, workspace, into: &output) else { return false }
            guard Self.isDate(output.slice(start, output.count - start)) else {
                throw FoldError("neither a date nor a date-time: \(quoted(String(utf8: output.slice(start, output.count - start)) ?? ""))")
            }
            output.truncate(to: start + count)
        case .template(let pieces):
            for piece in pieces {
                switch piece {
                case .literal(let text): output.append(text)
                case .value(let plan): guard try plan.appendText(facts, event, workspace, into: &output) else { return false }
                }
            }
        }
        return true
    }

    private static func append(_ text: RawSpan, _ slice: ByteSlice, into output: inout ByteBuffer) -> Bool {
        guard slice.isPresent else { return false }
        appendCompact(text.slice(slice.start, slice.size), into: &output)
        return true
    }

    static func appendText(_ text: RawSpan, _ slice: ByteSlice, into output: inout ByteBuffer) throws(FoldError) -> Bool {
        guard slice.isPresent, slice.size > 0 else { return false }
        let value = text.slice(slice.start, slice.size)
        switch JSONText.appendText(of: value, into: &output) {
        case .text: return true
        case .none: return false
        case .container: throw FoldError("\(ValueOrder.Kind.words(value)) can't stand in a text")
        }
    }

    private static func isDate(_ text: RawSpan) -> Bool {
        guard text.byteCount >= 10 else { return false }
        for offset in 0 ..< 10 {
            let byte = text.byte(at: offset)
            guard offset == 4 || offset == 7 ? byte == UInt8(ascii: "-") : (48 ... 57).contains(byte) else { return false }
        }
        return text.byteCount == 10 || text.byte(at: 10) == UInt8(ascii: "T") || text.byte(at: 10) == UInt8(ascii: " ")
    }
}
