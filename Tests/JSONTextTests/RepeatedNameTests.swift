import Bytes
import TestSupport
import Testing

@testable import JSONText

/// Members' names as characters, and as they are spelled.
private struct Names {
    var random: SeededGenerator

    init(_ random: SeededGenerator) { self.random = random }

    /// A name of up to 20 characters.
    mutating func any() -> String {
        let letters = ["a", "b", "c", "x", "7", " ", "/", "ü", "日", "\"", "\\", "\n"]
        return (0 ..< Int.random(in: 0 ... 20, using: &random)).map { _ in random.pick(letters) }.joined()
    }

    /// A name of eight letters, with the hash that the scanner has for it.
    private mutating func eight() -> (name: [UInt8], hash: UInt32) {
        let name = (0 ..< 8).map { _ in UInt8.random(in: 97 ... 122, using: &random) }
        var stack = NameStack()
        return (name, stack.append(name.lent, 0, 8, hasEscapes: false).hash)
    }

    /// Names whose hashes begin a search at one place of a table.
    mutating func crowded(_ count: Int) -> [String] {
        var found: [String] = []
        while found.count < count {
            let (name, hash) = eight()
            if hash & 127 == 0 { found.append(text(name)) }
        }
        return found
    }

    /// Two names with one hash: the second is sought among the words that the hash does not tell from the first.
    mutating func twins() -> [String] {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        // Each of these steps doubles the bits of the inverse that are right.
        let inverse = (0 ..< 6).reduce(factor) { inverse, _ in inverse &* (2 &- factor &* inverse) }
        let (name, hash) = eight()
        let product = (name.lent.load(UInt64.self, at: 0) ^ 8) &* factor
        while true {
            let change = UInt64.random(in: 1 ... 0xFFFF_FFFF, using: &random)
            let word = (product ^ change ^ change << 32) &* inverse ^ 8
            let twin = (0 ..< 8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            guard twin.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else { continue }
            var stack = NameStack()
            #expect(stack.append(twin.lent, 0, 8, hasEscapes: false).hash == hash, "hashes are computed in another way now")
            return [text(name), text(twin)]
        }
    }

    /// The name as a literal, some of its characters as escapes.
    mutating func spelled(_ name: String, escapes: Bool) -> String {
        let parts = name.unicodeScalars.map { scalar in
            guard escapes && random.chance(1, in: 3) || scalar == "\"" || scalar == "\\" || scalar.value < 0x20 else {
                return String(scalar)
            }
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\"" + parts.joined() + "\""
    }
}

@Suite("A name that comes twice in an object")
struct RepeatedNameTests {
    /// An object's names, none of them twice.
    private func distinct(_ names: inout Names, _ round: Int) -> [String] {
        var list: [String] = []
        if round % 4 == 1 { list += names.crowded(Int.random(in: 8 ... 40, using: &names.random)) }
        if round % 4 == 2 { for _ in 0 ..< Int.random(in: 1 ... 3, using: &names.random) { list += names.twins() } }
        let wanted = max(round == 0 ? 5_000 : Int.random(in: 17 ... 300, using: &names.random), list.count)
        var known = Set(list)
        while list.count < wanted {
            let name = names.any()
            if known.insert(name).inserted { list.append(name) }
        }
        return list.shuffled(using: &names.random)
    }

    @Test("is refused at the first place where it is no longer new, whatever the hashes of the names are", arguments: [1, 2])
    func first(seed: UInt64) {
        var names = Names(SeededGenerator(seed: seed, "names", 0))
        for round in 0 ..< rounds(24) {
            var list = distinct(&names, round)
            for _ in 0 ..< Int.random(in: 0 ... 3, using: &names.random) {
                let again = names.random.pick(list)
                list.insert(again, at: Int.random(in: 0 ... list.count, using: &names.random))
            }
            // Names of an outer object count for nothing.
            let outer = Set(list.prefix(Int.random(in: 0 ... 20, using: &names.random))).sorted()
            let escapes = Bool.random(using: &names.random)
            var json = "{" + outer.map { names.spelled($0, escapes: false) + ":0," }.joined() + "\"the inner one, outside\":{"
            var (known, wanted) = (Set<[UInt8]>(), Int?.none)
            for (index, name) in list.enumerated() {
                if index > 0 { json += "," }
                if !known.insert(utf8(name)).inserted, wanted == nil { wanted = json.utf8.count }
                json += names.spelled(name, escapes: escapes) + ":\(index)"
            }
            json += "}}"
            let found = refusal(json)
            #expect(found?.offset == wanted, "seed \(seed), round \(round): \(json.prefix(2_000))")
            if let found {
                #expect(found.description.contains("has a member of this one already"), "seed \(seed), round \(round): \(found)")
            }
        }
    }
}
