internal import EventModel
package import JSONText

/// A difference between two shapes at one pointer, ignoring annotations.
package struct ShapeDifference: Hashable, Sendable {
    package enum Constraint: String, Hashable, Sendable {
        case required, null, enumeration = "enum", constant = "const"
        case minimum, maximum, minLength, maxLength, minItems, maxItems
    }

    /// How the declared shape differs from the one that the ops produce: a `missing` member is declared, but no op produces it.
    package enum Kind: Hashable, Sendable {
        case missing(required: Bool)
        case extra
        case type
        case format
        case stream
        case wider(Constraint)
        case narrower(Constraint)
    }

    /// The token `*` stands for every element of an array and every value of a map.
    package let pointer: JSONPointer
    package let kind: Kind
    /// One clause that names both what the ops produce and what is declared.
    package let words: String

    package init(_ pointer: JSONPointer, _ kind: Kind, _ words: String) {
        (self.pointer, self.kind, self.words) = (pointer, kind, words)
    }

    /// Compares what the ops make of shape[n-1] with what version n declares; empty if they agree.
    package static func compare(_ made: EventShape, _ declared: EventShape) -> [ShapeDifference] {
        let (differences, old, new) = (compare(made.shape, declared.shape), made.stream?.description, declared.stream?.description)
        if old == new { return differences }
        let words = "the stream is \(old ?? "any") and \(new ?? "any") is declared"
        return [ShapeDifference(JSONPointer(), .stream, words)] + differences
    }

    package static func compare(_ made: Shape, _ declared: Shape) -> [ShapeDifference] {
        var comparison = ShapeComparison()
        comparison.compare(made, declared, at: .init(tokens: []))
        return comparison.differences
    }
}

/// Walks over two shapes side by side.
private struct ShapeComparison {
    typealias Constraint = ShapeDifference.Constraint

    var differences: [ShapeDifference] = []

    mutating func note(_ pointer: JSONPointer, _ kind: ShapeDifference.Kind, _ words: String) {
        differences.append(ShapeDifference(pointer, kind, words))
    }

    mutating func compare(_ made: Shape, _ declared: Shape, at pointer: JSONPointer) {
        guard made.kind == declared.kind, made.isMap == declared.isMap else {
            return note(pointer, .type, "it is \(made.noun) and \(declared.noun) is declared")
        }
        if made.isNullable != declared.isNullable {
            note(
                pointer, declared.isNullable ? .wider(.null) : .narrower(.null),
                declared.isNullable ? "null may stand there now" : "null may stand there no longer")
        }
        if made.format != declared.format {
            note(
                pointer, .format,
                "its format is \(made.format?.rawValue ?? "free") and \(declared.format?.rawValue ?? "free") is declared")
        }
        compareValues(made, declared, at: pointer)
        compareBounds(made, declared, at: pointer)
        compareMembers(made, declared, at: pointer)
        let element = pointer.appending(MemberName("*"))
        switch (made.items ?? made.additional, declared.items ?? declared.additional) {
        case (let old?, let new?): compare(old, new, at: element)
        case (nil, let new?): compare(.any, new, at: element)
        case (let old?, nil): compare(old, .any, at: element)
        case (nil, nil): break
        }
    }

    private mutating func compareMembers(_ made: Shape, _ declared: Shape, at pointer: JSONPointer) {
        for property in made.properties where declared.members.place(of: property.name) == nil {
            note(pointer.appending(MemberName(property.name)), .extra, "it is still there and is not declared")
        }
        for property in declared.properties {
            let place = pointer.appending(MemberName(property.name))
            let isRequired = declared.required.contains(property.name)
            guard let old = made.property(property.name) else {
                note(
                    place, .missing(required: isRequired),
                    "\(isRequired ? "a required" : "an optional") member, \(property.shape.noun), is declared and no op makes it")
                continue
            }
            switch (made.required.contains(property.name), isRequired) {
            case (true, false): note(place, .wider(.required), "it was always there and may be absent now")
            case (false, true): note(place, .narrower(.required), "it may be absent and is required now")
            default: break
            }
            compare(old, property.shape, at: place)
        }
    }

    /// Compares `enum` and `const`, using the canonical text of each value.
    private mutating func compareValues(_ made: Shape, _ declared: Shape, at pointer: JSONPointer) {
        for (constraint, old, new) in [
            // A boolean without an enum is treated as one that allows both values.
            (Constraint.enumeration, made.booleans ?? made.enumeration, declared.booleans ?? declared.enumeration),
            (Constraint.constant, made.constant.map { [$0] }, declared.constant.map { [$0] }),
        ] {
            switch (old, new) {
            case (nil, nil): break
            case (let old?, nil): note(pointer, .wider(constraint), "it was one of \(list(old)) and may be anything now")
            case (nil, let new?): note(pointer, .narrower(constraint), "it may only be \(list(new)) now")
            case (let old?, let new?):
                let (before, after) = (Set(old.map { $0.canonical() }), Set(new.map { $0.canonical() }))
                let more = new.filter { !before.contains($0.canonical()) }
                let less = old.filter { !after.contains($0.canonical()) }
                if !more.isEmpty { note(pointer, .wider(constraint), "\(list(more)) may stand there now") }
                if !less.isEmpty { note(pointer, .narrower(constraint), "\(list(less)) may stand there no longer") }
            }
        }
    }

    private mutating func compareBounds(_ made: Shape, _ declared: Shape, at pointer: JSONPointer) {
        compareBound(.minimum, made.minimum, declared.minimum, at: pointer) { $0 > $1 }
        compareBound(.maximum, made.maximum, declared.maximum, at: pointer) { $0 < $1 }
        compareBound(.minLength, made.minLength, declared.minLength, at: pointer) { $0 > $1 }
        compareBound(.maxLength, made.maxLength, declared.maxLength, at: pointer) { $0 < $1 }
        compareBound(.minItems, made.minItems, declared.minItems, at: pointer) { $0 > $1 }
        compareBound(.maxItems, made.maxItems, declared.maxItems, at: pointer) { $0 < $1 }
    }

    private mutating func compareBound<Bound: Comparable>(
        _ constraint: Constraint, _ old: Bound?, _ new: Bound?, at pointer: JSONPointer, isTighter: (Bound, Bound) -> Bool
    ) {
        let name = constraint.rawValue
        switch (old, new) {
        case (nil, nil): break
        case (let old?, nil): note(pointer, .wider(constraint), "its \(name) of \(old) is gone")
        case (nil, let new?): note(pointer, .narrower(constraint), "it has a \(name) of \(new) now")
        case (let old?, let new?):
            if isTighter(new, old) {
                note(pointer, .narrower(constraint), "its \(name) was \(old) and is \(new) now")
            } else if isTighter(old, new) {
                note(pointer, .wider(constraint), "its \(name) was \(old) and is \(new) now")
            }
        }
    }

    private func list(_ values: [JSONValue]) -> String { values.map(\.text).joined(separator: ", ") }
}

extension Shape {
    fileprivate var booleans: [JSONValue]? {
        guard kind == .boolean else { return nil }
        return enumeration ?? [.bool(true), .bool(false)] + (isNullable ? [.null] : [])
    }

    /// The kind of value with its article: `a string`, `an array`.
    package var noun: String { isMap ? "a map" : kind.noun }
}

extension Shape.Kind {
    var noun: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .integer: "an integer"
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .null: "null"
        case .any: "anything"
        }
    }
}
