import Bytes
import Foundation
import JSONText
import TestSupport
import Testing

/// What generated values are made of: one of each kind that JSON has.
private indirect enum Value: Codable, Equatable {
    case null, flag(Bool), whole(Int), number(Double), text(String), list([Value]), map([String: Value])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = Self.attempt({ try container.decode(Bool.self) }) {
            self = .flag(value)
        } else if let value = Self.attempt({ try container.decode(Int.self) }) {
            self = .whole(value)
        } else if let value = Self.attempt({ try container.decode(Double.self) }) {
            self = .number(value)
        } else if let value = Self.attempt({ try container.decode(String.self) }) {
            self = .text(value)
        } else if let value = Self.attempt({ try container.decode([Value].self) }) {
            self = .list(value)
        } else {
            self = .map(try container.decode([String: Value].self))
        }
    }

    private static func attempt<T>(_ body: () throws -> T) -> T? { do { return try body() } catch { return nil } }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .map(let value): try container.encode(value)
        }
    }

    /// Whether the two are the same but for an integer that one of them sees in a number nearest to it.
    func isAbout(_ other: Value) -> Bool {
        switch (self, other) {
        case (.whole(let a), .number(let b)): Double(a) == b
        case (.list(let a), .list(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isAbout($1) }
        case (.map(let a), .map(let b)): a.count == b.count && a.allSatisfy { name, value in b[name].map { value.isAbout($0) } ?? false }
        default: self == other
        }
    }

    init(depth: Int, _ chance: inout SeededGenerator) {
        switch Int.random(in: 0 ..< (depth == 0 ? 5 : 7), using: &chance) {
        case 0: self = .null
        case 1: self = .flag(.random(using: &chance))
        case 2: self = .whole(.random(in: .min ... .max, using: &chance) >> Int.random(in: 0 ..< 64, using: &chance))
        case 3:
            let value = Double(bitPattern: .random(in: 0 ... .max, using: &chance))
            let halves = Double(Int.random(in: -9999 ... 9999, using: &chance)) + 0.5
            self = .number(value.isFinite && value.rounded() != value ? value : halves)
        case 4: self = .text(Self.text(&chance))
        case 5: self = .list((0 ..< Int.random(in: 0 ..< 5, using: &chance)).map { _ in Value(depth: depth - 1, &chance) })
        default:
            let names = (0 ..< Int.random(in: 0 ..< 6, using: &chance)).map { "\($0)" + Self.text(&chance) }
            self = .map(Dictionary(uniqueKeysWithValues: names.map { ($0, Value(depth: depth - 1, &chance)) }))
        }
    }

    private static func text(_ chance: inout SeededGenerator) -> String {
        let letters = ["a", "Z", " ", "\"", "\\", "/", "\n", "\u{1}", "é", "漢", "😀", "plain text that is long enough"]
        return (0 ..< Int.random(in: 0 ..< 6, using: &chance)).map { _ in letters.randomElement(using: &chance) ?? "" }.joined()
    }
}

@Suite("The coding and Foundation's")
struct CodingDifferentialTests {
    @Test("each reads what the other wrote, and both read the same")
    func bothWays() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        let coding = JSONCoding()
        for round in 0 ..< 400 {
            let value = Value(depth: 4, &chance)
            let ours = try coding.encode(value)
            let theirs = [UInt8](try JSONEncoder().encode(value))
            #expect(try coding.decode(Value.self, from: theirs) == value, "seed \(seed) round \(round)")
            #expect(try coding.decode(Value.self, from: ours) == value, "seed \(seed) round \(round)")
            #expect(try JSONDecoder().decode(Value.self, from: Data(ours)) == value, "seed \(seed) round \(round)")
        }
    }

    @Test("a damaged text that one refuses, the other refuses, but for what Foundation lets through")
    func damaged() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var chance = SeededGenerator(seed: seed)
        let coding = JSONCoding()
        var refused = 0
        for round in 0 ..< 2_000 {
            var text = try coding.encode(Value(depth: 3, &chance))
            let place = Int.random(in: 0 ..< text.count, using: &chance)
            if round % 2 == 0 { text.remove(at: place) } else { text[place] = .random(in: 0x20 ..< 0x7F, using: &chance) }
            let ours: Value
            do { ours = try coding.decode(Value.self, from: text) } catch {
                refused += 1
                continue
            }
            // What ours takes, theirs takes as well.
            let theirs = try JSONDecoder().decode(Value.self, from: Data(text))
            #expect(theirs.isAbout(ours), "seed \(seed) round \(round): \(String(decoding: text, as: UTF8.self))")
        }
        #expect(refused > 100)
    }
}
