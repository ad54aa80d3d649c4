extension Shape {
    /// The most that `bytesLeast` may be: samples and generated events are values of shapes, and have to fit into memory.
    static let bytesMax = 1 << 20

    /// The least bytes of JSON text that a value with every member takes, null aside; `Int.max` where they are more.
    var bytesLeast: Int {
        switch kind {
        case .string: Self.sum(2, minLength ?? 0)
        case .array: Self.sum(2, Self.product(minItems ?? 0, Self.sum(1, items?.bytesLeast ?? 1)))
        case .object: properties.reduce(2) { Self.sum($0, Self.sum($1.name.utf8.count, $1.shape.bytesLeast)) }
        case .integer, .number, .boolean, .null, .any: 1
        }
    }

    private static func sum(_ left: Int, _ right: Int) -> Int {
        let (value, isTooLarge) = left.addingReportingOverflow(right)
        return isTooLarge ? .max : value
    }

    private static func product(_ left: Int, _ right: Int) -> Int {
        let (value, isTooLarge) = left.multipliedReportingOverflow(by: right)
        return isTooLarge ? .max : value
    }
}
