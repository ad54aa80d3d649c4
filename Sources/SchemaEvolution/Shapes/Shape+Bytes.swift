internal import Bytes

extension Shape {
    /// The upper limit of `bytesLeast`: samples and generated events are values of shapes and must fit into memory.
    static let bytesMax = 1 << 20

    /// The minimum length of the JSON text of a value with all members, ignoring null; `Int.max` if it exceeds the range.
    var bytesLeast: Int {
        switch kind {
        case .string: (minLength ?? 0).plus(2)
        case .array: (minItems ?? 0).times((items?.bytesLeast ?? 1).plus(1)).plus(2)
        case .object: properties.sum { $0.name.utf8.count.plus($0.shape.bytesLeast) }.plus(2)
        case .integer, .number, .boolean, .null, .any: 1
        }
    }
}
