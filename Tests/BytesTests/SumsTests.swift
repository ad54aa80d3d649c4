import Bytes
import EventModel
import Testing

@Suite("Sums of numbers from outside")
struct SumsTests {
    private func check<Number: FixedWidthInteger & Sendable>(_: Number.Type) {
        let ends: [Number] = [.min, .min + 1, 0, 1, 2, .max / 2, .max - 1, .max, 0 &- 1]
        for a in ends {
            for b in ends {
                // A wider number has room for all of them.
                let (wideA, wideB) = (Int(a), Int(b))
                #expect(a.plus(b) == Number(clamping: wideA + wideB), "\(a) + \(b)")
                #expect(a.minus(b) == Number(clamping: wideA - wideB), "\(a) - \(b)")
                #expect(a.times(b) == Number(clamping: wideA * wideB), "\(a) * \(b)")
            }
        }
    }

    @Test("stay at the ends of their type")
    func ends() {
        check(Int32.self)
        check(UInt16.self)
        #expect([UInt64.max, 1, 2].sum { $0 } == .max && [UInt64]().sum { $0 } == 0 && [3, 4].sum { $0 } == 7)
    }

    @Test("a position, a version and an epoch have a next and a previous one, whatever a row says")
    func numbers() {
        #expect(Position(.max).next == Position(.max) && Position.start.previous == .start && Position(7).next.previous == Position(7))
        #expect(Position(3).events(after: Position(1)) == 2 && Position(1).events(after: Position(3)) == 0)
        #expect(Position(1).through(.start) == 1 ... 1 && Position(.max).plus(.max) == Position(.max))
        #expect(
            SchemaVersion(UInt32.max).next.rawValue == .max && SchemaVersion(Int(-1)).rawValue == 0
                && SchemaVersion(Int.max).rawValue == .max)
        #expect(SchemaVersion(2).through(SchemaVersion(1)).isEmpty && SchemaVersion(1).through(SchemaVersion(3)).count == 3)
        #expect(Epoch(.max).next == Epoch(.max) && Epoch(0).previous == Epoch(0))
        for amount in [Double.nan, .infinity, -.infinity, 1e300, -1e300, 0.5] { _ = nearest(amount) }
    }
}
