internal import JSONText

/// A list of ops with an index over those that move members, by the first name of the moved member's pointer. Binding needs the destination
/// of a member at each op of a list, and few of the other ops move it.
final class MovingOps: Sendable {
    private let ops: [any Op]
    /// The indices of the ops that move members, by the first name of the member's pointer.
    private let places: [MemberName: [Int]]

    init(_ ops: [any Op]) {
        self.ops = ops
        var places: [MemberName: [Int]] = [:]
        for (index, op) in ops.enumerated() {
            if let name = op.origin?.tokens.first { places[name, default: []].append(index) }
        }
        self.places = places
    }

    /// The ops from an index on.
    func from(_ start: Int) -> ArraySlice<any Op> { ops[min(start, ops.count)...] }

    /// The pointer of a member after the ops from an index on.
    func destination(of pointer: JSONPointer, from start: Int) -> JSONPointer {
        var (place, next) = (pointer, start)
        while let name = place.tokens.first, let rows = places[name], let row = rows.first(from: next) {
            place = ops[rows[row]].destination(of: place)
            next = rows[row] + 1
        }
        return place
    }
}

extension [Int] {
    /// The index of the first number that is at least `bound`; the numbers must be sorted.
    func first(from bound: Int) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low < count ? low : nil
    }
}
