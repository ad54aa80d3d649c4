internal import Bytes
internal import JSONText
internal import SchemaEvolution

/// Numbers at which arithmetic ends, and the ways to put them into a row or a file.
enum Extremes {
    static let integers: [UInt64] = [
        0, 1, 2, 3, 1 << 20, (1 << 20) + 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff, 1 << 32, 1 << 53, (1 << 62) - 1, 1 << 62,
        (1 << 62) + 1, 0x7fff_ffff_ffff_fffe, 0x7fff_ffff_ffff_ffff, 1 << 63, (1 << 63) + 1, .max - 1, .max,
    ]
    static let numbers =
        Boundaries.numbers + [
            "18446744073709551615", "18446744073709551614", "9223372036854775806", "4611686018427387904", "4611686018427387905",
            "4294967295",
            "-1000000000000", "-9223372036854775807", "1e300", "-1e300", "1e18", "1e19", "0.5", "1e-300",
        ]
    static let times = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"]

    /// A value of a row, or the text of a file, with something in it at an extreme: a number of JSON text, else a number of its bytes.
    static func changed(_ value: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        // A registered version has a digest before its text.
        for start in [0, 32] where value.count > start && value[start] == UInt8(ascii: "{") && !random.once(in: 12) {
            do {
                let tree = try JSONValue(parsing: Array(value[start...]).lent)
                return Array(value[..<start]) + Array(changed(tree, &random).text.utf8)
            } catch {}
        }
        return changedBytes(value, &random)
    }

    private static func changed(_ tree: JSONValue, _ random: inout SeededRandom) -> JSONValue {
        let count = numbers(in: tree)
        if count == 0 { return .object([.init(name: "position", value: .number(random.pick(numbers)))]) }
        var changed = tree
        for _ in 0 ... (random.once(in: 3) ? 2 : 0) {
            var index = Int.random(in: 0 ..< count, using: &random)
            changed = replaced(changed, &index, &random)
        }
        return changed
    }

    private static func numbers(in tree: JSONValue) -> Int {
        switch tree {
        case .number: 1
        case .array(let values): values.sum { numbers(in: $0) }
        case .object(let members): members.sum { numbers(in: $0.value) }
        case .string(let text): text.hasSuffix("Z") ? 1 : 0
        case .null, .bool: 0
        }
    }

    /// Replaces the number, or the time, that so many others come before.
    private static func replaced(_ tree: JSONValue, _ before: inout Int, _ random: inout SeededRandom) -> JSONValue {
        switch tree {
        case .number:
            before -= 1
            return before == -1 ? .number(random.pick(numbers)) : tree
        case .string(let text) where text.hasSuffix("Z"):
            before -= 1
            return before == -1 ? .string(random.pick(times)) : tree
        case .array(let values): return .array(values.map { replaced($0, &before, &random) })
        case .object(let members): return .object(members.map { .init(name: $0.name, value: replaced($0.value, &before, &random)) })
        case .null, .bool, .string: return tree
        }
    }

    /// A number among the bytes replaced by an extreme one, of four bytes or of eight, in either order; sometimes other lengths.
    static func changedBytes(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        if random.once(in: 16) { return Array(bytes.dropLast(1 + bytes.count / 2)) }
        if random.once(in: 16) { return bytes + [UInt8](repeating: 0xff, count: 8) }
        let width = bytes.count >= 8 && !random.once(in: 3) ? 8 : 4
        guard bytes.count >= width else { return [UInt8](repeating: 0xff, count: bytes.count) }
        var bytes = bytes
        let places = (bytes.count - width) / 4
        let place = 4 * Int.random(in: 0 ... places, using: &random)
        put(random.pick(integers), width, at: place, isBigEndian: random.once(in: 2), &bytes)
        return bytes
    }

    static func put(_ number: UInt64, _ width: Int, at place: Int, isBigEndian: Bool = false, _ bytes: inout [UInt8]) {
        for index in 0 ..< width {
            let shift = UInt64(8 * (isBigEndian ? width - 1 - index : index))
            bytes[place + index] = UInt8(truncatingIfNeeded: number >> shift)
        }
    }
}
