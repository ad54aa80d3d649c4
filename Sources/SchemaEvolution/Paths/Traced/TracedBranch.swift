internal import Bytes
package import EventModel
package import JSONText

/// One branch of the conversion of a type's images from a version to a later one, and what it makes of each image.
package struct TracedBranch: Sendable {
    /// The image's type at the later version; nil if there is none because a step hides or drops it.
    package let type: String?
    private let draft: SymbolicDocument
    private let shape: Shape
    /// The contents of the slots of the symbolic document's program.
    private var slots: [Int: ValueTerm] = [:]
    private var places: [Int: JSONPointer] = [:]
    // Facts about all images that take this branch.
    private var isThere: [PresenceCondition: Bool] = [:]
    private var equal: [ValueTerm: [UInt8]] = [:]
    private var different: [ValueTerm: Set<[UInt8]>] = [:]

    /// The value at a pointer of the later image.
    package enum Found: Hashable, Sendable {
        case nothing
        case term(ValueTerm)
        /// The value can't be determined.
        case unclear
    }

    /// Why an image may have no counterpart at the later version, as a clause; nil if every image that takes this branch has one.
    private(set) var refusal: String?

    init(_ draft: SymbolicDocument, of shape: Shape) {
        (self.draft, self.shape) = (draft, shape)
        let end = draft.trace.last { $0.instruction.code == .read || $0.instruction.code == .write }?.instruction
        type = end.map { draft.tools.ends[Int($0.c)].type }
        for object in draft.layout.objects {
            guard let place = object.slot.map({ places[$0] }) ?? JSONPointer(), let inner = shape.shape(at: place) else { continue }
            for (index, property) in inner.properties.enumerated() { places[object.base + index] = place.appending(property.name) }
        }
        for (slot, place) in places { slots[slot] = .member(place) }
        if let end, draft.tools.ends[Int(end.c)].isUnproved { refusal = "a step takes only some of what older versions have" }
        var choices = draft.choices[...]
        for step in draft.trace {
            let outcome = step.isChoice ? choices.removeFirst().outcome : 0
            if refusal == nil { refusal = take(step.instruction, outcome) }
        }
    }

    /// Records what an instruction makes or finds out. Returns the reason if it may refuse an image.
    private mutating func take(_ instruction: FusedInstruction, _ outcome: Int) -> String? {
        let (a, b) = (Int(instruction.a), Int(instruction.b))
        switch instruction.code {
        case .isAbsent: if let place = places[a] { isThere[.member(place)] = outcome == 0 }
        case .isNull: if case .member(let place)? = slots[a] { isThere[.value(place)] = outcome == 0 }
        case .content: slots[b] = slots[a]
        case .concatenate:
            var pieces: [ValueTerm.Piece] = []
            for part in draft.tools.lists[b] {
                switch part {
                case .literal(let text): pieces.append(.literal(text))
                case .slot(let slot), .number(let slot):
                    guard let term = slots[slot] else { return "a text is made of what can't be told" }
                    pieces.append(.value(term))
                }
            }
            slots[a] = .text(pieces)
        case .convert:
            let conversion = draft.tools.converters[Int(instruction.c)]
            guard let term = slots[a], let values = values(of: term), let made = ValueTerm(term, values, through: conversion) else {
                return "what stands at \(conversion.pointer) may be what the codec can't read"
            }
            slots[b] = made
        case .kind:
            guard case .chosen(_, let choices, _)? = slots[a],
                choices.allSatisfy({ JSONKind(firstByte: $0.to.lent.peek(at: 0)).map { b & $0.bits != 0 } == true })
            else { return "a value may be of another kind" }
        case .beside:
            let source = draft.tools.sources[a]
            isThere[.source(source, isText: false)] = outcome == 0
            slots[b] = .source(source)
        case .select:
            let cases = draft.tools.values[b].map { JSONValue.string(String(decoding: $0, as: UTF8.self)).canonical() }
            guard let values = slots[a].flatMap(values(of:)), values.allSatisfy(cases.contains) else {
                return "what tells its type may be none of the cases"
            }
        case .split: return "a text is split into parts, which are not followed"
        case .each: return "what is done to the elements of a list may refuse one"
        case .giveUp: return "an op may refuse it, or treats it by itself"
        case .differs:
            guard let term = slots[a] else { break }
            let values = draft.tools.values[b]
            if outcome == 1 { different[term, default: []].formUnion(values) } else if values.count == 1 { equal[term] = values[0] }
        case .first, .differsFrom, .meansOther, .misfits, .fails, .lose, .loseUnless, .hide, .drop, .write, .read, .done: break
        }
        return nil
    }

    /// All strings and booleans that a value can be, in canonical form; nil if they can't be enumerated.
    private func values(of term: ValueTerm) -> [[UInt8]]? {
        switch term {
        case .member(let place):
            guard let shape = shape.shape(at: place) else { return nil }
            if shape.kind == .boolean { return [JSONValue.bool(true), .bool(false)].map { $0.canonical() } }
            guard shape.kind == .string, let values = shape.enumeration ?? shape.constant.map({ [$0] }) else { return nil }
            return values.filter { $0 != .null }.map { $0.canonical() }
        case .chosen(_, let choices, _): return Array(Set(choices.map(\.to)))
        case .constant, .source, .text, .prefix, .list, .constantBeside, .slot: return nil
        }
    }

    /// The value at a pointer of the later image.
    package func find(_ place: JSONPointer) -> Found {
        var node = draft.root
        for (index, name) in place.tokens.enumerated() {
            switch draft.nodes[node].value {
            case .object(let children, _):
                guard let child = children.first(where: { draft.nodes[$0].name == name }) else { return .nothing }
                node = child
            case .input(let slot):
                guard case .member(let older)? = slots[slot] else { return .unclear }
                return .term(.member(JSONPointer(tokens: older.tokens + place.tokens[index...])))
            case .text, .made, .constant, .list, .each: return .unclear
            }
        }
        return term(of: node).map { .term($0) } ?? .unclear
    }

    private func term(of node: Int) -> ValueTerm? {
        switch draft.nodes[node].value {
        case .input(let slot), .made(let slot, _): return slots[slot]
        case .text(let slot): if case .text? = slots[slot] { return slots[slot] } else { return nil }
        case .constant(let json): return draft.nodes[node].isSure ? ValueTerm(constant: json) : nil
        case .list(let element): return term(of: element).map { .list($0) }
        case .object: return untouched(node).map { .member($0) }
        case .each: return nil
        }
    }

    /// The pointer at which an object with unchanged members is in the older image; nil if there is none.
    private func untouched(_ node: Int) -> JSONPointer? {
        guard case .object(let children, let number?) = draft.nodes[node].value else { return nil }
        let object = draft.layout.objects[number]
        guard let place = object.slot.map({ places[$0] }) ?? JSONPointer() else { return nil }
        var left: Set<Int> = []
        for child in children {
            let entry = draft.nodes[child]
            guard let slot = entry.slot, entry.isInPlace, !entry.isRenamed else { return nil }
            switch entry.value {
            case .input(slot): break
            case .object: if untouched(child) != places[slot] { return nil }
            default: return nil
            }
            left.insert(slot)
        }
        for slot in object.base ..< object.base + object.members.count where !left.contains(slot) {
            guard let member = places[slot], isThere[.member(member)] == false else { return nil }
        }
        return place
    }

    /// The conditions for the presence of a value: nil if it is never present, empty if it always is.
    package func conditions(of term: ValueTerm) -> Set<PresenceCondition>? {
        switch term {
        case .member(let place): conditions(of: place)
        case .constant, .slot: []
        case .source(let source): conditions(of: source, isText: false)
        case .prefix(let term, _): textConditions(of: term)
        case .chosen(let term, _, _), .list(let term), .constantBeside(let term, _): conditions(of: term)
        case .text(let pieces):
            pieces.reduce([]) { found, piece in
                guard let found, case .value(let term) = piece else { return found }
                return textConditions(of: term).map(found.union)
            }
        }
    }

    /// As `conditions`, for a value that is used in a text: null has no text.
    private func textConditions(of term: ValueTerm) -> Set<PresenceCondition>? {
        guard let conditions = conditions(of: term) else { return nil }
        switch term {
        case .source(let source): return self.conditions(of: source, isText: true)
        case .chosen(let inner, _, _): return textConditions(of: inner)
        case .member(let place):
            guard shape.at(place).map({ $0.isNullable || $0.kind == .any || $0.kind == .null }) != false else { return conditions }
            switch isThere[.value(place)] {
            case true?: return conditions
            case false?: return nil
            case nil: return conditions.union([.value(place)])
            }
        case .constant, .text, .prefix, .list, .constantBeside, .slot: return conditions
        }
    }

    private func conditions(of source: Source, isText: Bool) -> Set<PresenceCondition>? {
        switch source {
        case .time, .position, .stream, .type, .payload, .constant: return []
        default:
            switch isThere[.source(source, isText: false)] {
            case false?: return nil
            case true? where !isText: return []
            default: return [.source(source, isText: isText)]
            }
        }
    }

    private func conditions(of place: JSONPointer) -> Set<PresenceCondition>? {
        var (found, inner): (Set<PresenceCondition>, Shape) = ([], shape)
        for index in place.tokens.indices {
            let prefix = JSONPointer(tokens: Array(place.tokens[...index]))
            if inner.isMap || inner.kind == .any { return found.union([.member(place)]) }
            if index > 0, inner.isNullable {
                let holder = JSONPointer(tokens: Array(place.tokens[..<index]))
                if isThere[.value(holder)] == false { return nil }
                if isThere[.value(holder)] == nil { found.insert(.value(holder)) }
            }
            guard let next = inner.property(place.tokens[index].text) else { return nil }
            if !inner.required.contains(place.tokens[index].text) {
                if isThere[.member(prefix)] == false { return nil }
                if isThere[.member(prefix)] == nil { found.insert(.member(prefix)) }
            }
            inner = next
        }
        return found
    }

    /// The value that a term certainly equals, in canonical form; nil if it is not unique.
    package func meaning(of term: ValueTerm) -> [UInt8]? { equal[term] }

    /// Values that a term certainly does not equal, in canonical form.
    package func excluded(of term: ValueTerm) -> Set<[UInt8]> { different[term] ?? [] }

    /// Whether a value is certainly null if it is present.
    package func isNull(_ term: ValueTerm) -> Bool {
        switch term {
        case .member(let place): isThere[.value(place)] == false || shape.at(place)?.kind == .null
        case .constant(let json): json == Array("null".utf8)
        case .chosen(let term, _, _): isNull(term)
        case .source, .text, .prefix, .list, .constantBeside, .slot: false
        }
    }

    /// Whether a value certainly has a text if it is present and not null.
    package func hasText(_ term: ValueTerm) -> Bool {
        switch term {
        case .member(let place): shape.at(place)?.isScalar == true
        case .constant(let json): JSONKind(firstByte: json.lent.peek(at: 0))?.isContainer == false
        case .source(let source): [.time, .position, .stream, .type].contains(source)
        case .text, .prefix: true
        case .chosen(let term, _, _): hasText(term)
        case .list, .constantBeside, .slot: false
        }
    }

    /// Whether an event may be refused because a fold fails on this value.
    package func mayFail(_ term: ValueTerm) -> Bool {
        switch term {
        case .prefix: true
        case .text(let pieces):
            pieces.contains { piece in if case .value(let term) = piece { !hasText(term) || mayFail(term) } else { false } }
        case .chosen(let term, _, _), .list(let term), .constantBeside(let term, _): mayFail(term)
        case .member, .constant, .source, .slot: false
        }
    }
}

