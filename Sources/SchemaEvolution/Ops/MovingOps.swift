internal import JSONText

/// The ops of a list that give members another place, each found by the name that such a member's pointer begins with:
/// where a member goes is asked for each op of a list, and most of the others have no part in it.
final class MovingOps: Sendable {
    private let ops: [any Op]
    /// Where in the list they stand, by the first name of what they move.
    private let places: [MemberName: [Int]]

    init(_ ops: [any Op]) {
        self.ops = ops
        var places: [MemberName: [Int]] = [:]
        for (index, op) in ops.enumerated() {
            if let name = op.origin?.tokens.first { places[name, default: []].append(index) }
        }
        self.places = places
    }

    /// Those from one on.
    func from(_ start: Int) -> ArraySlice<any Op> { ops[min(start, ops.count)...] }

    /// Where a member stands after the ops from one on.
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
    /// Where, among rising numbers, the first stands that is not below a bound.
    func first(from bound: Int) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low < count ? low : nil
    }
}
