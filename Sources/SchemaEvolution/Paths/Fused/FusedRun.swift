internal import Bytes
internal import JSONText

/// Runs fused programs: one scan of the input, the derived values, and one pass that writes the output.
struct FusedRun: ~Copyable {
    /// An image that a program made.
    struct Image: BitwiseCopyable, Sendable {
        let end: Int32
        /// Whether the image is a range of `output`; otherwise it consists of the requested values, a range of `places` in `found`.
        let isWhole: Bool
        let start, count: Int32
    }

    private(set) var output = ByteBuffer(capacity: 4096)
    /// A buffer for assembling a requested value.
    private var value = ByteBuffer(capacity: 256)
    private(set) var images = UniqueArray<Image>(capacity: 8)
    private(set) var places = UniqueArray<ByteSlice>(capacity: 32)
    private var input = FusedInput()
    /// The counts of a run. They are added to the totals if the program completes; otherwise the ops count.
    private var tally = PathCounts()
    /// A hash of the decisions for the last event: the outcomes of its branches, the instructions that lost something, and the decisions
    /// for its elements.
    private(set) var trace: UInt64 = 0
    private var elements: FusedElementRun?

    /// The text that contains the requested values: the input, followed by made texts.
    var found: RawSpan {
        @_lifetime(borrow self)
        get { input.text.bytes }
    }

    /// Makes an event's images. Returns false if the ops must convert the event.
    mutating func run(_ program: FusedProgram, _ payload: RawSpan, _ run: inout OpRun) -> Bool {
        output.removeAll()
        images.removeAll()
        places.removeAll()
        tally = PathCounts()
        trace = 1
        guard input.scan(payload, for: program), follow(program, &run) else { return false }
        run.counts.lost &+= tally.lost
        run.counts.nonCanonical &+= tally.nonCanonical
        run.counts.hidden &+= tally.hidden
        run.counts.dropped &+= tally.dropped
        return true
    }

