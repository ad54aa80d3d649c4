import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// A codec that is named as in `using:`, bound to a kind of values.
func boundCodec(_ using: String, from source: Shape.Kind, to kind: Shape.Kind) throws -> any BoundCodec {
    let node = try FileReader.read(text: Array(using.utf8), file: "using.json")
    var site = BindingContext(
        shape: Shape(source), stream: nil, shapeTargets: [], type: "E", mark: FileLocation(file: "using.json", line: 1, column: 1),
        label: "")
    let binding = try CodecRegistry.codec(node).bind(Shape(source), to: kind, declared: nil, &site)
    return try #require(binding, "\(using) is not from \(source) to \(kind)").codec
}

/// What a codec makes of a value: JSON text, or nil and what it expected.
func converted(
    _ content: String, _ kind: JSONKind, _ codec: any BoundCodec, _ direction: Direction
) -> (json: String?, expected: String?) {
    var value = ByteBuffer()
    var output = ByteBuffer()
    value.append(content)
    do throws(CodecRefusal) {
        _ = try codec.recode(value, kind, direction, into: &output)
        return (String(utf8: output.bytes), nil)
    } catch { return (nil, error.expected) }
}

@Suite("A number that codecs read")
struct NumberSpellingTests {
    private static func one<T>(_ choices: [T], _ random: inout SeededGenerator) -> T {
        choices[.random(in: choices.indices, using: &random)]
    }

    /// An integer of up to 20 digits, at times one at a limit.
    private static func integer(_ random: inout SeededGenerator) -> String {
        let limits = [0, .max, .min, 999_999_999_999_999_999, 1_000_000_000_000_000_000, 253_402_300_799, 253_402_300_800, -62_167_219_200]
        switch Int.random(in: 0 ..< 8, using: &random) {
        case 0: return "-0"
        case 1, 2: return String(one(limits, &random) &+ .random(in: -1 ... 1, using: &random))
        default:
            let digits = (0 ..< Int.random(in: 0 ..< 20, using: &random)).map { _ in String(Int.random(in: 0 ... 9, using: &random)) }
            return one(["", "", "-"], &random) + String(Int.random(in: 1 ... 9, using: &random)) + digits.joined()
        }
    }

    /// A codec that reads numbers, with random arguments.
    private static func codec(_ random: inout SeededGenerator) throws -> (using: String, codec: any BoundCodec) {
        let using: String
        let kinds: (Shape.Kind, Shape.Kind)
        switch Int.random(in: 0 ..< 5, using: &random) {
        case 0, 1:
            let (num, den) = (Int.random(in: 1 ... 1_000, using: &random), one([1, 10, 60, 7, 1_000_000, 1 << 40], &random))
            let round = one(["", #","round":"down""#, #","round":"half-up""#, #","round":"half-even""#], &random)
            using = #"{"scale":{"num":\#(num == den ? num + 1 : num),"den":\#(den)\#(round)}}"#
            kinds = (.number, one([.integer, .number], &random))
        case 2:
            let origin = one(["1970-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"], &random)
            let digits = Int.random(in: 0 ... 9, using: &random)
            (using, kinds) = (#"{"epoch-seconds":{"digits":\#(digits),"origin":"\#(origin)"}}"#, (.number, .string))
        case 3: (using, kinds) = (#""epoch-millis""#, (.number, .string))
        default:
            let scale = Int.random(in: 0 ... 20, using: &random)
            (using, kinds) = (one([#"{"decimal":{"scale":\#(scale)}}"#, #""integer-text""#], &random), (.integer, .string))
        }
        return (using, try boundCodec(using, from: kinds.0, to: kinds.1))
    }

    @Test("becomes one value or one refusal, whether it is written as an integer, with a point or with an exponent", arguments: [1, 2, 3])
    func spellings(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "spelling", 0)
        var (made, refused) = (0, 0)
        for _ in 0 ..< rounds(100) {
            let (using, codec) = try Self.codec(&random)
            for _ in 0 ..< 12 {
                let plain = Self.integer(&random)
                let isZero = plain == "0" || plain == "-0"
                for direction in using.contains("scale\":{\"num") ? [Direction.up, .down] : [.up] {
                    let wanted = converted(plain, .number, codec, direction)
                    (made, refused) = wanted.json == nil ? (made, refused + 1) : (made + 1, refused)
                    for other in [plain + ".0", plain + (isZero ? "e5" : "0e-1"), plain + "E0"] {
                        let found = converted(other, .number, codec, direction)
                        #expect(found == wanted, "seed \(seed): \(plain) and \(other) by \(using), \(direction)")
                    }
                }
            }
        }
        #expect(made > rounds(400) && refused > rounds(200), "seed \(seed): \(made) made, \(refused) refused")
    }

    @Test("as a decimal text becomes the same units with a plus in front, which only the long way reads", arguments: [1, 2, 3])
    func texts(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "text", 0)
        var (made, refused) = (0, 0)
        for _ in 0 ..< rounds(100) {
            let scale = Int.random(in: 0 ... 20, using: &random)
            let codec = try boundCodec(#"{"decimal":{"scale":\#(scale)}}"#, from: .string, to: .integer)
            for _ in 0 ..< 20 {
                let whole = Self.one([Self.integer(&random).replacing("-", with: ""), "0", "00", "007", ""], &random)
                let count = Self.one([scale, scale, scale, max(scale - 1, 0), scale + 1, 0], &random)
                let fraction = (0 ..< count).map { _ in String(Int.random(in: 0 ... 9, using: &random)) }.joined()
                let text = whole + (count > 0 || Self.one([true, false, false], &random) ? "." : "") + fraction
                let (wanted, found) = (converted("+" + text, .string, codec, .up), converted(text, .string, codec, .up))
                #expect(found == wanted, "seed \(seed): \(text), scale \(scale)")
                (made, refused) = wanted.json == nil ? (made, refused + 1) : (made + 1, refused)
            }
        }
        #expect(made > rounds(400) && refused > rounds(200), "seed \(seed): \(made) made, \(refused) refused")
    }
}
