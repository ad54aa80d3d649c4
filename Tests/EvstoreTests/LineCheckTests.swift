import Bytes
import EventModel
import EvstoreTesting
import Hashing
import JSONText
import Projections
import SchemaEvolution
import TestSupport
import Testing

@testable import EventLog
@testable import Evstore

/// Lines of an import: half of them whole, the others wrong in one way or in two.
private struct LineMaker: RandomNumberGenerator {
    private let bytesMax: Int
    private var numbers: SeededGenerator
    /// How many more faults the line may have.
    private var faults = 0

    /// More elements than a payload or metadata may have.
    private let list = "[\(Array(repeating: "1", count: 15).joined(separator: ","))]"

    init(seed: UInt64, _ options: Options) { (numbers, bytesMax) = (SeededGenerator(seed: seed), EventLineParser.lineBytesMax(options)) }

    mutating func next() -> UInt64 { numbers.next() }

    private mutating func chance(_ times: Int) -> Bool { Int.random(in: 0 ..< times, using: &self) == 0 }

    private mutating func pick(_ words: String...) -> String { words.randomElement(using: &self) ?? "" }

    /// Whether the line is to have a fault here.
    private mutating func fails() -> Bool {
        guard faults > 0, chance(8) else { return false }
        faults -= 1
        return true
    }

    /// The text, and as a fault one of the others.
    private mutating func usually(_ text: String, _ others: String...) -> String {
        fails() ? others.randomElement(using: &self) ?? "" : text
    }