/// The composition of a value: members of an event's image at an older version, what the event carries beside its payload, and the row as
/// it was before the event. Two values with equal terms have equal bytes, whatever the event.
package indirect enum ValueTerm: Hashable, Sendable {
    /// A member of the older image, unchanged.
    case member(JSONPointer)
    /// Compact JSON text.
    case constant([UInt8])
    /// A value outside the payload, or a member of the row or of the current element of a fold.
    case source(Source)
    /// The concatenation of several texts, as a string; absent if one of them is absent.
    case text([Piece])
    /// The given number of leading characters of a date.
    case prefix(ValueTerm, Int)
    /// The result of a table: rows are matched by equality of values. Other values become `otherwise`; null stays null.
    case chosen(ValueTerm, [Choice], otherwise: ValueTerm?)
    case list(ValueTerm)
    /// A constant that is present if another value is present.
    case constantBeside(ValueTerm, [UInt8])
    /// A slot of a row. Images contain none: it replaces a value of the image that the slot holds.
    case slot(Int)

    package enum Piece: Hashable, Sendable {
        case literal([UInt8])
        case value(ValueTerm)
    }

    /// One row of a table: canonical JSON text, and its replacement.
    package struct Choice: Hashable, Sendable {
        package let from, to: [UInt8]

        package init(from: [UInt8], to: [UInt8]) { (self.from, self.to) = (from, to) }
    }

    /// The term with some parts replaced, outermost first.
    package func replacing(_ change: (ValueTerm) -> ValueTerm?) -> ValueTerm {
        if let changed = change(self) { return changed }
        switch self {
        case .member, .constant, .source, .slot: return self
        case .text(let pieces):
            return .text(
                pieces.map { piece in if case .value(let term) = piece { .value(term.replacing(change)) } else { piece } })
        case .prefix(let term, let count): return .prefix(term.replacing(change), count)
        case .chosen(let term, let choices, let otherwise):
            return .chosen(term.replacing(change), choices, otherwise: otherwise?.replacing(change))
        case .list(let term): return .list(term.replacing(change))
        case .constantBeside(let term, let json): return .constantBeside(term.replacing(change), json)
        }
    }

    package var leaves: [ValueTerm] {
        switch self {
        case .member, .constant, .source, .slot: [self]
        case .text(let pieces): pieces.flatMap { piece -> [ValueTerm] in if case .value(let term) = piece { term.leaves } else { [] } }
        case .prefix(let term, _), .list(let term), .constantBeside(let term, _): term.leaves
        case .chosen(let term, _, let otherwise): term.leaves + (otherwise?.leaves ?? [])
        }
    }

    package var slots: Set<Int> { Set(leaves.compactMap { leaf in if case .slot(let slot) = leaf { slot } else { nil } }) }

    /// Whether null is mapped to null.
    package var keepsNull: Bool {
        switch self {
        case .member, .source, .slot: true
        case .chosen(let term, _, _): term.keepsNull
        case .constant, .text, .prefix, .list, .constantBeside: false
        }
    }
}

