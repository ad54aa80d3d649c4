import Bytes
import EventModel
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("The text of a moment that a codec writes")
struct CivilTextTests {
    /// The days since 1970 that RFC 3339 has: those of the years 0 to 9999.
    private static let days = -719_528 ... 2_932_896 as ClosedRange<Int64>

    private static func text(_ write: (inout ByteBuffer) -> Void) -> [UInt8] {
        var output = ByteBuffer(capacity: 32)
        write(&output)
        return output.array()
    }

    /// Every 23rd day of all years, from another one in each round, so that 23 rounds meet every day.
    @Test("is the one that timestamps have, at a random second of days of every year, and leads back to the moment")
    func everyYear() throws {
        var random = SeededGenerator(seed: 1, "civil", 0)
        var years: Set<Int> = []
        for round in 0 ..< min(rounds(1), 23) {
            for day in stride(from: Self.days.lowerBound + Int64(round), through: Self.days.upperBound, by: 23) {
                let seconds = day * 86_400 + .random(in: 0 ..< 86_400, using: &random)
                let time = CivilTime(secondsSince1970: seconds)
                let (mine, theirs) = (Self.text { $0.append(time) }, Self.text { time.append(to: &$0) })
                if mine != theirs || time.secondsSince1970 != seconds {
                    Issue.record("second \(seconds): \(String(decoding: mine, as: UTF8.self)) for \(time)")
                    return
                }
                years.insert(time.year)
            }
        }
        #expect(years.count == 10_000)
    }

    @Test("has two digits for every number of the calendar and the clock, and the separator that was asked for")
    func everyNumber() {
        for number in 0 ... 99 {
            let time = CivilTime(year: number * 101, month: number, day: 99 - number, hour: number, minute: 99 - number, second: number)
            let wanted = Self.text { time.append(to: &$0) }
            #expect(Self.text { $0.append(time) } == wanted)
            #expect(Self.text { $0.append(time, separator: UInt8(ascii: " ")) } == wanted.map { $0 == UInt8(ascii: "T") ? 0x20 : $0 })
        }
        for seconds in [Self.days.lowerBound * 86_400, Self.days.upperBound * 86_400 + 86_399] {
            let time = CivilTime(secondsSince1970: seconds)
            #expect(Self.text { $0.append(time) } == Array(time.description.utf8) && time.secondsSince1970 == seconds)
        }
    }
}