    private mutating func payload(of type: String, _ id: String, at version: Int) -> String {
        let space = pick("", "", " ")
        var members = [#""id":\#(space)"\#(usually(id, #"\u0061"#, ""))""#]
        if type != "OrderPlaced" {
            if chance(2) { members.append(#""method":"\#(usually(pick("card", "cash"), "coins"))""#) }
        } else {
            let total = usually("1", "0", "-1", "1.0", "1e1", "0.5")
            if version == 1 { members += [#""customer":"Zoë \n""#, #""total":\#(total)"#] }
            if version > 1 { members.append(version < 5 ? #""customer":"Ann""# : #""buyer":{"name":"Ann"}"#) }
            if version > 1 { members += [#""cents":\#(version < 5 ? total : #""7""#)"#, #""currency":"\#(usually("EUR", "CHF"))""#] }
            let code = usually("12", "x")
            if chance(2) { members.append(#""code":\#(version < 3 ? "\"\(code)\"" : code == "x" ? "1.5" : code)"#) }
        }
        let more = usually("", #""more":1"#, #""id":"2""#, #""more":"\#(String(repeating: "7", count: 300))""#, #""more":\#(list)"#)
        if !more.isEmpty { members.append(more) }
        let text = "{\(members.shuffled(using: &self).joined(separator: space + "," + space))}"
        return usually(text, "[]", "null", #""x""#, "{}", #"{"id":1}"#, #"{"id":{"a":{"b":{"c":{}}}}}"#)
    }

    private mutating func members() -> [(name: String, value: String)] {
        let (id, version) = (String(Int.random(in: 1 ... 99, using: &self)), Int.random(in: 1 ... 4, using: &self))
        let type = pick("OrderPlaced", "OrderPlaced", version < 4 ? "OrderPaid" : "PaymentCaptured")
        let stream = usually("order-\(id)", "order-0", "order 1", "", #"order-\u0031"#, String(repeating: "x", count: 201))
        let other = usually(type, "OrderLost", "", #"Order\u0050laced"#, "OrderVoided", String(repeating: "T", count: 21))
        var found = [
            ("stream", usually("\"\(stream)\"", "5", "null")), ("type", usually("\"\(other)\"", "7")),
            ("data", payload(of: type, id, at: version)),
            ("version", usually("\(version)", "0", "5", "6", "\"1\"", "1.0", "null", "4294967297", "-1")),
        ]
        if chance(2) {
            let count = faults > 0 && chance(3) ? pick("0", "33", "65") : pick("1", "20", "32")
            let text = String(repeating: pick("i", "é"), count: Int(count) ?? 0)
            found.append(("id", usually("\"\(text)\"", "null", "7", #""\u0001""#, #""\u0061""#, "\"\u{7F}\"")))
        }
        let time = pick(#""2026-01-02T03:04:05Z""#, #""0000-01-01T00:00:00.1234567+23:59""#)
        if chance(3) { found.append(("time", usually(time, "null", #""today""#, "7", #""2026-02-30T00:00:00Z""#))) }
        let metadata = pick("{}", #"{"by":"me"}"#, "null")
        if chance(3) { found.append(("metadata", usually(metadata, "[]", #"{"a":\#(list)}"#, #"{"a":{"b":{"c":{"d":1}}}}"#, #""x""#))) }
        if chance(8) {
            found.append((usually(pick("position", "epoch", "born"), "steam", "expect", "specversion"), pick("1", #""x""#, "[[]]")))
        }
        if fails() { found.append(found[Int.random(in: found.indices, using: &self)]) }
        if fails() { found.remove(at: Int.random(in: found.indices, using: &self)) }
        return found.shuffled(using: &self)
    }

    /// A line, and the same with the name of the stream's member escaped and as many bytes, so that only the parser reads it.
    mutating func line() -> (plain: [UInt8], parsed: [UInt8]) {
        faults = chance(2) ? 2 : 0
        if faults > 0, chance(20) { return (Array("  \r".utf8), Array("  \r".utf8)) }
        let members = members().map { member in
            let isStream = member.name == "stream"
            var text = Array(((isStream ? "" : "\"\(member.name)\"") + ":" + pick("", " ") + member.value).utf8)
            if faults > 0, chance(20) {
                let byte = Array(#"{}[]",:\ 01-.xé"#.utf8).randomElement(using: &self) ?? 0
                text[Int.random(in: text.indices, using: &self)] = byte
            }
            return (isStream: isStream, text: text)
        }
        var (space, end) = (pick("", "", " "), 0)
        if chance(30) {
            // A line of the length that a line may have, or about it.
            let count = members.reduce(1) { $0 + $1.text.count + ($1.isStream ? 14 : 1) }
            (space, end) = ("", max(0, bytesMax - count + Int.random(in: -2 ... 2, using: &self)))
        }
        func joined(_ name: String) -> [UInt8] {
            let texts = members.map { Array((space + ($0.isStream ? name : "")).utf8) + $0.text }
            return Array("{".utf8) + texts.joined(separator: Array(",".utf8)) + Array(repeating: UInt8(ascii: " "), count: end)
                + Array("}".utf8)
        }
        return (joined(#""stream"     "#), joined(#""\u0073tream""#))
    }
}

@Suite("Import lines that are read in one pass")
struct LineCheckTests {
    /// What a check finds of a chunk of lines.
    private struct Outcome: Equatable {
        var events: [StoredEvent] = []
        /// The line's number, whether it gives a time, and the checksum of its content, of each event.
        var marks: [[UInt64]] = []
        let refused: [RefusedLine]
        let read, taken, streamMismatches: UInt64

        init(_ chunk: CheckedChunk, isWhole: Bool) {
            (refused, read, streamMismatches) = (chunk.refused, chunk.read, chunk.streamMismatches)
            taken = chunk.plain + UInt64(chunk.lines.count)
            for line in chunk.lines where isWhole || line.event.id != nil {
                var event = line.event
                // Else it is the moment of the check.
                if !line.hasTime { event.time = ExampleEvents.time }
                events.append(event)
                marks.append([line.line, line.hasTime ? 1 : 0, line.content])
            }
        }
    }

    private func chunk(_ lines: [[UInt8]]) -> LineChunk {
        var buffer = ByteBuffer()
        var ends: [Int] = []
        for line in lines {
            buffer.append(line + [UInt8(ascii: "\n")])
            ends.append(buffer.count)
        }
        return LineChunk(text: LineText(copying: buffer, 0, buffer.count), ends: ends, firstLine: 1, isOpen: false)
    }

    /// A validator for a store of five versions, whose floor is 2, whose live version is 3 and whose top is 4.
    private func validator(_ options: Options, takesAnyStream: Bool) throws -> AppendValidator {
        let stamp = StateStamp(
            numbers: VersionNumbers(floor: SchemaVersion(2), live: SchemaVersion(3), top: SchemaVersion(4), head: SchemaVersion(5)),
            history: .zero)
        let rules = AppendRules(version: SchemaVersion(3), takesOld: true, enforcesStream: !takesAnyStream)
        return AppendValidator(history: try Orders.schemas().history, stamp: stamp, rules: rules, options: options)
    }

    @Test("lines that are not those of the earlier reading are checked again, whatever they are now", arguments: [false, true])
    func changed(_ isOldData: Bool) throws {
        let form = LineForm(options: .forTests, source: "urn:test", isOldData: isOldData)
        let lines = [
            Array(repeating: 1, count: 20), [0], Array(#"{"stream":"a"#.utf8), Array("[]".utf8), Array(repeating: 0, count: 4_096),
        ]
        let validator = try validator(.forTests, takesAnyStream: true)
        let earlier = Importer.EarlierReading(reading: .init(checksum: 0, stamp: validator.stamp))
        let found = chunk(lines).check(by: validator, form, .applying, after: earlier, opening: nil)
        #expect(found.refused.count == lines.count && found.lines.isEmpty)
    }

    @Test("each gives the event or the error that it gives where the parser reads it, and is counted alike")
    func bothWays() throws {
        var options = Options.forTests
        (options.eventBytesMax, options.jsonDepthMax, options.jsonMembersMax, options.typeNameBytesMax) = (250, 3, 14, 20)
        let form = LineForm(options: options, source: "urn:test")
        var (plain, taken, refused): (UInt64, UInt64, Int) = (0, 0, 0)
        for seed in 0 ..< UInt64(rounds(8)) {
            var maker = LineMaker(seed: seed, options)
            let lines = (0 ..< 60).map { _ in maker.line() }
            let (one, other) = (chunk(lines.map(\.plain)), chunk(lines.map(\.parsed)))
            let checks = try (0 ..< 2).map { _ in try validator(options, takesAnyStream: seed % 2 == 1) }
            var known = (0 ..< 2).map { _ in Importer.EarlierReading() }
            for pass in [Importer.Pass.checking, .streaming, .applying].dropFirst(seed % 4 < 2 ? 0 : 1) {
                let found = one.check(by: checks[0], form, pass, after: known[0], opening: nil)
                let wanted = other.check(by: checks[1], form, pass, after: known[1], opening: nil)
                let (a, b) = (Outcome(found, isWhole: pass != .checking), Outcome(wanted, isWhole: pass != .checking))
                let differing = Set(a.refused).symmetricDifference(b.refused).sorted { $0.line < $1.line }
                let words = differing.prefix(2).map {
                    "\($0): \(String(decoding: lines[Int($0.line) - 1].plain.prefix(300), as: UTF8.self))"
                }
                try #require(a == b && wanted.plain == 0, "seed \(seed), \(pass): \(words)")
                if pass == .streaming {
                    let refused = Set(found.refused.map(\.line))
                    known = [found, wanted].map { .init(reading: $0.reading, refused: refused) }
                }
                if pass == .checking { (plain, taken) = (plain + found.plain, taken + a.taken) }
            }
            refused += known[0].refused.count
        }
        #expect(
            plain > rounds(40) && taken > rounds(100) && refused > rounds(100),
            "\(plain) of \(taken) were read in one pass, \(refused) were refused")
    }
}
