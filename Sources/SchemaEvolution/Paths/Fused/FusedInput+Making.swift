internal import Bytes
internal import JSONText

extension FusedInput {
    /// Slot `target` becomes what a codec makes of a value; whether that was in the codec's own form, nil where it is refused.
    mutating func convert(_ slot: Int, to target: Int, _ converter: borrowing FusedConverter) -> Bool? {
        let found = slots[slot]
        let place = found.content
        let start = made.count
        let isCanonical: Bool
        do {
            if found.isMade {
                scratch.removeAll()
                scratch.append(place.start, place.count, of: made)
                isCanonical = try converter.run(scratch, 0, place.count, found.kind, into: &made)
            } else {
                isCanonical = try converter.run(text, place.start, place.count, found.kind, into: &made)
            }
        } catch { return nil }
        guard isCanonical || !converter.isStrict, made.count > start, let kind = JSONKind(firstByte: made.byte(at: start)) else {
            return nil
        }
        slots[target] = ValueSlot(made: kind, start, made.count)
        return isCanonical
    }

    /// A slot becomes texts, one after the other.
    mutating func concatenate(_ list: borrowing [FusedTools.Text], to target: Int) {
        scratch.removeAll()
        for index in list.indices {
            switch list[index] {
            case .literal(let text): scratch.append(text)
            case .slot(let slot):
                let found = slots[slot]
                let place = found.content
                if found.isMade {
                    scratch.append(place.start, place.count, of: made)
                } else {
                    scratch.append(place.start, place.count, of: text)
                }
            }
        }
        let start = made.count
        made.append(0, scratch.count, of: scratch)
        slots[target] = ValueSlot(made: .string, start, made.count)
        slots[target].isBare = true
    }

    /// The slots from `target` on become the parts of a text; how many, nil where there are too few and that is refused.
    mutating func split(_ slot: Int, to target: Int, _ cutter: borrowing Cutter) -> Int? {
        let found = slots[slot]
        let place = found.content
        let isCut =
            found.isMade ? cutter.cut(made, place.start, place.count, into: &cuts) : cutter.cut(text, place.start, place.count, into: &cuts)
        if !isCut { return nil }
        for index in 0 ..< cuts.count {
            var part = ValueSlot(kind: .string)
            part.start = Int32(truncatingIfNeeded: place.start) &+ cuts[index].start
            part.end = part.start &+ cuts[index].count
            part.isMade = found.isMade
            part.isBare = true
            slots[target &+ index] = part
        }
        return cuts.count
    }

    /// Slot `target` becomes the first element; how many stand behind it, below zero where there is none, nil where the list
    /// is malformed.
    mutating func first(_ slot: Int, to target: Int) -> Int? {
        guard let found = scanElements(text, at: Int(slots[slot].start)) else { return nil }
        if found.count > 0 { slots[target] = found.first }
        return found.count - 1
    }

    /// Whether a value, whose kind is the constant's, means the same as that; a string has no escapes, here and there.
    mutating func means(_ slot: Int, _ canonical: borrowing [UInt8]) -> Bool {
        if case .string = slots[slot].kind { return content(slot).equals(canonical.lent.slice(1, canonical.count - 2)) }
        if text(slot).equals(canonical.lent) { return true }
        switch slots[slot].kind {
        case .true, .false: return false
        default: break
        }
        let found = [UInt8](copying: text(slot))
        scratch.removeAll()
        do { try Canonical.write(found.lent, into: &scratch) } catch { return false }
        return scratch.bytes.equals(canonical.lent)
    }
}

// What is lent by a field is lent by the whole value, so whole buffers are handed over.

extension ByteBuffer {
    fileprivate mutating func append(_ start: Int, _ count: Int, of source: borrowing ByteBuffer) { append(source.slice(start, count)) }
}

extension Cutter {
    fileprivate borrowing func cut(_ source: borrowing ByteBuffer, _ start: Int, _ count: Int, into cuts: inout Slots<Cut>) -> Bool {
        cut(source.slice(start, count), into: &cuts)
    }
}

extension FusedConverter {
    fileprivate borrowing func run(
        _ source: borrowing ByteBuffer, _ start: Int, _ count: Int, _ kind: JSONKind, into output: inout ByteBuffer
    ) throws(CodecRefusal) -> Bool {
        switch direction {
        case .up: try codec.up(source.slice(start, count), kind, into: &output)
        case .down: try codec.down(source.slice(start, count), kind, into: &output)
        }
    }
}