extension ValueTerm {
    init(constant json: [UInt8]) {
        var compact = ByteBuffer(capacity: json.count)
        appendCompact(json.lent, into: &compact)
        self = .constant(compact.array())
    }

    /// The table that a conversion represents for some values, which must be strings or booleans; nil if it refuses one.
    init?(_ term: ValueTerm, _ values: [[UInt8]], through conversion: Conversion) {
        var choices: [Choice] = []
        for value in values {
            guard let kind = JSONKind(firstByte: value.lent.peek(at: 0)), kind == .string || kind == .true || kind == .false else {
                return nil
            }
            var content = ByteBuffer(capacity: 64)
            var made = ByteBuffer(capacity: 64)
            _ = appendText(of: value.lent, into: &content)
            do {
                let isCanonical = try conversion.codec.recode(content, kind, conversion.direction, into: &made)
                if conversion.isStrict, !isCanonical { return nil }
            } catch { return nil }
            choices.append(Choice(from: value, to: made.array()))
        }
        self = .chosen(term, choices, otherwise: nil)
    }
}

/// A condition on which the presence of a value depends.
package enum PresenceCondition: Hashable, Sendable {
    /// The member of the older image is present.
    case member(JSONPointer)
    /// The member is not null.
    case value(JSONPointer)
    /// The value outside the payload is present and, if it is used in a text, not null.
    case source(Source, isText: Bool)
}

