internal import Bytes
internal import EventModel
package import JSONText

extension Shape {
    /// The simplest value that fits; fixes use it until the author chooses another.
    package var sample: JSONValue {
        var generator = SampleGenerator()
        return generator.payload(of: self)
    }

    /// An empty text if this shape accepts it and the other one refuses it, so that it can stand for an empty list; otherwise the sample.
    package func sample(refusedBy other: Shape?) -> JSONValue {
        let nothing = JSONValue.string("")
        return rejection(of: nothing) == nil && other?.rejection(of: nothing) != nil ? nothing : sample
    }

    /// The value that fits and is nearest to a given value; for an object, the members that fit are kept.
    func nearestValue(to value: JSONValue) -> JSONValue {
        if rejection(of: value) == nil { return value }
        guard kind == .object, case .object(let members) = value else { return nearestValue(to: value.word) }
        return .object(
            properties.compactMap { property in
                let given = members.first { $0.name.isSame(as: property.name) }.map { property.shape.nearestValue(to: $0.value) }
                return (given ?? (required.contains(property.name) ? property.shape.sample : nil)).map {
                    .init(name: property.name, value: $0)
                }
            })
    }

    /// The enum value that is nearest to a text, otherwise the sample.
    package func nearestValue(to text: String) -> JSONValue {
        let words = (enumeration ?? []).map(\.word)
        if let word = nearest(to: text, among: words), let value = enumeration?.first(where: { $0.word == word }) { return value }
        return sample
    }
}

private struct SampleGenerator: ValueGenerator {
    var budget = 0

    func preset(for shape: Shape, at pointer: JSONPointer) -> JSONValue? { shape.defaultValue }
    func word(of enumeration: [JSONValue]) -> JSONValue { enumeration[0] }
    func members(of object: Shape) -> [Shape.Property] { object.properties.filter { object.required.contains($0.name) } }
    func names(of map: Shape) -> [String] { [] }
    func count(of list: Shape, least: Int) -> Int { least }
    func boolean() -> Bool { false }
    func anything() -> JSONValue { .null }

    func number(_ shape: Shape) -> String {
        shape.rejection(of: .number("0")) == nil ? "0" : (shape.minimum ?? shape.maximum)?.description ?? "0"
    }

    func text(_ shape: Shape) -> String {
        switch shape.format {
        case .dateTime: "1970-01-01T00:00:00Z"
        case .date: "1970-01-01"
        case nil: String(repeating: "x", count: max(leastLength(of: shape), min(1, shape.maxLength ?? 1)))
        }
    }
}