    /// Converts the elements of a list or the values of a map into the output, including the brackets.
    mutating func run(
        _ program: FusedProgram, elementsOf list: RawSpan, _ run: inout OpRun, _ tally: inout PathCounts
    ) -> Bool {
        output.removeAll()
        self.tally = PathCounts()
        trace = 1
        guard var offset = input.takeElements(list) else { return false }
        let isMap = input.text.byte(at: offset) == UInt8(ascii: "{")
        output.append(isMap ? UInt8(ascii: "{") : UInt8(ascii: "["))
        let inside = output.count
        offset &+= 1
        while true {
            let isFirst = output.count == inside
            if isMap {
                guard let name = input.step(&offset, { $0.nextName() }) else { break }
                if !isFirst { output.append(UInt8(ascii: ",")) }
                output.append(name.start, name.end &- name.start, of: input.text)
                output.append(UInt8(ascii: ":"))
            } else {
                guard input.step(&offset, { $0.nextElement() }) else { break }
                if !isFirst { output.append(UInt8(ascii: ",")) }
            }
            images.removeAll()
            let start = offset
            if input.step(&offset, { $0.skipNull() }) {
                output.append(start, offset &- start, of: input.text)
            } else {
                guard let end = input.scanElement(at: start, for: program), follow(program, &run) else { return false }
                offset = end
            }
        }
        if offset > input.text.count { return false }
        output.append(isMap ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        tally.lost &+= self.tally.lost
        tally.nonCanonical &+= self.tally.nonCanonical
        return true
    }

    private mutating func follow(_ program: FusedProgram, _ run: inout OpRun) -> Bool {
        var index = 0
        while true {
            let step = program.code[index]
            let slot = Int(step.a)
            var outcome = 0
            index &+= 1
            switch step.code {
            case .kind:
                if step.b &>> Int32(input.slots[slot].kind.rawValue) & 1 == 0 { return false }
                continue
            case .content:
                input.takeContent(slot, to: Int(step.b))
                continue
            case .convert:
                guard let isCanonical = input.convert(slot, to: Int(step.b), program.converters[Int(step.c)]) else { return false }
                if !isCanonical, program.converters[Int(step.c)].counts {
                    tally.nonCanonical &+= 1
                    turned(at: Self.costly(index))
                }
                continue
            case .concatenate:
                input.concatenate(program.lists[Int(step.b)], to: slot)
                continue
            case .each:
                guard makeElements(of: slot, to: Int(step.b), program.programs[Int(step.c)], &run) else { return false }
                continue
            case .lose:
                tally.lost &+= slot
                continue
            case .loseUnless:
                if input.slots[slot].start >= 0, !input.means(slot, anyOf: program.choices[Int(step.b)]) {
                    tally.lost &+= 1
                    turned(at: Self.costly(index))
                }
                continue
            case .hide:
                tally.hidden &+= 1
                continue
            case .drop:
                tally.dropped &+= 1
                continue
            case .write:
                let start = output.count
                write(program, slot, Int(step.b), input, into: &output)
                images.append(Image(end: step.c, isWhole: true, start: Int32(start), count: Int32(output.count &- start)))
                continue
            case .read:
                let start = places.count
                read(program, slot, Int(step.b))
                images.append(Image(end: step.c, isWhole: false, start: Int32(start), count: Int32(places.count &- start)))
                continue
            case .done: return true
            case .giveUp: return false
            case .isNull:
                if case .null = input.slots[slot].kind { outcome = 1 }
            case .isAbsent: outcome = input.slots[slot].start < 0 ? 1 : 0
            case .differs: outcome = input.means(slot, anyOf: program.choices[Int(step.b)]) ? 0 : 1
            case .differsFrom: outcome = input.content(slot).equals(input.content(Int(step.b))) ? 0 : 1
            case .meansOther: outcome = input.means(slot, sameAs: Int(step.b)) ? 0 : 1
            case .misfits: outcome = input.fits(slot, program.shapes[Int(step.b)]) ? 0 : 1
            case .fails: outcome = holds(program.guards[Int(step.b)], slot, &run) ? 0 : 1
            case .beside: outcome = input.takeBeside(program.sources[slot], to: Int(step.b), &run) ? 0 : 1
            case .split:
                guard let parts = input.split(slot, to: Int(step.b) & 0xFF, program.separators[Int(step.b) >> 8]) else { return false }
                outcome = parts - 1
            case .first:
                guard let more = input.first(slot, to: Int(step.b)) else { return false }
                if more < 0 {
                    outcome = 1
                } else if more > 0 {
                    tally.lost &+= more
                    turned(at: Self.costly(index))
                }
            case .select:
                guard let found = input.select(slot, program.choices[Int(step.b)]) else { return false }
                outcome = found
            }
            let turn = Int(step.c) &+ outcome
            turned(at: UInt64(truncatingIfNeeded: turn))
            index = Int(program.targets[turn])
        }
    }

    /// An instruction that lost something contributes to the hash like an outcome.
    private static func costly(_ index: Int) -> UInt64 { UInt64(truncatingIfNeeded: ~index) }

    @inline(__always)
    private mutating func turned(at place: UInt64) { trace = (trace ^ (place &+ 1)) &* 0x9e37_79b9_7f4a_7c15 }

    private func holds(_ test: borrowing Guard, _ slot: Int, _ run: inout OpRun) -> Bool {
        slot < 0 ? test.holdsBeside(&run) : test.holds(onContent: input.content(slot), input.slots[slot].kind)
    }

    private mutating func makeElements(
        of slot: Int, to target: Int, _ program: FusedProgram, _ run: inout OpRun
    ) -> Bool {
        let found = input.slots[slot]
        if case .null = found.kind {
            input.slots[target] = found
            return true
        }
        let elements = elements ?? FusedElementRun()
        self.elements = elements
        var tally = tally
        guard elements.run.run(program, elementsOf: input.text(slot), &run, &tally) else { return false }
        self.tally = tally
        turned(at: elements.run.trace)
        input.slots[target] = input.take(made: elements.run.output, found.kind)
        return true
    }

    /// Collects the requested values. Texts in slots are not copied.
    private mutating func read(_ program: FusedProgram, _ first: Int, _ count: Int) {
        let behind = input.takeMade()
        for index in first ..< first &+ count {
            let value = program.values[index]
            if value.isBare {
                places.append(input.quote(Int(value.slot), made: behind))
            } else if value.slot >= 0 {
                let found = input.slots[Int(value.slot)]
                let start = found.isMade ? found.start &+ behind : found.start
                places.append(ByteSlice(offset: start, count: found.start < 0 ? -1 : found.end &- found.start))
            } else if value.count == 0 {
                places.append(.absent)
            } else {
                self.value.removeAll()
                write(program, Int(value.pieces), Int(value.count), input, into: &self.value)
                places.append(ByteSlice(offset: input.take(self.value), count: Int32(truncatingIfNeeded: self.value.count)))
            }
        }
    }
}

/// A run for the elements of lists; each nesting level of lists has its own.
final class FusedElementRun {
    var run = FusedRun()
}

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
