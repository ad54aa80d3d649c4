internal import Bytes

extension Shape {
    /// The most that `bytesLeast` may be: samples and generated events are values of shapes, and have to fit into memory.
    static let bytesMax = 1 << 20

    /// The least bytes of JSON text that a value with every member takes, null aside; `Int.max` where they are more.
    var bytesLeast: Int {
        switch kind {
        case .string: (minLength ?? 0).plus(2)
        case .array: (minItems ?? 0).times((items?.bytesLeast ?? 1).plus(1)).plus(2)
        case .object: properties.sum { $0.name.utf8.count.plus($0.shape.bytesLeast) }.plus(2)
        case .integer, .number, .boolean, .null, .any: 1
        }
    }
}
