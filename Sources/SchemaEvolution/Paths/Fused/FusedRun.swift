internal import Bytes
internal import JSONText

/// Runs fused programs: one scan of the input, what has to be made, and one pass that writes the output.
struct FusedRun: ~Copyable {
    /// How an event came out.
    enum Result {
        /// Its image is the output.
        case image(end: Int)
        /// What was asked for of its image is in the output, at `places`.
        case values(end: Int)
        case hidden, dropped
        /// The ops have to say what becomes of it.
        case unknown
    }

    private(set) var output = ByteBuffer(capacity: 4096)
    private(set) var places = ByteBuffer(capacity: 256)
    private var input = FusedInput()
    private var made = ByteBuffer(capacity: 1024)
    private var scratch = ByteBuffer(capacity: 256)
    private var cuts = Slots<Cut>(capacity: 8)

    mutating func run(_ program: FusedProgram, _ payload: RawSpan, _ counts: inout PathCounts) -> Result {
        made.removeAll()
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
            case .require:
                if input.slots[slot].start < 0 { return .unknown }
                continue
            case .kind:
                if step.b &>> Int32(input.slots[slot].kind.rawValue) & 1 == 0 { return .unknown }
                continue
            case .plain:
                guard isPlain(slot, input, made) else { return .unknown }
                continue
            case .convert:
                guard let isCanonical = convert(slot, to: Int(step.b), program, Int(step.c)) else { return .unknown }
                if !isCanonical, program.tools.converters[Int(step.c)].counts { nonCanonical &+= 1 }
                continue
            case .concatenate:
                let start = made.count
                concatenate(program.tools.lists[Int(step.b)], input, &scratch, into: &made)
                input.slots[slot] = ValueSlot(made: .string, start, made.count)
                input.slots[slot].isBare = true
                continue
            case .lose:
                lost &+= slot
                continue
            case .kindOrNull:
                let kind = input.slots[slot].kind
                if kind == .null { outcome = 1 } else if step.b &>> Int32(kind.rawValue) & 1 == 0 { return .unknown }
            case .isAbsent: outcome = input.slots[slot].start < 0 ? 1 : 0
            case .differs: outcome = means(slot, program.tools.constants[Int(step.b)], input, made, &scratch) ? 0 : 1
            case .differsFrom: outcome = hasSameContent(slot, Int(step.b), input, made) ? 0 : 1
            case .meansOther: outcome = means(slot, Int(step.b), input, made) ? 0 : 1
            case .misfits: outcome = fits(slot, program.tools.shapes[Int(step.b)], input, made) ? 0 : 1
            case .split:
                guard let parts = split(slot, to: Int(step.b) & 0xFF, program.tools.separators[Int(step.b) >> 8]) else { return .unknown }
                outcome = parts - 1
            case .first:
                guard let more = first(slot, to: Int(step.b)) else { return .unknown }
                if more < 0 { outcome = 1 } else { lost &+= more }
            case .select:
                guard let found = select(slot, program.tools.values[Int(step.b)], input, made) else { return .unknown }
                outcome = found
            case .write:
                counts.lost &+= lost
                counts.nonCanonical &+= nonCanonical
                output.removeAll()
                write(program, slot, Int(step.b), input, made, into: &output)
                return .image(end: Int(step.c))
            case .read:
                counts.lost &+= lost
                counts.nonCanonical &+= nonCanonical
                output.removeAll()
                places.removeAll()
                read(program, slot, Int(step.b), input, made, into: &output, &places)
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

    private mutating func convert(_ source: Int, to target: Int, _ program: FusedProgram, _ index: Int) -> Bool? {
        let start = made.count
        guard let isCanonical = SchemaEvolution.convert(source, program.tools.converters[index], input, &scratch, into: &made),
            made.count > start, let kind = JSONKind(firstByte: made.bytes.byte(at: start))
        else { return nil }
        input.slots[target] = ValueSlot(made: kind, start, made.count)
        return isCanonical
    }

    /// How many parts the text has; nil where there are too few and that is refused.
    private mutating func split(_ source: Int, to target: Int, _ rule: SeparatedText) -> Int? {
        guard cut(source, rule, input, made, into: &cuts) else { return nil }
        let found = input.slots[source]
        let first = found.start &+ (found.isBare ? 0 : 1)
        for index in 0 ..< cuts.count {
            var part = ValueSlot(kind: .string)
            part.start = first &+ cuts[index].start
            part.end = part.start &+ cuts[index].count
            part.isMade = found.isMade
            part.isBare = true
            input.slots[target &+ index] = part
        }
        return cuts.count
    }

    /// How many elements stand behind the first; below zero where there is none, nil where the list is malformed.
    private mutating func first(_ source: Int, to target: Int) -> Int? {
        guard let found = scanElements(input.text, at: Int(input.slots[source].start)) else { return nil }
        if found.count > 0 { input.slots[target] = found.first }
        return found.count - 1
    }
}

extension ValueSlot {
    /// Text that was made.
    fileprivate init(made kind: JSONKind, _ start: Int, _ end: Int) {
        self.init(kind: kind)
        self.start = Int32(truncatingIfNeeded: start)
        self.end = Int32(truncatingIfNeeded: end)
        isMade = true
    }
}
