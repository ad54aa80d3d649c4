import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Projections

/// Random definitions and events of the shop, the same for the same seed.
private struct Maker {
    private var random: SeededGenerator

    init(_ random: SeededGenerator) { self.random = random }

    private mutating func one<T>(_ choices: [T]) -> T { choices.randomElement(using: &random) ?? choices[0] }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &random) == 0 }

    private mutating func source(_ type: String, inEach: Bool) -> String {
        let facts = [
            #""$stream""#, #""$type""#, #""$time""#, #""$position""#, #""$payload""#, #""$metadata/user""#, #"{"value":1}"#,
            #"{"value":"x"}"#, #"{"value":[1,"x"]}"#, #"{"row":"/a"}"#, #"{"row":"/n/x"}"#,
        ]
        let members =
            type == "OrderPlaced"
            ? [
                #""/id""#, #""/total""#, #""/customer""#, #""/placedAt""#, #""/name""#, #""/name/first""#, #""/state""#, #""/tags""#,
                #"{"day":"/placedAt"}"#, #"{"month":"/customer"}"#, #""{/id}-{/total}""#, #""{/customer}:{/state}""#, #""{/name/first}""#,
            ] : [#""/id""#, #""/method""#, #""/amount""#, #""{/method}/{/amount}""#]
        let items = inEach ? [#""$item/sku""#, #""$item/count""#, #""{$item/sku}""#] : []
        return oneIn(3) ? one(facts) : one(members + items + items)
    }

    private mutating func test(_ type: String) -> String {
        let tests = [
            #""path":"/id","in":["a","b"]"#, #""path":"/id","exists":false"#, #""row":"/a","exists":\#(one(["true", "false"]))"#,
            #""row":"/n/x","equals":1"#, #""row":"/b","below":20"#, #""path":"$metadata/user","equals":"ann""#,
        ]
        let more =
            type == "OrderPlaced"
            ? [#""path":"/total","below":7"#, #""path":"/state","equals":"open""#, #""path":"/customer","exists":true"#]
            : [#""path":"/amount","in":[1,7]"#]
        return "{\(one(tests + more))}"
    }

    private mutating func fold(_ type: String, guarded: Bool, each: Bool) -> String {
        var members = each ? [#""each":"/lines""#] : []
        if guarded { members.append("\"when\":\(test(type))") }
        if oneIn(8) { return "{\((members + [#""delete":true"#]).joined(separator: ","))}" }
        if oneIn(6) { members.append(#""only-existing":true"#) }
        var targets = ["/a", "/b", "/n/x", "/n/y", "/s", "/l"] + (type == "OrderPlaced" ? ["/m/{/state}"] : [])
        targets.shuffle(using: &random)
        var edits: [String: [String]] = [:]
        for target in targets.prefix(Int.random(in: 1 ... 4, using: &random)) {
            let kind =
                target == "/s"
                ? one(["include", "exclude"]) : target == "/l" ? "append" : one(["set", "set", "init", "add", "count", "max", "min"])
            let source = source(type, inEach: each)
            edits[kind, default: []].append(
                "\"\(target)\":\(kind == "append" && oneIn(2) ? "{\"from\":\(source),\"keep\":2}" : source)")
        }
        if oneIn(6), let target = targets.last, !target.contains("{") { members.append("\"unset\":[\"\(target)\"]") }
        members += edits.sorted { $0.key < $1.key }.map { "\"\($0.key)\":{\($0.value.joined(separator: ","))}" }
        return "{\(members.joined(separator: ","))}"
    }

    mutating func definition() -> String {
        let key = one([#""/id""#, #""/id""#, #""{/id}:{$type}""#, #""$stream""#, #"{"value":"all"}"#, #""$metadata/user""#])
        var rules: [String] = []
        for type in ["OrderPlaced", "OrderPaid"] {
            let each = type == "OrderPlaced" && oneIn(4)
            let folds = (0 ..< Int.random(in: 0 ... 2, using: &random)).map { _ in fold(type, guarded: true, each: each) }
            rules.append("\"\(type)\":[\((folds + [fold(type, guarded: oneIn(3), each: each)]).joined(separator: ","))]")
        }
        rules.append(#""OrderVoided":"delete""#)
        let initial = oneIn(3) ? #""initial":{"/b":{"value":5},"/n/x":{"value":1}},"# : ""
        return "{\"key\":\(key),\(initial)\"on\":{\(rules.joined(separator: ","))}}"
    }

    mutating func event() -> (type: String, payload: String) {
        let id = #""id":"\#(one(["a", "b", "c"]))""#
        let number = one(["1", "7", "7.0", "10.5", "-3", "70e-1", "123456789012345678"])
        if oneIn(12) { return ("OrderVoided", "{\(id)}") }
        var members = [id]
        if oneIn(3) {
            if !oneIn(3) { members.append(#""method":"\#(one(["card", "\\u0041 b", ""]))""#) }
            if !oneIn(3) { members.append("\"amount\":\(number)") }
            return ("OrderPaid", "{\(members.joined(separator: ", "))}")
        }
        members.append("\"total\":\(number)")
        if !oneIn(3) { members.append(#""customer":"\#(one(["Ann", "2026-05", "2026-05-06", "\\\"q\\\"", "é"]))""#) }
        if !oneIn(3) {
            members.append(#""placedAt":"\#(one(["2026-03-29T02:30:00+01:00", "2026-03-29T02:00:00Z", "2026-03-29T01:30:00Z"]))""#)
        }
        if oneIn(2) { members.append(#""tags":[\#(one(["", "\"x\"", "\"x\", \"y\""]))]"#) }
        if oneIn(2) {
            members.append(#""lines": [\#(one(["", #"{"sku":"s","count":2}"#, #"{"sku":"s","count":2}, {"sku":"t", "count":7}"#]))]"#)
        }
        if oneIn(2) { members.append(#""name":{\#(one(["", #""first":"Bo""#, #""first":"Bo", "last":"Li""#]))}"#) }
        if !oneIn(3) { members.append(#""state":"\#(one(["open", "paid", "void"]))""#) }
        members.shuffle(using: &random)
        return ("OrderPlaced", "{\(members.joined(separator: ", "))}")
    }
}

@Test("the folds of random definitions over random events give the oracle's rows, and refuse the events that it refuses")
func foldsAsTheOracle() throws {
    var maker = Maker(SeededGenerator.announced())
    let history = try Shop.history([Shop.v1])
    var (definitions, rows, refused) = (0, 0, 0)
    while definitions < 300 {
        let text = maker.definition()
        // Not all that is thrown together makes sense.
        let parsed = try JSONValue(parsing: Array(text.utf8).lent)
        let yaml =
            "key: \(parsed["key"]?.text ?? "")\n\(parsed["initial"].map { "initial: \($0.text)\n" } ?? "")on: \(parsed["on"]?.text ?? "")"
        let definition: Definition
        do { definition = try Shop.definitions(Shop.file(yaml), history).definition(named: "orders", at: SchemaVersion(1), history) } catch
        {
            continue
        }
        definitions += 1
        let events = (0 ..< 30).map { _ in maker.event() }
        let fold = try MemoryFold(definition, events, metadata: #"{"user":"ann"}"#)
        var oracle = NaiveFold(parsed)
        for (index, event) in events.enumerated() {
            oracle.fold(
                NaiveFold.Event(
                    type: event.type, payload: try JSONValue(parsing: Array(event.payload.utf8).lent), position: UInt64(index + 1),
                    metadata: .object([.init(name: "user", value: .string("ann"))])))
        }
        let made = try fold.rows.mapValues { try JSONValue(parsing: Array($0.utf8).lent).canonical() }
        let wanted = oracle.rows.mapValues { $0.canonical() }
        #expect(fold.refused.sorted() == oracle.refused.sorted(), "\(text)\n\(events)")
        #expect(made == wanted, "\(text)\n\(events)\n\(fold.rows)\n\(oracle.rows.mapValues(\.text))")
        if made != wanted || fold.refused.sorted() != oracle.refused.sorted() { return }
        (rows, refused) = (rows + made.count, refused + oracle.refused.count)
    }
    #expect(rows > 300 && refused > 100, "\(rows) rows and \(refused) refusals of \(definitions) definitions")
}
