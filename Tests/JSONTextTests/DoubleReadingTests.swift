import JSONText
import TestSupport
import Testing

@Suite("Numbers read as doubles")
struct DoubleReadingTests {
    /// The digits of an integer at the limit of a double's exact integers, with a point at each place, and with zeros in front.
    private static let limits = [(1 << 53) - 1, 1 << 53, (1 << 53) + 1].flatMap { integer in
        let digits = String(integer)
        let pointed = (1 ..< digits.count).map { digits.prefix($0) + "." + digits.dropFirst($0) }
        return [digits] + pointed.map(String.init) + (0 ..< 4).map { "0." + String(repeating: "0", count: $0) + digits }
    }

    /// A number of at most 16 bytes, at times of one or two more: with 0 to 15 digits behind the point, some of them zeros at either end.
    private static func number(_ random: inout SeededGenerator) -> String {
        func digits(_ count: Int) -> [Int] { (0 ..< count).map { _ in Int.random(in: 0 ... 9, using: &random) } }
        let sign = Bool.random(using: &random) ? "-" : ""
        let places = Int.random(in: 0 ... 15, using: &random)
        let room = 16 + (random.chance(1, in: 8) ? 2 : 0) - sign.count - (places > 0 ? places + 1 : 0)
        var whole = digits(Int.random(in: 1 ... max(room, 1), using: &random))
        if whole.count > 1, whole[0] == 0 || random.chance(1, in: 6) { whole = [0] }
        var fraction = digits(places)
        if random.chance(1, in: 3) { for index in 0 ..< Int.random(in: 0 ... places, using: &random) { fraction[index] = 0 } }
        if random.chance(1, in: 3) { for index in 0 ..< Int.random(in: 0 ... places, using: &random) { fraction[places - 1 - index] = 0 } }
        return sign + whole.map(String.init).joined() + (places > 0 ? "." : "") + fraction.map(String.init).joined()
    }

    @Test("a number of a few digits becomes the double, to the bit, that the standard library makes of its text", arguments: [1, 2, 3])
    func nearest(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "double", 0)
        let coding = JSONCoding()
        for round in 0 ..< rounds(12) {
            let texts = (0 ..< 1_000).map { _ in Self.number(&random) } + Self.limits + Self.limits.map { "-" + $0 }
            let found = try coding.decode([Double].self, from: utf8("[" + texts.joined(separator: ",") + "]"))
            #expect(found.count == texts.count && texts.count(where: { $0.count <= 16 }) > 800)
            let wrong = zip(texts, found).filter { text, double in Double(text)?.bitPattern != double.bitPattern }
            #expect(wrong.isEmpty, "seed \(seed), round \(round): \(wrong.prefix(5))")
            if !wrong.isEmpty { return }
        }
    }
}
