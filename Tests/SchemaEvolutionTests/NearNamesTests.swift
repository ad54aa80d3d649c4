import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("The name that is nearest to another")
struct NearNamesTests {
    /// The distance by its definition, without any limit.
    private func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var table = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
        for row in 0 ... a.count {
            for column in 0 ... b.count {
                if row == 0 || column == 0 {
                    table[row][column] = max(row, column)
                    continue
                }
                let isSame = a[row - 1] == b[column - 1]
                var least = min(table[row - 1][column - 1] + (isSame ? 0 : 1), table[row - 1][column] + 1, table[row][column - 1] + 1)
                if row > 1, column > 1, a[row - 1] == b[column - 2], a[row - 2] == b[column - 1] {
                    least = min(least, table[row - 2][column - 2] + 1)
                }
                table[row][column] = least
            }
        }
        return table[a.count][b.count]
    }

    @Test("is the first of those with the smallest distance, as far as a third of its length, and a typo if no other is as near")
    func asDefined() {
        var random = SeededGenerator.announced()
        func word(_ random: inout SeededGenerator) -> String {
            String((0 ..< Int.random(in: 0 ... 9, using: &random)).map { _ in "abCé".randomElement(using: &random) ?? "a" })
        }
        for _ in 0 ..< 2_000 {
            let name = word(&random)
            let names = (0 ..< Int.random(in: 0 ... 6, using: &random)).map { _ in word(&random) }
            let limit = max(1, name.count / 3)
            let ranked = names.map { (distance(Array(name.lowercased().utf8), Array($0.lowercased().utf8)), $0) }
            let best = ranked.min { $0.0 < $1.0 }.flatMap { $0.0 <= limit ? $0.1 : nil }
            #expect(nearest(to: name, among: names) == best, "\(name) \(names)")
            guard let meant = names.first else { continue }
            let own = distance(Array(name.utf8), Array(meant.utf8))
            let isAlone = names.allSatisfy { $0 == meant || distance(Array(name.utf8), Array($0.utf8)) > own }
            #expect(isTypo(name, of: meant, among: names) == (own <= limit && isAlone), "\(name) \(names)")
        }
    }
}
