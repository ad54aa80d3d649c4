internal import Bytes
package import JSONText

extension Shape {
    /// A value that fits, as plain as there is one: what stands in a fix until its author chooses another.
    package var sample: JSONValue {
        var plain = PlainDrawing()
        return plain.drawn(self)
    }

    /// The same, if there is one that another shape refuses: it can stand for none there.
    package func sample(refusedBy other: Shape?) -> JSONValue {
        let nothing = JSONValue.string("")
        return accepts(nothing) == nil && other?.accepts(nothing) != nil ? nothing : sample
    }

    /// A value that fits and is most like one that does not: of an object, the members that fit stay.
    func likest(_ value: JSONValue) -> JSONValue {
        if accepts(value) == nil { return value }
        guard kind == .object, case .object(let members) = value else { return likest(value.word) }
        return .object(
            properties.compactMap { property in
                let given = members.first { $0.name == property.name }.map { property.shape.likest($0.value) }
                return (given ?? (required.contains(property.name) ? property.shape.sample : nil)).map {
                    .init(name: property.name, value: $0)
                }
            })
    }

    /// The one of these values that fits and is most like a text, else the sample.
    package func likest(_ text: String) -> JSONValue {
        let words = (enumeration ?? []).map(\.word)
        if let word = nearest(to: text, among: words), let value = enumeration?.first(where: { $0.word == word }) { return value }
        return sample
    }
}

private struct PlainDrawing: ShapeDrawing {
    var room = 0

    func choice(for shape: Shape, at pointer: JSONPointer) -> JSONValue? { shape.defaultValue }
    func word(of enumeration: [JSONValue]) -> JSONValue { enumeration[0] }
    func members(of object: Shape) -> [Shape.Property] { object.properties.filter { object.required.contains($0.name) } }
    func names(of map: Shape) -> [String] { [] }
    func count(of list: Shape, least: Int) -> Int { least }
    func flag() -> Bool { false }
    func anything() -> JSONValue { .null }

    func number(_ shape: Shape) -> String {
        shape.accepts(.number("0")) == nil ? "0" : (shape.minimum ?? shape.maximum)?.description ?? "0"
    }

    func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: "1970-01-01T00:00:00Z"
        case .date: "1970-01-01"
        case nil: String(repeating: "x", count: max(leastLength(of: shape), min(1, shape.maxLength ?? 1)))
        }
    }
}
