internal import Bytes
internal import JSONText

/// Runs fused programs: one scan of the input, what has to be made, and one pass that writes the output.
struct FusedRun: ~Copyable {
    /// How an event came out.
    enum Result {
        /// Its image is the output.
        case image(end: Int)
        /// What was asked for of its image is in `found`, at `places`.
        case values(end: Int)
        case hidden, dropped
        /// The ops have to say what becomes of it.
        case unknown
    }

    private(set) var output = ByteBuffer(capacity: 4096)
    private(set) var places = Slots<ByteSlice>(capacity: 32)
    private var input = FusedInput()

    /// What values were found in: the input, and behind it what was made.
    var found: RawSpan {
        @_lifetime(borrow self)
        get { input.text.bytes }
    }

    mutating func run(_ program: FusedProgram, _ payload: RawSpan, _ counts: inout PathCounts) -> Result {
        guard input.scan(payload, for: program) else { return .unknown }
        // Counted only where the program comes to an end: else the ops count.
        var lost = 0
        var nonCanonical = 0
        var index = 0
        while true {
            let step = program.code[index]
            let slot = Int(step.a)
            var outcome = 0
            index &+= 1
            switch step.code {
            case .kind:
                if step.b &>> Int32(input.slots[slot].kind.rawValue) & 1 == 0 { return .unknown }
                continue
            case .plain:
                guard input.isPlain(slot) else { return .unknown }
                continue
            case .convert:
                guard let isCanonical = input.convert(slot, to: Int(step.b), program.converters[Int(step.c)]) else { return .unknown }
                if !isCanonical, program.converters[Int(step.c)].counts { nonCanonical &+= 1 }
                continue
            case .concatenate:
                input.concatenate(program.lists[Int(step.b)], to: slot)
                continue
            case .lose:
                lost &+= slot
                continue
            case .isNull:
                if case .null = input.slots[slot].kind { outcome = 1 }
            case .isAbsent: outcome = input.slots[slot].start < 0 ? 1 : 0
            case .differs: outcome = input.means(slot, program.canonical[Int(step.b)]) ? 0 : 1
            case .differsFrom: outcome = input.hasSameContent(slot, Int(step.b)) ? 0 : 1
            case .meansOther: outcome = input.means(slot, sameAs: Int(step.b)) ? 0 : 1
            case .misfits: outcome = input.fits(slot, program.shapes[Int(step.b)]) ? 0 : 1
            case .split:
                guard let parts = input.split(slot, to: Int(step.b) & 0xFF, program.separators[Int(step.b) >> 8]) else { return .unknown }
                outcome = parts - 1
            case .first:
                guard let more = input.first(slot, to: Int(step.b)) else { return .unknown }
                if more < 0 { outcome = 1 } else { lost &+= more }
            case .select:
                guard let found = input.select(slot, program.choices[Int(step.b)]) else { return .unknown }
                outcome = found
            case .write:
                counts.lost &+= lost
                counts.nonCanonical &+= nonCanonical
                output.removeAll()
                write(program, slot, Int(step.b), input, into: &output)
                return .image(end: Int(step.c))
            case .read:
                counts.lost &+= lost
                counts.nonCanonical &+= nonCanonical
                read(program, slot, Int(step.b))
                return .values(end: Int(step.c))
            case .hide, .drop:
                counts.lost &+= lost
                counts.nonCanonical &+= nonCanonical
                return step.code == .hide ? .hidden : .dropped
            case .giveUp: return .unknown
            }
            index = Int(program.targets[Int(step.c) &+ outcome])
        }
    }

    /// Finds the values that were asked for. Those that are texts in slots stay where they are.
    private mutating func read(_ program: FusedProgram, _ first: Int, _ count: Int) {
        let behind = input.takeMade()
        places.removeAll()
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
                output.removeAll()
                write(program, Int(value.pieces), Int(value.count), input, into: &output)
                places.append(ByteSlice(offset: input.take(output), count: Int32(truncatingIfNeeded: output.count)))
            }
        }
    }
}