/// The symbolic conversion of a type's images from one version to a later one.
package enum TraceResult: Sendable {
    /// Each image takes one of these branches, and has an image at its end unless the branch has none.
    case branches([TracedBranch])
    /// An image may have no counterpart at the later version, or its composition can't be determined; the reason, as a clause.
    case undetermined(String)
}

extension History {
    /// Converts the images that a type has at a version to a later one, symbolically: the result holds for every image that fits its shape.
    package func trace(_ type: String, from older: SchemaVersion, to newer: SchemaVersion) throws(EvstoreError) -> TraceResult {
        let path = try path(type: type, born: older, to: newer)
        if !path.rekeys.isEmpty { return .undetermined("\(path.rekeys[0])") }
        if path.merges { return .undetermined("several events become one") }
        if let cause = path.root.untraced { return .undetermined(cause) }
        let shape = try requireShape(of: type, at: older).shape
        guard let drafts = FusedCompiler.drafts(path.root, of: shape) else {
            return .undetermined("an op decides about each event by itself, or there are too many ways")
        }
        let branches = drafts.map { TracedBranch($0, of: shape) }
        if let refusal = branches.lazy.compactMap(\.refusal).first { return .undetermined(refusal) }
        return .branches(branches)
    }
}

extension PathSegment {
    /// The part of the path that can't be traced; nil if all of it can.
    fileprivate var untraced: String? {
        var cause: String?
        visit { segment in
            switch segment.next {
            case .fan: cause = "one event becomes several"
            case .junction: cause = "several events become one"
            case .adoption: cause = "it is data from before versions existed"
            case .blocked: cause = "it has no image"
            case .end, .dispatch, .hidden, .dropped: break
            }
        }
        return cause
    }
}
