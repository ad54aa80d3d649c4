internal import Bytes
internal import JSONText

/// Writes consecutive pieces.
func write(
    _ program: FusedProgram, _ first: Int, _ count: Int, _ input: borrowing FusedInput,
    into output: inout ByteBuffer
) {
    var skipped = 0
    for index in first ..< first &+ count {
        let piece = program.pieces[index]
        switch piece.kind {
        case .constant:
            append(program.constants, Int(piece.a) &+ skipped, Int(piece.b) &- skipped, to: &output)
            skipped = 0
        case .slot: output.append(input.text(Int(piece.a)))
        case .quoted: input.appendQuoted(Int(piece.a), to: &output)
        case .members: _ = writeMembers(program, Int(piece.a), Int(piece.b), input, into: &output)
        case .membersBeforeComma: skipped = writeMembers(program, Int(piece.a), Int(piece.b), input, into: &output) ? 0 : 1
        }
    }
}

@inline(__always)
private func append(_ constants: borrowing ByteBuffer, _ start: Int, _ count: Int, to output: inout ByteBuffer) {
    output.append(constants.slice(start, count))
}

/// Writes the remaining members of an object in place. Returns false if there are none. Adjacent members are copied together.
private func writeMembers(
    _ program: FusedProgram, _ object: Int, _ actions: Int, _ input: borrowing FusedInput,
    into output: inout ByteBuffer
) -> Bool {
    let first = actions &- program.objects[object].base
    var start = 0
    var stop = 0
    var isFirst = true
    for index in input.members(of: object) {
        let slot = Int(input.order.slots[index])
        let action = program.actions[first &+ slot]
        if action.count < 0 { continue }
        let found = input.slots[slot]
        if action.count == 0, found.isCompact {
            if stop > 0, Int(found.nameStart) == stop &+ 1 {
                stop = Int(found.end)
                continue
            }
            if stop > start { output.append(input.text.slice(start, stop &- start)) }
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            (start, stop) = (Int(found.nameStart), Int(found.end))
            continue
        }
        if stop > start { output.append(input.text.slice(start, stop &- start)) }
        (start, stop) = (0, 0)
        if !isFirst { output.append(UInt8(ascii: ",")) }
        isFirst = false
        if action.count > 0 {
            write(program, Int(action.pieces), Int(action.count), input, into: &output)
        } else {
            output.append(input.text.slice(Int(found.nameStart), Int(found.nameEnd &- found.nameStart)))
            output.append(UInt8(ascii: ":"))
            output.append(input.text.slice(Int(found.start), Int(found.end &- found.start)))
        }
    }
    if stop > start { output.append(input.text.slice(start, stop &- start)) }
    return !isFirst
}
