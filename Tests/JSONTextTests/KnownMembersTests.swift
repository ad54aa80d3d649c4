import Bytes
import JSONText
import TestSupport
import Testing

@Suite("Known members")
struct KnownMembersTests {
    /// Names around the lengths of one and two words.
    private static let names = ["a", "id", "seven77", "eight888", "nine99999", "fifteen15151515", "sixteen161616161", "of seventeen 1717"]

    @Test("what a scan finds in random objects is what a slow reading finds, whatever order the one before had")
    func likeSlowReading() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let known = try #require(
            KnownMembers(Self.names.enumerated().map { KnownMember(MemberName($1), kinds: .max, isRequired: $0 == 1) }))
        var slots = UniqueArray(repeating: ValueSlot(kind: .null), count: Self.names.count)
        var order = MemberOrder()
        for index in 0 ..< 2000 {
            let text = Self.object(&random)
            let (mine, slow) = (Self.scan(text, known, &slots, &order), try Self.read(text))
            #expect(mine == slow, "seed \(seed), object \(index): \(text)")
        }
    }

    @Test("a text that ends too early has no members")
    func broken() throws {
        let text = #"{"id":"0123456789abcdef\"","eight888":[1,{"x":"y"}],"sixteen161616161":-12345678901234567890e5,"a":true}"#
        let known = try #require(KnownMembers(Self.names.map { KnownMember(MemberName($0), kinds: .max, isRequired: false) }))
        var slots = UniqueArray(repeating: ValueSlot(kind: .null), count: Self.names.count)
        var order = MemberOrder()
        #expect(Self.scan(text, known, &slots, &order)?.count == 4)
        for count in 1 ..< text.utf8.count {
            let part = String(decoding: Array(text.utf8.prefix(count)), as: UTF8.self)
            #expect(Self.scan(part, known, &slots, &order) == nil, "\(part)")
        }
    }

    /// A random object of some of the names, at times one twice or one that is not known.
    private static func object(_ random: inout SeededGenerator) -> String {
        var chosen = names.shuffled(using: &random).prefix(Int.random(in: 0 ... names.count, using: &random)).map { $0 }
        if Bool.random(using: &random) { chosen = names.filter { chosen.contains($0) } }
        switch Int.random(in: 0 ..< 12, using: &random) {
        case 0: chosen.append(chosen.first ?? "id")
        case 1:
            chosen.append(
                ["b", "eight889", "sixteen161616162", "fifteen1515151", "of seventeen 1718"].randomElement(using: &random) ?? "b")
        default: break
        }
        let space = Int.random(in: 0 ..< 4, using: &random) == 0
        func gap() -> String { space ? ["", " ", "\n  "].randomElement(using: &random) ?? "" : "" }
        let members = chosen.map { "\(gap())\"\($0)\"\(gap()):\(gap())\(value(&random))\(gap())" }
        return "{\(members.joined(separator: ","))\(members.isEmpty ? gap() : "")}"
    }

    private static func value(_ random: inout SeededGenerator) -> String {
        let letters = (0 ..< Int.random(in: 0 ... 40, using: &random)).map { _ in
            ["x", "ü", "\\\"", "\\\\", "\\n", "7", ",", "}", "日"].randomElement(using: &random) ?? "x"
        }
        let digits = (0 ..< Int.random(in: 1 ... 40, using: &random)).map { _ in "\(Int.random(in: 1 ... 9, using: &random))" }.joined()
        switch Int.random(in: 0 ..< 6, using: &random) {
        case 0: return digits
        case 1: return "-\(digits).\(digits)e+\(digits.prefix(2))"
        case 2: return ["true", "false", "null"].randomElement(using: &random) ?? "null"
        case 3: return "[\(digits),\"\(letters.joined())\"]"
        case 4: return "{\"\(letters.joined())\":\(digits)}"
        default: return "\"\(letters.joined())\""
        }
    }

    /// Names and values in the text's order; nil where the scan refuses.
    private static func scan(
        _ text: String, _ known: KnownMembers, _ slots: inout UniqueArray<ValueSlot>, _ order: inout MemberOrder
    ) -> [String]? {
        var arena = ByteBuffer()
        order.begin()
        guard let start = takeText(Array(text.utf8).lent, into: &arena),
            let end = known.scan(arena, at: start, base: 0, into: &slots, order: &order), isEnd(of: arena, at: end)
        else { return nil }
        var found: [String] = []
        for index in 0 ..< order.slots.count {
            let slot = slots[Int(order.slots[index])]
            let value = arena.slice(Int(slot.start), Int(slot.end - slot.start))
            found.append("\(names[Int(order.slots[index])]) \(String(utf8: value) ?? "") \(slot.kind) \(slot.hasEscapes)")
        }
        let there = names.indices.filter { slots[$0].start >= 0 }
        return there.count == found.count ? found : ["members that are not there have values"]
    }

    /// The same by the reader of whole values.
    private static func read(_ text: String) throws -> [String]? {
        let members: [JSONValue.Member]
        do {
            guard case .object(let all) = try JSONValue(parsing: Array(text.utf8).lent) else { return nil }
            members = all
        } catch { return nil }
        guard members.contains(where: { $0.name == "id" }), members.allSatisfy({ names.contains($0.name) }) else { return nil }
        var splice = JSONEditor()
        try splice.load(Array(text.utf8).lent)
        return members.map { member in
            guard let node = splice.member(MemberName(member.name), of: splice.root) else { return "none" }
            var bytes = ByteBuffer()
            splice.write(node, into: &bytes)
            let value = String(utf8: bytes.bytes) ?? ""
            return "\(member.name) \(value) \(splice.kind(node)) \(value.hasPrefix("\"") && value.contains("\\"))"
        }
    }
}
